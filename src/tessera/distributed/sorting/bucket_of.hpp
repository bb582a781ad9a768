// SPDX-License-Identifier: Apache-2.0
#pragma once
// Between which splitters the items of a rank lie, while they are read one after the other: what
// redistributing values and redistributing positions have in common. Private to the ordering
// functions of dist.
//   BucketOf bucket_of(splitters);   std::size_t k = bucket_of(class_of_item);

#include <vector>

#include "tessera/distributed/sorting/select.hpp"
#include "tessera/distributed/wire/to_index.hpp"

namespace tessera::dist {

template <std::size_t bytes>
struct Item {
  std::byte data[bytes];
};

template <class F>
void with_item(i64 bytes, F&& f) {
  switch (bytes) {
    case 1: return f(Item<1>{});
    case 2: return f(Item<2>{});
    case 4: return f(Item<4>{});
    case 8: return f(Item<8>{});
    default: return f(Item<16>{});
  }
}

// From the number that classes() of kernels/sort/classes.hpp gave an item; equal items one after
// the other, in their order.
class BucketOf {
 public:
  explicit BucketOf(const LocalSplitters& splitters)
      : splitters_(splitters.at), seen_(to_index(2 * splitters.bounds.size() + 1), 0) {
    std::size_t k = 0;
    for (std::size_t c = 0; c < seen_.size(); ++c) {
      while (k < splitters_.size() && splitters_[k].bound < static_cast<i64>(c)) ++k;
      first_.push_back(k);
      whole_.push_back(k == splitters_.size() || splitters_[k].bound != static_cast<i64>(c));
    }
  }
  // 0: before the first splitter.
  std::size_t operator()(std::uint16_t c) {
    std::size_t k = first_[c];
    if (whole_[c]) return k;
    const i64 n = seen_[c]++;
    while (k < splitters_.size() && splitters_[k].bound == c && splitters_[k].equals <= n) ++k;
    return k;
  }

 private:
  const std::vector<LocalSplitter>& splitters_;
  std::vector<i64> seen_;            // items of each class so far
  std::vector<std::size_t> first_;   // the bucket of its first item
  std::vector<std::uint8_t> whole_;  // all its items are in that bucket
};

}  // namespace tessera::dist
