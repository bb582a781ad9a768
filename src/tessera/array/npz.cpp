// SPDX-License-Identifier: Apache-2.0
#include "tessera/array/npz.hpp"

#include <zlib.h>

#include <algorithm>
#include <set>

#include "tessera/array/npz_zip.hpp"
#include "tessera/base/tags.hpp"
#include "tessera/device/registry.hpp"

namespace tessera {
namespace {

constexpr i64 piece = 1 << 18;

std::uint32_t add_crc(std::uint32_t crc, const void* p, i64 n) {
  return static_cast<std::uint32_t>(
      crc32_z(crc, static_cast<const Bytef*>(p), static_cast<std::size_t>(n)));
}

// The content of one entry from its beginning, in order; keeps the checksum.
class EntryReader {
 public:
  EntryReader(const FileReader& file, const ZipEntry& entry, std::string who)
      : file_(file), entry_(entry), who_(std::move(who)) {
    if (!entry.deflated) return;
    buffer_.resize(static_cast<std::size_t>(std::min(piece, std::max<i64>(entry.packed, 1))));
    require<IoError>(inflateInit2(&inflate_, -MAX_WBITS) == Z_OK, who_, ": zlib could not start");
  }
  ~EntryReader() {
    if (entry_.deflated) inflateEnd(&inflate_);
  }
  EntryReader(const EntryReader&) = delete;
  EntryReader& operator=(const EntryReader&) = delete;

  i64 left() const { return entry_.unpacked - done_; }

  void read(void* to, i64 n) {
    require<IoError>(n <= left(), who_, ": ", n, " bytes were expected, and ", left(), " are left");
    if (entry_.deflated)
      read_deflated(static_cast<Bytef*>(to), n);
    else
      file_.read(entry_.data + done_, to, n);
    crc_ = add_crc(crc_, to, n);
    done_ += n;
  }

  // Reads what is left, compares the checksum.
  void finish() {
    std::vector<std::byte> rest(static_cast<std::size_t>(std::min(piece, left())));
    while (left() > 0) read(rest.data(), std::min(left(), static_cast<i64>(rest.size())));
    require<IoError>(crc_ == entry_.crc, who_, ": checksum ", crc_, " found and ", entry_.crc,
                     " expected: the file is damaged");
  }

 private:
  void read_deflated(Bytef* to, i64 n) {
    while (n > 0) {
      const auto step = static_cast<uInt>(std::min<i64>(n, i64{1} << 30));
      inflate_.next_out = to;
      inflate_.avail_out = step;
      while (inflate_.avail_out > 0) inflate_more();
      to += step;
      n -= step;
    }
  }

  void inflate_more() {
    if (inflate_.avail_in == 0 && taken_ < entry_.packed) {
      const i64 n = std::min(entry_.packed - taken_, static_cast<i64>(buffer_.size()));
      file_.read(entry_.data + taken_, buffer_.data(), n);
      taken_ += n;
      inflate_.next_in = buffer_.data();
      inflate_.avail_in = static_cast<uInt>(n);
    }
    const int status = inflate(&inflate_, Z_NO_FLUSH);
    const bool ended = status == Z_STREAM_END || (status == Z_BUF_ERROR && taken_ == entry_.packed);
    require<IoError>(status == Z_OK || ended, who_, ": its deflated bytes are damaged");
    require<IoError>(!ended || inflate_.avail_out == 0, who_,
                     ": its deflated bytes end too early: ", entry_.unpacked,
                     " bytes were promised");
  }

  const FileReader& file_;
  const ZipEntry& entry_;
  std::string who_;
  i64 done_ = 0, taken_ = 0;
  std::uint32_t crc_ = 0;
  z_stream inflate_{};
  std::vector<Bytef> buffer_;
};

std::string key_of(const std::string& name) {
  return name.ends_with(".npy") ? name.substr(0, name.size() - 4) : name;
}

Array read_entry(const FileReader& file, const ZipEntry& entry) {
  const std::string who = cat("'", file.path(), "', entry '", entry.name, "'");
  EntryReader reader(file, entry, who);
  std::vector<std::byte> head(static_cast<std::size_t>(std::min(entry.unpacked, npy_preamble)));
  reader.read(head.data(), static_cast<i64>(head.size()));
  const i64 size = npy_header_size(head, who);
  require<IoError>(size <= entry.unpacked, who, ": a header of ", size, " bytes in ",
                   entry.unpacked);
  const std::size_t first = head.size();
  head.resize(std::max(first, static_cast<std::size_t>(size)));
  reader.read(head.data() + first, static_cast<i64>(head.size() - first));
  const NpyHeader h = parse_npy_header(head, who);
  // A header shorter than the preamble cannot hold a dictionary: the parser has refused it by now.
  require<IoError>(h.bytes <= reader.left(), who, ": shape ", h.shape, " of ", name(h.dtype),
                   " needs ", h.bytes, " bytes after the header, and ", reader.left(),
                   " are there");
  Array a = make_npy_array(h, [&](std::byte* to) { reader.read(to, h.bytes); });
  reader.finish();
  return a;
}

// Collects one entry: raw bytes in, file bytes out.
class EntryWriter {
 public:
  EntryWriter(FileWriter& file, const std::string& name, bool compressed)
      : file_(file), compressed_(compressed) {
    entry_.name = name;
    entry_.deflated = compressed;
    entry_.header = file.written();
    const std::string head = local_header();
    file.write(head.data(), static_cast<i64>(head.size()));
    entry_.data = file.written();
    if (compressed)
      require<IoError>(deflateInit2(&deflate_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8,
                                    Z_DEFAULT_STRATEGY) == Z_OK,
                       "zlib could not start");
  }
  ~EntryWriter() {
    if (compressed_) deflateEnd(&deflate_);
  }
  EntryWriter(const EntryWriter&) = delete;
  EntryWriter& operator=(const EntryWriter&) = delete;

  void write(const void* from, i64 n) {
    entry_.crc = add_crc(entry_.crc, from, n);
    entry_.unpacked += n;
    if (!compressed_) return file_.write(from, n);
    const auto* p = static_cast<const Bytef*>(from);
    for (i64 step = 0; n > 0; p += step, n -= step) {
      step = std::min<i64>(n, i64{1} << 30);
      deflate_.next_in = const_cast<Bytef*>(p);
      deflate_.avail_in = static_cast<uInt>(step);
      drain(Z_NO_FLUSH);
    }
  }

  ZipEntry finish() {
    if (compressed_) drain(Z_FINISH);
    entry_.packed = file_.written() - entry_.data;
    const std::string head = local_header();  // now with sizes and checksum
    file_.write_at(entry_.header, head.data(), static_cast<i64>(head.size()));
    return entry_;
  }

 private:
  void drain(int mode) {
    std::vector<Bytef> out(static_cast<std::size_t>(piece));
    do {
      deflate_.next_out = out.data();
      deflate_.avail_out = static_cast<uInt>(out.size());
      deflate(&deflate_, mode);
      file_.write(out.data(), static_cast<i64>(out.size()) - static_cast<i64>(deflate_.avail_out));
    } while (deflate_.avail_out == 0);
  }

  std::string local_header() const;

  FileWriter& file_;
  bool compressed_;
  ZipEntry entry_;
  z_stream deflate_{};
};

constexpr std::uint64_t utf8_flag = 1 << 11, first_of_1980 = 0x21, version = 45, from_unix = 3 << 8;

std::uint64_t flags_of(const std::string& name) {
  const bool ascii = std::all_of(name.begin(), name.end(),
                                 [](char c) { return static_cast<signed char>(c) >= 0; });
  return ascii ? 0 : utf8_flag;
}

// Always with zip64 sizes, as NumPy writes: the size is not known when the header is.
std::string EntryWriter::local_header() const {
  std::string h;
  put_little(h, zip_local, 4);
  put_little(h, version, 2);
  put_little(h, flags_of(entry_.name), 2);
  put_little(h, entry_.deflated ? 8 : 0, 2);
  put_little(h, 0, 2);  // time
  put_little(h, first_of_1980, 2);
  put_little(h, entry_.crc, 4);
  put_little(h, 0xffffffff, 4);
  put_little(h, 0xffffffff, 4);
  put_little(h, entry_.name.size(), 2);
  put_little(h, 20, 2);
  h += entry_.name;
  put_little(h, 1, 2);
  put_little(h, 16, 2);
  put_little(h, static_cast<std::uint64_t>(entry_.unpacked), 8);
  put_little(h, static_cast<std::uint64_t>(entry_.packed), 8);
  return h;
}

std::string central_entry(const ZipEntry& e) {
  constexpr i64 most = 0xfffffffe;
  std::string extra, h;
  auto field = [&](i64 v) {  // what does not fit goes to the extra part
    if (v <= most) return put_little(h, static_cast<std::uint64_t>(v), 4);
    put_little(h, 0xffffffff, 4);
  };
  for (const i64 v : {e.unpacked, e.packed, e.header})
    if (v > most) put_little(extra, static_cast<std::uint64_t>(v), 8);
  put_little(h, zip_central, 4);
  put_little(h, version | from_unix, 2);
  put_little(h, version, 2);
  put_little(h, flags_of(e.name), 2);
  put_little(h, e.deflated ? 8 : 0, 2);
  put_little(h, 0, 2);
  put_little(h, first_of_1980, 2);
  put_little(h, e.crc, 4);
  field(e.packed);
  field(e.unpacked);
  put_little(h, e.name.size(), 2);
  put_little(h, extra.empty() ? 0 : extra.size() + 4, 2);
  put_little(h, 0, 2);            // comment
  put_little(h, 0, 2);            // disk
  put_little(h, 0, 2);            // internal attributes
  put_little(h, 0600u << 16, 4);  // permissions, as NumPy's
  field(e.header);
  h += e.name;
  if (extra.empty()) return h;
  put_little(h, 1, 2);
  put_little(h, extra.size(), 2);
  return h + extra;
}

std::string end_records(i64 entries, i64 start, i64 length) {
  std::string h;
  const bool large = entries >= 0xffff || start > 0xfffffffe || length > 0xfffffffe;
  if (large) {
    put_little(h, zip64_end, 4);
    put_little(h, 44, 8);
    put_little(h, version, 2);
    put_little(h, version, 2);
    put_little(h, 0, 8);  // disks
    for (const i64 v : {entries, entries, length, start})
      put_little(h, static_cast<std::uint64_t>(v), 8);
    put_little(h, zip64_locator, 4);
    put_little(h, 0, 4);
    put_little(h, static_cast<std::uint64_t>(start + length), 8);
    put_little(h, 1, 4);
  }
  put_little(h, zip_end, 4);
  put_little(h, 0, 4);
  for (int i = 0; i < 2; ++i)
    put_little(h, static_cast<std::uint64_t>(std::min<i64>(entries, 0xffff)), 2);
  put_little(h, large ? 0xffffffff : static_cast<std::uint64_t>(length), 4);
  put_little(h, large ? 0xffffffff : static_cast<std::uint64_t>(start), 4);
  put_little(h, 0, 2);
  return h;
}

}  // namespace

struct NpzFile::Impl {
  FileReader file;
  std::vector<ZipEntry> entries;
  Impl(const std::string& path, i64 most_bytes)
      : file(path), entries(read_zip_directory(file, most_bytes)) {}
  const ZipEntry* find(const std::string& name) const {
    for (const ZipEntry& e : entries)
      if (e.name == name || key_of(e.name) == name) return &e;
    return nullptr;
  }
};

NpzFile::NpzFile(const std::string& path, const NpzOptions& options)
    : impl_(std::make_shared<const Impl>(path, options.most_bytes)) {}

std::vector<std::string> NpzFile::names() const {
  std::vector<std::string> names;
  for (const ZipEntry& e : impl_->entries) names.push_back(key_of(e.name));
  return names;
}

bool NpzFile::contains(const std::string& name) const { return impl_->find(name) != nullptr; }

Array NpzFile::read(const std::string& name) const {
  const ZipEntry* entry = impl_->find(name);
  require<IndexError>(entry != nullptr, "'", impl_->file.path(), "' holds no array '", name,
                      "'; it holds ", join(names()));
  tag_io("read");
  return read_entry(impl_->file, *entry);
}

NamedArrays load_npz(const std::string& path, const NpzOptions& options) {
  const NpzFile file(path, options);
  NamedArrays arrays;
  for (const std::string& name : file.names()) arrays.emplace_back(name, file.read(name));
  return arrays;
}

void save_npz(const std::string& path, const NamedArrays& arrays, bool compressed) {
  NamedWriters files;
  for (const auto& [name, array] : arrays)
    files.emplace_back(name, [&array = array](const auto& sink) {
      encode_npy(compute_device(array.device().kind).host_memory() ? array : array.to(cpu), sink);
    });
  write_npz(path, files, compressed);
}

void write_npz(const std::string& path, const NamedWriters& files, bool compressed) {
  tag_io("write");
  std::set<std::string_view> names;
  for (const auto& [name, write] : files) {
    require<ArgumentError>(names.insert(name).second, "save_npz: two arrays have the name '", name,
                           "'");
    require<ArgumentError>(name.size() < 65000, "save_npz: a name of ", name.size(), " bytes");
  }
  FileWriter file(path);
  std::vector<ZipEntry> entries;
  for (const auto& [name, write] : files) {
    EntryWriter entry(file, name + ".npy", compressed);
    write([&](const void* from, i64 n) { entry.write(from, n); });
    entries.push_back(entry.finish());
  }
  const i64 start = file.written();
  for (const ZipEntry& e : entries) {
    const std::string record = central_entry(e);
    file.write(record.data(), static_cast<i64>(record.size()));
  }
  const std::string end =
      end_records(static_cast<i64>(entries.size()), start, file.written() - start);
  file.write(end.data(), static_cast<i64>(end.size()));
  file.commit();
}

}  // namespace tessera
