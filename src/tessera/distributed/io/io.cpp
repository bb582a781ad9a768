// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/io/io.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tessera/array/npy_file.hpp"
#include "tessera/distributed/io/shared_numbers.hpp"

namespace tessera::dist {
namespace {

enum class Format : std::uint8_t { npy, hdf5 };

Format format_of(std::string_view who, const std::string& path) {
  if (path.ends_with(".npy")) return Format::npy;
  require<IoError>(path.ends_with(".h5") || path.ends_with(".hdf5"), who, ": '", path,
                   "' ends neither in .npy nor in .h5 or .hdf5");
  return Format::hdf5;
}

// The head of a new file that has room for all numbers.
i64 begin_npy(const std::string& name, const DNDarray& x) {
  const int made = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  require<IoError>(made >= 0, "cannot write '", name, "': ", std::strerror(errno));
  close(made);
  const std::string head = npy_header_text(x.dtype(), x.shape(), false);
  const i64 size = static_cast<i64>(head.size()), bytes = x.size() * size_of(x.dtype());
  SharedWriter file(name);
  file.write(0, head.data(), size);
  file.close();
  require<IoError>(truncate(name.c_str(), size + bytes) == 0, "cannot write '", name, "' of ",
                   size + bytes, " bytes: ", std::strerror(errno));
  return size;
}

}  // namespace

void save_npy(const std::string& path, const DNDarray& x) {
  save_numbers(path, x, [&](const std::string& name) { return begin_npy(name, x); });
}

DNDarray load_npy(const std::string& path, const LoadOptions& options) {
  const NpyHeader head = header_for_all(options.comm, [&] { return read_npy_header(path); });
  std::optional<FileReader> file;
  return load_numbers(path, head, options, [&](const Region& region) {
    if (!file) file.emplace(path);
    NpyHeader part = head;
    part.fortran = false;  // the region counts its axes as the file does
    part.shape = region.shape();
    part.bytes = count_of(part.shape) * size_of(part.dtype);
    return make_npy_array(part, [&](std::byte* to) {
      read_region(*file, head.data, size_of(head.dtype), region, to);
    });
  });
}

DNDarray load(const std::string& path, const LoadOptions& options) {
  return format_of("load", path) == Format::npy ? load_npy(path, options)
                                                : load_hdf5(path, options);
}

void save(const std::string& path, const DNDarray& x, const SaveOptions& options) {
  format_of("save", path) == Format::npy ? save_npy(path, x) : save_hdf5(path, x, options);
}

}  // namespace tessera::dist
