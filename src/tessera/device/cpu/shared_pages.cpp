// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/cpu/shared_pages.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "tessera/base/text_file.hpp"
#include "tessera/device/host_limits.hpp"

namespace tessera {
namespace {

// Addresses, not memory: room enough that holes between blocks do not matter.
constexpr i64 times_memory = 4;

// Where addresses count as memory that is promised, a private view of all of them cannot be had.
bool commits_strictly() {
  return read_text("/proc/sys/vm/overcommit_memory").value_or("0").starts_with("2");
}

}  // namespace

SharedPages& SharedPages::own() {
  static auto* pages = new SharedPages;  // outlives the arrays of static objects
  return *pages;
}

bool SharedPages::open() {
  const std::lock_guard lock(mutex_);
  if (start_ != nullptr) return !private_;
  if (commits_strictly()) return false;
  const i64 bytes = times_memory * host_memory_total() / huge_page * huge_page;
  const int file = make_huge_file(file_name, bytes);
  if (file < 0) return false;
  void* found = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_NORESERVE, file, 0);
  static const int at_fork =
      pthread_atfork([] { own().mutex_.lock(); }, [] { own().mutex_.unlock(); },
                     [] {
                       own().become_private();
                       own().mutex_.unlock();
                     });
  if (found == MAP_FAILED || at_fork != 0) {
    close(file);
    return false;
  }
  madvise(found, static_cast<std::size_t>(bytes), MADV_HUGEPAGE);
  file_ = file;
  bytes_ = bytes;
  free_[0] = bytes - huge_page;  // see Note [reading beyond the end]
  start_ = static_cast<std::byte*>(found);
  return true;
}

void SharedPages::withdraw() {
  const std::lock_guard lock(mutex_);
  become_private();
}

// What was there is still seen; a page that is written to becomes this process's own.
void SharedPages::become_private() {
  std::byte* const start = start_;
  if (start == nullptr || private_) return;
  private_ = true;
  const void* const found = mmap(start, static_cast<std::size_t>(bytes_), PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED, file_, 0);
  if (found == MAP_FAILED) std::abort();  // rather than to write into what others hold
}

bool SharedPages::holds(const std::byte* first, i64 bytes) const {
  const std::byte* const start = start_;
  return start != nullptr && first >= start && first + bytes <= start + bytes_;
}

void* SharedPages::take(i64 bytes) {
  if (start_ == nullptr) return nullptr;
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(free_.begin(), free_.end(),
                                  [&](const auto& hole) { return hole.second >= bytes; });
  if (found == free_.end()) return nullptr;
  const auto [offset, length] = *found;
  free_.erase(found);
  if (length > bytes) free_[offset + bytes] = length - bytes;
  return start_ + offset;
}

bool SharedPages::give(void* p, i64 bytes) noexcept {
  auto* const first = static_cast<std::byte*>(p);
  if (!holds(first, bytes)) return false;
  const std::lock_guard lock(mutex_);
  i64 offset = first - start_;
  // What is behind private pages may be somebody else's. MADV_REMOVE makes a hole as fallocate
  // does; libraries under MPI that remember where memory lies see this one and forget it.
  const auto length = static_cast<std::size_t>(bytes);
  if (madvise(p, length, private_ ? MADV_DONTNEED : MADV_REMOVE) != 0) kept_ = true;
  auto after = free_.lower_bound(offset);
  if (after != free_.end() && after->first == offset + bytes) {
    bytes += after->second;
    after = free_.erase(after);
  }
  if (after != free_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == offset) {
      offset = before->first;
      bytes += before->second;
    }
  }
  free_[offset] = bytes;
  return true;
}

std::optional<SharedPages::Place> SharedPages::find(const std::byte* first, i64 bytes) const {
  if (!holds(first, bytes) || private_) return std::nullopt;
  return Place{file_, first - start_};
}

}  // namespace tessera
