// SPDX-License-Identifier: Apache-2.0
#pragma once
// Between which cuts the items of a rank lie, while they are read one after the other: what dealing
// out values and dealing out positions have in common. Private to the ordering functions of dist.
//   Intervals intervals(cuts);   std::size_t k = intervals.of(class_of_item);

#include <vector>

#include "tessera/distributed/sorting/sort_counted.hpp"
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

// By their classes, see kernels/sort/classes.hpp; equal items one after the other.
class Intervals {
 public:
  explicit Intervals(const CountedCuts& cuts)
      : cuts_(cuts.at), seen_(to_index(2 * cuts.bounds.size() + 1), 0) {
    std::size_t d = 0;
    for (std::size_t c = 0; c < seen_.size(); ++c) {
      while (d < cuts_.size() && cuts_[d].bound < static_cast<i64>(c)) ++d;
      first_.push_back(d);
      plain_.push_back(d == cuts_.size() || cuts_[d].bound != static_cast<i64>(c));
    }
  }
  // 0: before the first cut.
  std::size_t of(std::uint16_t c) {
    std::size_t d = first_[c];
    if (plain_[c]) return d;
    const i64 n = seen_[c]++;
    while (d < cuts_.size() && cuts_[d].bound == c && cuts_[d].equals <= n) ++d;
    return d;
  }

 private:
  const std::vector<CountedCuts::Cut>& cuts_;
  std::vector<i64> seen_;
  std::vector<std::size_t> first_;
  std::vector<std::uint8_t> plain_;
};

}  // namespace tessera::dist
