// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the n entries of an axis are split over p ranks: consecutive blocks in rank order, of any
// length. Known whole on every rank, so that layouts of results are computed and never asked for.
// Pure arithmetic; cheap to copy.
//   Partition part = Partition::even(10, 3);   // 4, 3, 3
//   part.owner(4) == 1;   part.sliced({1, 3, 3}).counts();   // of x[1:10:3]

#include <memory>
#include <span>
#include <vector>

#include "tessera/array/index.hpp"

namespace tessera::dist {

class TESSERA_API Partition {
 public:
  Partition() = default;  // nothing, on one rank
  // The rule of balance: the first n mod p ranks hold one more.
  static Partition even(i64 n, int ranks);
  static Partition of(std::span<const i64> counts);  // ArgumentError for negative counts
  static Partition all_on(i64 n, int ranks, int owner);

  i64 size() const { return starts_ ? starts_->back() : 0; }
  int ranks() const { return starts_ ? static_cast<int>(starts_->size()) - 1 : 1; }
  i64 begin(int rank) const { return (*starts_)[static_cast<std::size_t>(rank)]; }
  i64 end(int rank) const { return (*starts_)[static_cast<std::size_t>(rank) + 1]; }
  i64 count(int rank) const { return end(rank) - begin(rank); }
  int owner(i64 entry) const;  // 0 <= entry < size()
  std::vector<i64> counts() const;
  std::span<const i64> starts() const { return *starts_; }  // p + 1 of them
  bool balanced() const;
  friend TESSERA_API bool operator==(const Partition& a, const Partition& b);

  // What each rank keeps of start, start + step, … (step > 0): the layout of a slice, which moves
  // nothing. local_range is the slice of this rank's own block (start relative to the block).
  Partition sliced(const SliceRange& range) const;
  SliceRange local_range(const SliceRange& range, int rank) const;

 private:
  std::shared_ptr<const std::vector<i64>> starts_;
};

}  // namespace tessera::dist

namespace tessera {
using dist::Partition;
}
