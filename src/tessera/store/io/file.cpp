// SPDX-License-Identifier: Apache-2.0
#include "tessera/store/io/file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "tessera/base/error.hpp"
#include "tessera/base/tags.hpp"
#include "tessera/base/trace.hpp"

namespace tessera::store {
namespace {

int flags_of(File::Mode mode) {
  switch (mode) {
    case File::Mode::read: return O_RDONLY | O_CLOEXEC | O_NONBLOCK;  // pipes are refused below
    case File::Mode::write: return O_RDWR | O_CLOEXEC | O_NONBLOCK;
    default: return O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC;
  }
}

// The same file again without the page cache, or -1.
int open_direct(const std::string& path, File::Mode mode, const struct stat& first) {
  const int flags = (mode == File::Mode::read ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_DIRECT;
  const int handle = open(path.c_str(), flags);
  struct stat second {};
  if (handle >= 0 && (fstat(handle, &second) != 0 || second.st_ino != first.st_ino ||
                      second.st_dev != first.st_dev)) {
    close(handle);  // another file took the name meanwhile
    return -1;
  }
  return handle;
}

}  // namespace

File::File(std::string path, Mode mode, bool direct) : path_(std::move(path)), mode_(mode) {
  handle_ = open(path_.c_str(), flags_of(mode), 0666);
  require<IoError>(handle_ >= 0, mode == Mode::create ? "cannot create '" : "cannot open '", path_,
                   "': ", std::strerror(errno));
  struct stat status {};
  if (fstat(handle_, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(handle_);
    throw IoError(cat("'", path_, "' is not a regular file"));
  }
  if (direct) direct_ = open_direct(path_, mode, status);
  use_direct_ = direct_ >= 0;
}

File::~File() {
  close(handle_);
  if (direct_ >= 0) close(direct_);
}

i64 File::size() const {
  struct stat status {};
  require<IoError>(fstat(handle_, &status) == 0, "cannot ask for the size of '", path_,
                   "': ", std::strerror(errno));
  return status.st_size;
}

std::string File::version() const {
  struct stat status {};
  require<IoError>(fstat(handle_, &status) == 0, "cannot ask when '", path_,
                   "' was written: ", std::strerror(errno));
  const i64 written = i64{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
  return cat("file ", std::filesystem::absolute(path_).string(), ", ", status.st_size,
             " bytes, written at ", written);
}

void File::resize(i64 bytes) const {
  require<IoError>(ftruncate(handle_, bytes) == 0, "cannot make '", path_, "' ", bytes_text(bytes),
                   " long: ", std::strerror(errno));
}

void File::reserve(i64 bytes) const {
  if (bytes == 0) return resize(0);
  int failed = 0;
  while (fallocate(handle_, 0, 0, bytes) != 0 && (failed = errno) == EINTR) failed = 0;
  if (failed == 0) return;
  if (failed == EOPNOTSUPP || failed == ENOSYS) {  // then it is at least asked whether it would fit
    struct statvfs disk {};
    const bool known = fstatvfs(handle_, &disk) == 0;
    const double free = static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize);
    if (!known || free >= static_cast<double>(bytes)) return resize(bytes);
    failed = ENOSPC;
  }
  throw IoError(
      cat("cannot reserve ", bytes_text(bytes), " for '", path_, "': ", std::strerror(failed)));
}

void File::sync() const {
  int failed = 0;
  while (fdatasync(handle_) != 0 && (failed = errno) == EINTR) failed = 0;
  require<IoError>(failed == 0, "cannot bring '", path_, "' to disk: ", std::strerror(failed));
}

void File::remove() const noexcept { unlink(path_.c_str()); }

void File::advise(Pattern pattern) const {
  posix_fadvise(handle_, 0, 0,
                pattern == Pattern::sequential ? POSIX_FADV_SEQUENTIAL
                : pattern == Pattern::random   ? POSIX_FADV_RANDOM
                                               : POSIX_FADV_NORMAL);
}

void File::prefetch(i64 offset, i64 bytes) const {
  const Span span("io.prefetch", "disk", bytes);
  tag_io("prefetch");
  // One call reads no more than the read-ahead of the device, whatever it is asked for.
  constexpr i64 piece = i64{128} << 10;
  for (i64 done = 0; done < bytes; done += piece)
    posix_fadvise(handle_, offset + done, std::min(piece, bytes - done), POSIX_FADV_WILLNEED);
}

void File::discard(i64 offset, i64 bytes) const {
  const Span span("io.discard", "disk", bytes);
  tag_io("discard");
  if (bytes == 0) return;  // which would mean all the rest of the file
  // Pages that wait to be written are not dropped: they are written first.
  if (writable())
    sync_file_range(
        handle_, offset, bytes,
        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
  // Of a page that is named in part the rest would be kept.
  const i64 page = sysconf(_SC_PAGESIZE), end = (offset + bytes + page - 1) / page * page;
  posix_fadvise(handle_, offset, end - offset, POSIX_FADV_DONTNEED);
}

i64 File::resident(i64 offset, i64 bytes) const {
  const i64 page = sysconf(_SC_PAGESIZE), begin = offset / page * page;
  bytes = std::min(offset + bytes, size()) - begin;
  if (bytes <= 0) return 0;
  const auto length = static_cast<std::size_t>(bytes);
  void* const map = mmap(nullptr, length, PROT_READ, MAP_SHARED, handle_, begin);
  require<IoError>(map != MAP_FAILED, "cannot ask for the resident pages of '", path_,
                   "': ", std::strerror(errno));
  std::vector<unsigned char> there(static_cast<std::size_t>((bytes + page - 1) / page));
  const int failed = mincore(map, length, there.data()) == 0 ? 0 : errno;
  munmap(map, length);
  require<IoError>(failed == 0, "cannot ask for the resident pages of '", path_,
                   "': ", std::strerror(failed));
  return page * std::count_if(there.begin(), there.end(), [](unsigned char c) { return c & 1; });
}

void File::begin() const {
  std::lock_guard lock(mutex_);
  ++pending_;
}

void File::end() const {
  std::lock_guard lock(mutex_);
  if (--pending_ == 0) idle_.notify_all();
}

void File::wait_idle() const {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [&] { return pending_ == 0; });
}

}  // namespace tessera::store
