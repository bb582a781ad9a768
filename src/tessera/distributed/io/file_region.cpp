// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/io/file_region.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace tessera::dist {
namespace {

constexpr i64 longest_call = i64{1} << 30;  // Linux moves at most 2 GiB at once
constexpr i64 near = 4096;                  // steps of fewer bytes are read over
constexpr i64 window = i64{1} << 22;        // that much at a time

// The axes from this one on are one run: all but the first of them are whole.
i64 first_of_run(const Region& r) {
  i64 k = r.file.size();
  while (k > 0) {
    const SliceRange& a = r.axes[static_cast<std::size_t>(k - 1)];
    if (a.step != 1 && a.length != 1) break;
    --k;
    if (a.length != r.file[k]) break;
  }
  return k;
}

i64 product(const Shape& s, i64 from) {
  i64 n = 1;
  for (i64 i = from; i < s.size(); ++i) n *= s[i];
  return n;
}

// f(first number of the run in the file) for all runs, in order.
template <class F>
void for_each_run(const Region& r, i64 outer, F&& f) {
  Shape at(outer, 0), stride(r.file.size(), 1);
  for (i64 a = r.file.size() - 2; a >= 0; --a) stride[a] = stride[a + 1] * r.file[a + 1];
  i64 start = 0;
  for (i64 a = 0; a < r.file.size(); ++a)
    start += r.axes[static_cast<std::size_t>(a)].start * stride[a];
  for (;;) {
    i64 offset = start;
    for (i64 a = 0; a < outer; ++a)
      offset += at[a] * r.axes[static_cast<std::size_t>(a)].step * stride[a];
    f(offset);
    i64 a = outer - 1;
    while (a >= 0 && ++at[a] == r.axes[static_cast<std::size_t>(a)].length) at[a--] = 0;
    if (a < 0) return;
  }
}

// Every `step`-th number, `count` of them, of an interval that is read over.
void read_steps(const FileReader& file, i64 offset, i64 item, i64 count, i64 step, std::byte* to) {
  const i64 at_once = std::max<i64>(1, window / (step * item));
  std::vector<std::byte> buffer;
  for (i64 done = 0; done < count; done += at_once) {
    const i64 n = std::min(at_once, count - done), bytes = ((n - 1) * step + 1) * item;
    buffer.resize(static_cast<std::size_t>(bytes));
    file.read(offset + done * step * item, buffer.data(), bytes);
    for (i64 i = 0; i < n; ++i)
      std::memcpy(to + (done + i) * item, buffer.data() + i * step * item,
                  static_cast<std::size_t>(item));
  }
}

}  // namespace

Region Region::of(const Shape& file) {
  Region r{file, {}};
  for (const i64 n : file) r.axes.push_back({0, n, 1});
  return r;
}

Shape Region::shape() const {
  Shape s;
  for (const SliceRange& a : axes) s.push_back(a.length);
  return s;
}

i64 Region::run() const { return product(shape(), first_of_run(*this)); }

void read_region(const FileReader& file, i64 data, i64 item, const Region& region, std::byte* to) {
  if (count_of(region.shape()) == 0) return;
  const i64 outer = first_of_run(region), run = region.run() * item;
  const bool steps =
      outer == region.file.size() && outer > 0 && region.axes.back().step * item <= near;
  if (steps) {
    const SliceRange& last = region.axes.back();
    return for_each_run(region, outer - 1, [&](i64 first) {
      read_steps(file, data + first * item, item, last.length, last.step, to);
      to += last.length * item;
    });
  }
  for_each_run(region, outer, [&](i64 first) {
    file.read(data + first * item, to, run);
    to += run;
  });
}

SharedWriter::SharedWriter(const std::string& path) : path_(path) {
  file_ = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  require<IoError>(file_ >= 0, "cannot write '", path_, "': ", std::strerror(errno));
}

SharedWriter::~SharedWriter() {
  if (file_ >= 0) ::close(file_);
}

void SharedWriter::write(i64 offset, const void* from, i64 bytes) {
  const char* p = static_cast<const char*>(from);
  while (bytes > 0) {
    const auto done =
        pwrite(file_, p, static_cast<std::size_t>(std::min(bytes, longest_call)), offset);
    if (done < 0 && errno == EINTR) continue;
    require<IoError>(done >= 0, "cannot write '", path_, "': ", std::strerror(errno));
    p += done;
    offset += done;
    bytes -= done;
  }
}

void SharedWriter::write_region(i64 data, i64 item, const Region& region, const std::byte* from) {
  if (count_of(region.shape()) == 0) return;
  const i64 run = region.run() * item;
  for_each_run(region, first_of_run(region), [&](i64 first) {
    write(data + first * item, from, run);
    from += run;
  });
}

void SharedWriter::close() {
  const int file = file_;
  file_ = -1;
  require<IoError>(::close(file) == 0, "cannot write '", path_, "': ", std::strerror(errno));
}

}  // namespace tessera::dist
