// SPDX-License-Identifier: Apache-2.0
#include "tessera/store/tiles/tile_hints.hpp"

namespace tessera::store {

void TileHints::advise(Access access) {
  std::lock_guard lock(mutex_);
  access_ = access;
  last_ = -1;
  file_->advise(access == Access::sequential || access == Access::once ? File::Pattern::sequential
                : access == Access::random                             ? File::Pattern::random
                                                                       : File::Pattern::normal);
}

bool TileHints::is_near(i64 number) const {
  std::lock_guard lock(mutex_);
  return near_.count(number) > 0;
}

void TileHints::prefetch(i64 number) {
  const Extent e = extent_(number);
  file_->prefetch(e.offset, e.bytes);
  std::lock_guard lock(mutex_);
  near_.insert(number);
}

void TileHints::discard(i64 number) {
  const Extent e = extent_(number);
  file_->discard(e.offset, e.bytes);
  std::lock_guard lock(mutex_);
  near_.erase(number);
}

void TileHints::after_read(i64 number) {
  i64 next = -1, gone = -1;
  {
    std::lock_guard lock(mutex_);
    switch (access_) {
      case Access::sequential: next = number + 1; break;
      case Access::reverse: next = number - 1; break;
      case Access::strided:
        if (last_ >= 0 && last_ != number) next = 2 * number - last_;
        break;
      case Access::once: gone = last_; break;
      default: return;
    }
    if (last_ == number) return;
    last_ = number;
  }
  if (next >= 0 && next < tiles_ && !is_near(next)) prefetch(next);
  if (gone >= 0 && gone != number) discard(gone);
}

}  // namespace tessera::store
