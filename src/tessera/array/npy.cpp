// SPDX-License-Identifier: Apache-2.0
#include "tessera/array/npy.hpp"

#include <cstring>
#include <vector>

#include "tessera/array/npy_file.hpp"
#include "tessera/base/tags.hpp"
#include "tessera/device/registry.hpp"

namespace tessera {
namespace {

static_assert(std::endian::native == std::endian::little, "the writer says '<' without looking");

// Size 0 along any axis still needs strides; the layout of Fortran order is the transposed one of C
// order.
Layout layout_of(const NpyHeader& h) {
  if (!h.fortran) return Layout::contiguous(h.shape);
  Shape reversed(h.shape.begin(), h.shape.end());
  std::reverse(reversed.begin(), reversed.end());
  Layout l = Layout::contiguous(reversed);
  std::reverse(l.shape.begin(), l.shape.end());
  std::reverse(l.strides.begin(), l.strides.end());
  return l;
}

void reverse_bytes(std::byte* data, i64 bytes, DType dtype) {
  const i64 width = is_complex(dtype) ? size_of(dtype) / 2 : size_of(dtype);
  for (i64 i = 0; i < bytes; i += width) std::reverse(data + i, data + i + width);
}

void check_length(const NpyHeader& h, i64 available, const std::string& who) {
  require<IoError>(h.bytes <= available, who, ": shape ", h.shape, " of ", name(h.dtype), " needs ",
                   h.bytes, " bytes after the header, and ", available, " are there");
}

// A byte that is neither 0 nor 1 is not a bool in C++, though NumPy takes it for True.
void check_mapped_bools(const std::byte* p, i64 n, const std::string& who) {
  for (i64 i = 0; i < n; ++i)
    require<IoError>(std::to_integer<int>(p[i]) <= 1, who, ": byte ", i, " of the bools is ",
                     std::to_integer<int>(p[i]),
                     "; a mapped file must hold 0 and 1 only: load it unmapped");
}

Array map(const std::string& path, const NpyHeader& h, MapMode mode, const std::string& who) {
  require<IoError>(!h.swapped, who,
                   ": its numbers have the other byte order and cannot be mapped; load them");
  const i64 alignment = is_complex(h.dtype) ? size_of(h.dtype) / 2 : size_of(h.dtype);
  require<IoError>(h.data % alignment == 0, who, ": its numbers start at byte ", h.data,
                   ", which is not aligned for ", name(h.dtype), "; load it unmapped");
  Storage s = Storage::map_file(path, h.data, h.bytes, mode == MapMode::write);
  if (h.dtype == DType::b1)
    check_mapped_bools(static_cast<const std::byte*>(s.data()), h.bytes, who);
  return Array(std::move(s), layout_of(h), h.dtype);
}

std::string descr(DType t) {
  constexpr std::string_view codes[dtype_count] = {"|b1", "|i1", "<i2", "<i4", "<i8",
                                                   "|u1", "<u2", "<u4", "<u8", "<f2",
                                                   "<V2", "<f4", "<f8", "<c8", "<c16"};
  return std::string(codes[static_cast<int>(t)]);
}

bool fortran_dense(const Array& x) { return !x.is_contiguous() && x.transpose().is_contiguous(); }

// The elements in row-major order, gathered into a buffer line by line.
void write_strided(const Array& x, const std::function<void(const void*, i64)>& sink) {
  constexpr std::size_t enough = 1 << 20;
  const Layout& l = x.layout();
  const i64 size = size_of(x.dtype()), last = l.ndim() - 1, line = l.shape[last],
            step = l.strides[last] * size;
  const auto* base = static_cast<const std::byte*>(x.data());
  std::vector<std::byte> buffer;
  Shape at(last, 0);
  for (i64 lines = x.size() / line; lines > 0; --lines) {
    i64 offset = 0;
    for (i64 a = 0; a < last; ++a) offset += at[a] * l.strides[a];
    const std::byte* from = base + offset * size;
    for (i64 i = 0; i < line; ++i) {
      buffer.insert(buffer.end(), from + i * step, from + i * step + size);
      if (buffer.size() < enough) continue;
      sink(buffer.data(), static_cast<i64>(buffer.size()));
      buffer.clear();
    }
    for (i64 a = last - 1; a >= 0 && ++at[a] == l.shape[a]; --a) at[a] = 0;
  }
  if (!buffer.empty()) sink(buffer.data(), static_cast<i64>(buffer.size()));
}

}  // namespace

std::string npy_header_text(DType dtype, const Shape& shape, bool fortran) {
  std::string text =
      cat("{'descr': '", descr(dtype), "', 'fortran_order': ", fortran ? "True" : "False",
          ", 'shape': ", shape, ", }");
  // NumPy leaves room for the growing axis to reach 21 digits, then pads the whole header to 64
  // bytes.
  if (!shape.empty()) {
    const i64 growing = fortran ? shape.back() : shape.front();
    text.append(21 - to_text(growing).size(), ' ');
  }
  // 64 axes of 19 digits fit in version 1, whose length has two bytes.
  text.append(64 - (10 + text.size() + 1) % 64, ' ');
  text += '\n';
  std::string head("\x93NUMPY\x01\x00", 8);
  head += static_cast<char>(text.size() & 0xff);
  head += static_cast<char>(text.size() >> 8);
  return head + text;
}

Array make_npy_array(const NpyHeader& h, const std::function<void(std::byte*)>& fill) {
  Storage s = Storage::allocate(cpu, h.bytes);
  auto* data = static_cast<std::byte*>(s.data());
  if (h.bytes > 0) fill(data);
  if (h.swapped) reverse_bytes(data, h.bytes, h.dtype);
  if (h.dtype == DType::b1)
    for (i64 i = 0; i < h.bytes; ++i) data[i] = std::byte{data[i] != std::byte{0}};
  return Array(std::move(s), layout_of(h), h.dtype);
}

Array decode_npy(std::span<const std::byte> bytes, const std::string& who) {
  const NpyHeader h = parse_npy_header(bytes, who);
  check_length(h, static_cast<i64>(bytes.size()) - h.data, who);
  return make_npy_array(h, [&](std::byte* to) {
    std::memcpy(to, bytes.data() + h.data, static_cast<std::size_t>(h.bytes));
  });
}

void encode_npy(const Array& x, const std::function<void(const void*, i64)>& sink) {
  const std::string head = npy_header_text(x.dtype(), x.shape(), fortran_dense(x));
  sink(head.data(), static_cast<i64>(head.size()));
  if (x.size() == 0) return;
  const void* data = x.host_data();
  if (x.is_contiguous() || fortran_dense(x)) return sink(data, x.bytes());
  write_strided(x, sink);
}

namespace {
NpyHeader header_of(const FileReader& file) {
  const std::string who = cat("'", file.path(), "'");
  std::vector<std::byte> head(static_cast<std::size_t>(std::min(file.size(), npy_preamble)));
  file.read(0, head.data(), static_cast<i64>(head.size()));
  const i64 size = npy_header_size(head, who);
  require<IoError>(size <= file.size(), who, ": a header of ", size, " bytes, and the file has ",
                   file.size());
  head.resize(static_cast<std::size_t>(size));
  file.read(0, head.data(), size);
  const NpyHeader h = parse_npy_header(head, who);
  check_length(h, file.size() - h.data, who);
  return h;
}
}  // namespace

NpyHeader read_npy_header(const std::string& path) { return header_of(FileReader(path)); }

Array load_npy(const std::string& path, const NpyOptions& options) {
  tag_io("read");
  const FileReader file(path);
  const NpyHeader h = header_of(file);
  if (options.map != MapMode::none) return map(path, h, options.map, cat("'", path, "'"));
  return make_npy_array(h, [&](std::byte* to) { file.read(h.data, to, h.bytes); });
}

void save_npy(const std::string& path, const Array& x) {
  write_npy(path, [&](const auto& sink) {
    encode_npy(compute_device(x.device().kind).host_memory() ? x : x.to(cpu), sink);
  });
}

void write_npy(const std::string& path, const NpyWriter& write) {
  tag_io("write");
  FileWriter file(path);
  write([&](const void* from, i64 n) { file.write(from, n); });
  file.commit();
}

}  // namespace tessera
