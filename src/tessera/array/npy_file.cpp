// SPDX-License-Identifier: Apache-2.0
#include "tessera/array/npy_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "tessera/base/error.hpp"

namespace tessera {
namespace {

constexpr i64 longest_call = i64{1} << 30;  // Linux moves at most 2 GiB at once

// Pipes, and some file systems, have nothing to flush.
bool flushed(int file) { return fsync(file) == 0 || errno == EINVAL || errno == EROFS; }

// A name is on the disk when its folder is.
bool flush_folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == path.npos ? "." : path.substr(0, slash + 1);
  const int file = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return true;  // a folder that may be written but not read
  const bool ok = flushed(file);
  close(file);
  return ok;
}

}  // namespace

std::string follow_links(const std::string& path) {
  namespace fs = std::filesystem;
  constexpr int most_links = 40;  // as Linux has it
  std::error_code failed;
  struct stat status {};
  // Pipes and devices are written where they are: what links to them say need not be a place.
  if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) return path;
  fs::path place = path;
  for (int link = 0; fs::is_symlink(place, failed); ++link) {
    require<IoError>(link < most_links, "cannot write '", path, "': ", std::strerror(ELOOP));
    place =
        place.parent_path() / fs::read_symlink(place, failed);  // what begins with / stands alone
  }
  return place.string();
}

FileReader::FileReader(std::string path) : path_(std::move(path)) {
  file_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  require<IoError>(file_ >= 0, "cannot open '", path_, "': ", std::strerror(errno));
  struct stat status {};
  if (fstat(file_, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(file_);
    throw IoError(cat("'", path_, "' is not a regular file"));
  }
  size_ = status.st_size;
}

FileReader::~FileReader() { close(file_); }

void FileReader::read(i64 offset, void* to, i64 n) const {
  require<IoError>(offset >= 0 && n >= 0 && offset <= size_ && n <= size_ - offset, "'", path_,
                   "': bytes ", offset, " to ", offset, " + ", n,
                   " were asked for, and the file has ", size_);
  char* p = static_cast<char*>(to);
  while (n > 0) {
    const auto got = pread(file_, p, static_cast<std::size_t>(std::min(n, longest_call)), offset);
    if (got < 0 && errno == EINTR) continue;
    require<IoError>(got >= 0, "cannot read '", path_, "': ", std::strerror(errno));
    require<IoError>(got > 0, "'", path_, "' became shorter while it was read");
    p += got;
    offset += got;
    n -= got;
  }
}

void keep_permissions(const std::string& old, const std::string& fresh) {
  struct stat status {};
  if (stat(old.c_str(), &status) == 0) chmod(fresh.c_str(), status.st_mode & 07777);
}

FileWriter::FileWriter(const std::string& path) : path_(follow_links(path)) {
  static std::atomic<int> counter{0};
  struct stat status {};
  if (stat(path_.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    require<IoError>(!S_ISDIR(status.st_mode), "cannot write '", path_, "': it is a directory");
    // A pipe that nobody reads is an error now (ENXIO); a slow reader is waited for later.
    file_ = open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    if (file_ >= 0) fcntl(file_, F_SETFL, fcntl(file_, F_GETFL) & ~O_NONBLOCK);
    require<IoError>(file_ >= 0 || errno != ENXIO, "cannot write '", path_,
                     "': it is a pipe or device that nobody has open to read");
  } else {
    temporary_ = cat(path_, ".", static_cast<i64>(getpid()), ".", counter.fetch_add(1), ".tmp");
    // Who may not read the old file may not read the new one while it is written.
    const mode_t mode = stat(path_.c_str(), &status) == 0 ? 0600 : 0666;
    file_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  }
  require<IoError>(file_ >= 0, "cannot write '", path_, "': ", std::strerror(errno));
}

FileWriter::~FileWriter() {
  if (file_ < 0) return;
  close(file_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void FileWriter::put(i64 offset, const void* from, i64 n) {
  const char* p = static_cast<const char*>(from);
  while (n > 0) {
    const auto length = static_cast<std::size_t>(std::min(n, longest_call));
    const auto done =
        temporary_.empty() ? ::write(file_, p, length) : pwrite(file_, p, length, offset);
    if (done < 0 && errno == EINTR) continue;
    require<IoError>(done >= 0, "cannot write '", path_, "': ", std::strerror(errno));
    p += done;
    offset += done;
    n -= done;
  }
}

void FileWriter::write(const void* from, i64 n) {
  put(written_, from, n);
  written_ += n;
}

void FileWriter::write_at(i64 offset, const void* from, i64 n) {
  require<IoError>(!temporary_.empty(), "'", path_,
                   "' is not a regular file: it cannot be rewritten in the middle");
  put(offset, from, n);
}

void FileWriter::commit(bool durable) {
  const int file = file_;
  file_ = -1;
  const bool on_disk = !durable || flushed(file);
  bool ok = close(file) == 0 && on_disk;
  if (temporary_.empty())
    return require<IoError>(ok, "cannot write '", path_, "': ", std::strerror(errno));
  if (ok) keep_permissions(path_, temporary_);
  ok = ok && rename(temporary_.c_str(), path_.c_str()) == 0;
  if (ok && (!durable || flush_folder_of(path_))) return;
  const int reason = errno;
  unlink(temporary_.c_str());
  throw IoError(cat("cannot write '", path_, "': ", std::strerror(reason)));
}

}  // namespace tessera
