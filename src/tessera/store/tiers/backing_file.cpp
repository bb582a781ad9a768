// SPDX-License-Identifier: Apache-2.0
#include "tessera/store/tiers/backing_file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>

#include "tessera/base/config.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/trace.hpp"
#include "tessera/device/pool.hpp"
#include "tessera/store/tiers/backing_name.hpp"

namespace tessera::store {
namespace {

std::atomic<FileFault> file_fault{nullptr};

int fault_of(std::string_view call) {
  const FileFault fault = file_fault.load(std::memory_order_acquire);
  return fault ? fault(call) : 0;
}

i64 configured_disk(Device) {
  const i64 set = config().disk_budget;
  return set >= 0 ? set : budget_bytes(set, disk_total());
}

Budget& disk_budget() {
  static auto* budget = new Budget("backing files", configured_disk, cpu, Held::on_device);
  return *budget;
}

// The folder, and the files that are to go when the process ends. Never destroyed: files may
// outlive statics.
struct Folder {
  std::mutex mutex;
  std::string set;                // "" : as the environment says
  std::set<std::string> cleaned;  // folders
  std::set<std::string> files;    // of this process
  pid_t owner = 0;                // of those files
};
Folder& folder() {
  static auto* f = new Folder;
  return *f;
}

// A child of the process that made the files leaves them to it.
void remove_all_files() {
  Folder& f = folder();
  std::lock_guard lock(f.mutex);
  if (f.owner != getpid()) return;
  for (const std::string& path : f.files) unlink(path.c_str());
  f.files.clear();
}

[[noreturn]] void fail(const std::string& path, std::string_view verb, i64 bytes, int error) {
  const std::string_view advice = error == ENOSPC || error == EDQUOT
                                      ? "; free space, or name another folder (set_backing_dir)"
                                      : "";
  throw IoError(cat("backing file '", path, "': cannot ", verb, " ", bytes_text(bytes), ": ",
                    std::strerror(error), advice));
}

std::string default_dir() {
  for (const char* name : {"TESSERA_BACKING_DIR", "TMPDIR"})
    if (const char* value = std::getenv(name); value && *value) return value;
  return "/var/tmp";
}

// Made with those above it; a sentence where it cannot be used.
void usable_folder(const std::string& path) {
  for (std::size_t end = path.find('/', 1); end != path.npos; end = path.find('/', end + 1))
    mkdir(path.substr(0, end).c_str(), 0777);
  const int made = mkdir(path.c_str(), 0777), error = errno;
  struct stat s {};
  require<IoError>(stat(path.c_str(), &s) == 0, "backing folder '", path,
                   "' cannot be made: ", std::strerror(made == 0 ? errno : error));
  require<IoError>(S_ISDIR(s.st_mode), "backing folder '", path, "' is not a folder");
  require<IoError>(access(path.c_str(), W_OK | X_OK) == 0, "backing folder '", path,
                   "' cannot be written to: ", std::strerror(errno));
}

}  // namespace

struct BackingFile::Impl {
  std::string path;
  int file = -1;
  pid_t owner = 0;
  std::atomic<i64> claimed{0};

  ~Impl() {
    if (owner == getpid()) {
      Folder& f = folder();
      std::lock_guard lock(f.mutex);
      if (f.files.erase(path) > 0) unlink(path.c_str());
      disk_budget().refund(claimed);
      disk_budget().reserve(-claimed);
    }
    if (file >= 0) close(file);
  }
};

void set_backing_dir(const std::string& path) {
  if (!path.empty()) usable_folder(path);
  char* real = path.empty() ? nullptr : realpath(path.c_str(), nullptr);
  Folder& f = folder();
  {
    std::lock_guard lock(f.mutex);
    f.set = real ? real : path;
  }
  std::free(real);
  if (!path.empty()) remove_abandoned(path);
}

std::string backing_dir_set() {
  Folder& f = folder();
  std::lock_guard lock(f.mutex);
  return f.set;
}

std::string backing_dir() {
  const std::string set = backing_dir_set();
  return set.empty() ? default_dir() : set;
}

MemoryStats disk_stats() { return disk_budget().stats(); }
void reset_disk_peak() { disk_budget().reset_peak(); }
void set_disk_budget(i64 bytes) { disk_budget().set_limit(bytes); }
i64 disk_budget_set() { return disk_budget().limit_set(); }

i64 disk_free() {
  struct statvfs s {};
  std::string path = backing_dir();
  // A folder that is not there yet will be made in the nearest one that is.
  while (statvfs(path.c_str(), &s) != 0) {
    const std::size_t slash = path.find_last_of('/');
    if (errno != ENOENT || slash == path.npos || path == "/") return 0;
    path.resize(std::max<std::size_t>(slash, 1));
  }
  return static_cast<i64>(s.f_bavail) * static_cast<i64>(s.f_frsize);
}

i64 disk_occupied() {
  Folder& f = folder();
  std::lock_guard lock(f.mutex);
  if (f.owner != getpid()) return 0;
  i64 bytes = 0;
  struct stat s {};
  for (const std::string& path : f.files)
    if (stat(path.c_str(), &s) == 0) bytes += static_cast<i64>(s.st_blocks) * 512;
  return bytes;
}

i64 disk_left() {
  const i64 promised = std::max<i64>(disk_budget().in_use() - disk_occupied(), 0);
  return std::max<i64>(disk_free() - promised, 0);
}

i64 disk_total() { return disk_free() + disk_occupied(); }

void set_file_fault(FileFault fault) { file_fault = fault; }

int remove_abandoned(const std::string& path) {
  DIR* entries = opendir(path.c_str());
  if (!entries) return 0;
  int removed = 0;
  while (const dirent* entry = readdir(entries)) {
    const auto name = BackingName::parse(entry->d_name);
    if (!name || name->of_this_process()) continue;
    const std::string one = cat(path, "/", entry->d_name);
    const int file = open(one.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) continue;  // another user's, or gone
    struct stat s {};
    // The lock is held while the name goes: who makes a file sees that it lost it, see make().
    if (fstat(file, &s) == 0 && S_ISREG(s.st_mode) && abandoned(file, *name) &&
        unlink(one.c_str()) == 0)
      ++removed;
    close(file);
  }
  closedir(entries);
  return removed;
}

BackingFile BackingFile::make(std::string_view what) {
  const std::string dir = backing_dir();
  usable_folder(dir);
  Folder& f = folder();
  bool first = false;
  {
    std::lock_guard lock(f.mutex);
    first = f.cleaned.insert(dir).second;
  }
  if (first) remove_abandoned(dir);
  for (int attempt = 0; attempt < 100; ++attempt) {
    auto impl = std::make_shared<Impl>();
    impl->path = cat(dir, "/", BackingName::fresh(what).str());
    const int fault = fault_of("make");
    if (fault == 0)
      impl->file =
          open(impl->path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    const int error = fault > 0 ? fault : errno;
    if (impl->file < 0 && error == EEXIST) continue;
    require<IoError>(impl->file >= 0, "backing file '", impl->path,
                     "' cannot be made: ", std::strerror(error));
    // Between the two calls another process may have taken it for one that nobody holds.
    const bool held = flock(impl->file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
    struct stat s {};
    if (!held || fstat(impl->file, &s) != 0 || s.st_nlink == 0) {
      unlink(impl->path.c_str());
      continue;
    }
    impl->owner = getpid();
    std::lock_guard lock(f.mutex);
    if (f.owner == 0) std::atexit(remove_all_files);
    if (f.owner != getpid()) f.files.clear();  // those of the parent
    f.owner = getpid();
    f.files.insert(impl->path);
    return BackingFile(std::move(impl));
  }
  throw IoError(
      cat("backing folder '", dir, "': no file could be made and locked in 100 attempts"));
}

const std::string& BackingFile::path() const { return impl_->path; }
int BackingFile::descriptor() const { return impl_->file; }
i64 BackingFile::claimed() const { return impl_->claimed; }
bool BackingFile::ours() const { return impl_->owner == getpid(); }

void BackingFile::claim(i64 offset, i64 bytes, Space space) const {
  require<IoError>(ours(), "backing file '", path(), "' belongs to process ", impl_->owner,
                   ", of which this is a child");
  if (space == Space::later && bytes > disk_left()) fail(path(), "grow by", bytes, ENOSPC);
  const i64 missing = disk_budget().try_charge(bytes);
  if (missing > 0) {
    const i64 most = disk_budget().limit();
    throw OutOfMemory(cat("backing files: cannot take ", bytes_text(bytes), " of the disk: ",
                          bytes_text(most - bytes + missing), " of the budget of ",
                          bytes_text(most), " are in use (set_memory_budget(disk=...))"));
  }
  const int fault = fault_of("claim");
  int error = fault > 0 ? fault : 0;
  if (error == 0 && bytes > 0 && space == Space::now &&
      fallocate(impl_->file, 0, offset, bytes) != 0)
    error = errno;
  // A file system that cannot say beforehand says it when bytes are written.
  if (error == EOPNOTSUPP || error == ENOSYS) error = 0;
  if (error != 0) {
    fallocate(impl_->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, bytes);
    disk_budget().refund(bytes);
    fail(path(), "grow by", bytes, error);
  }
  impl_->claimed += bytes;
  disk_budget().reserve(bytes);
}

void BackingFile::release(i64 offset, i64 bytes) const noexcept {
  if (!ours() || bytes == 0) return;
  fallocate(impl_->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, bytes);
  impl_->claimed -= bytes;
  disk_budget().refund(bytes);
  disk_budget().reserve(-bytes);
}

void BackingFile::write(i64 offset, const void* from, i64 bytes) const {
  require<IoError>(ours(), "backing file '", path(), "' belongs to process ", impl_->owner,
                   ", of which this is a child");
  const Span span("write", "disk", bytes);
  const char* p = static_cast<const char*>(from);
  for (i64 done = 0; done < bytes;) {
    const int fault = fault_of("write");
    const i64 left = bytes - done, n = fault == moves_half ? (left + 1) / 2 : left;
    const ssize_t moved =
        fault > 0 ? -1 : pwrite(impl_->file, p + done, static_cast<std::size_t>(n), offset + done);
    const int error = fault > 0 ? fault : errno;
    if (moved < 0 && error == EINTR) continue;
    if (moved < 0) fail(path(), "write", bytes, error);
    if (moved == 0) fail(path(), "write", bytes, ENOSPC);
    done += moved;
  }
}

void BackingFile::read(i64 offset, void* to, i64 bytes) const {
  const Span span("read", "disk", bytes);
  char* p = static_cast<char*>(to);
  for (i64 done = 0; done < bytes;) {
    const int fault = fault_of("read");
    const i64 left = bytes - done, n = fault == moves_half ? (left + 1) / 2 : left;
    const ssize_t moved =
        fault > 0 ? -1 : pread(impl_->file, p + done, static_cast<std::size_t>(n), offset + done);
    const int error = fault > 0 ? fault : errno;
    if (moved < 0 && error == EINTR) continue;
    if (moved < 0) fail(path(), "read", bytes, error);
    require<IoError>(moved > 0, "backing file '", path(), "' ends ", bytes - done,
                     " bytes before it should: it was cut by somebody else");
    done += moved;
  }
}

}  // namespace tessera::store
