// SPDX-License-Identifier: Apache-2.0
#include "tessera/comm/mpi/scratch.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace tessera::mpi {
namespace {

constexpr i64 small = 64 << 10, huge_page = 2 << 20, most_kept = 32 << 20;

struct Shelf {
  std::mutex mutex;
  std::vector<std::pair<i64, std::byte*>> kept;
  i64 bytes = 0;
};
Shelf& shelf() {
  static auto* s = new Shelf;  // outlives the groups of static objects
  return *s;
}

i64 rounded(i64 bytes) {
  const i64 to = bytes >= huge_page ? huge_page : small;
  return (bytes + to - 1) / to * to;
}

}  // namespace

Scratch::Scratch(i64 bytes) : bytes_(rounded(bytes)) {
  if (bytes_ > small) {
    Shelf& s = shelf();
    const std::lock_guard lock(s.mutex);
    for (auto it = s.kept.begin(); it != s.kept.end(); ++it)
      if (it->first == bytes_) {
        data_ = it->second;
        s.bytes -= bytes_;
        s.kept.erase(it);
        return;
      }
  }
  const i64 align = bytes_ >= huge_page ? huge_page : 64;
  data_ = static_cast<std::byte*>(
      std::aligned_alloc(static_cast<std::size_t>(align), static_cast<std::size_t>(bytes_)));
  if (data_ == nullptr) throw std::bad_alloc();
  if (bytes_ >= huge_page) madvise(data_, static_cast<std::size_t>(bytes_), MADV_HUGEPAGE);
}

Scratch::~Scratch() {
  if (data_ == nullptr) return;
  if (bytes_ > small) {
    Shelf& s = shelf();
    const std::lock_guard lock(s.mutex);
    if (s.bytes + bytes_ <= most_kept) {
      s.kept.emplace_back(bytes_, data_);
      s.bytes += bytes_;
      return;
    }
  }
  std::free(data_);
}

Scratch& Scratch::operator=(Scratch&& o) noexcept {
  std::swap(data_, o.data_);
  std::swap(bytes_, o.bytes_);
  return *this;
}

}  // namespace tessera::mpi
