// SPDX-License-Identifier: Apache-2.0
#pragma once
// Order among the items of all ranks without sorting them: where the item is that so many others
// precede, and which items of a rank lie before it. Items are read a few times and never copied but
// for the few around what is looked for. For arrays of which a copy would be too much; on the host.
// Private to the ordering functions of dist.
//   Counted all(items, counts, comm);   CountedCuts cuts = all.cuts({{250, 500}});

#include <cstddef>
#include <span>
#include <vector>

#include "tessera/array/array.hpp"
#include "tessera/comm/communicator.hpp"
#include "tessera/distributed/array/partition.hpp"

namespace tessera::dist {

// Items that lie on the host.
inline std::byte* bytes_of(const Array& items) {
  return static_cast<std::byte*>(items.host_data());
}

// Memory that the functions here may take beside operands and results, per rank.
struct Bounded {
  i64 from = i64{24} << 20;     // bytes of a rank's items; smaller arrays are simply copied
  i64 piece = i64{8} << 20;     // bytes that travel at a time
  i64 sample = 1 << 14;         // items of a rank that are looked at
  i64 gathered = i64{4} << 20;  // bytes of items around a cut that are put in order
  i64 room = i64{32} << 20;     // to sort in
};

// How cuts go through this rank's items as they lie: cut k has before it all items of classes below
// `at[k].bound` (see kernels/sort/classes.hpp), and the first `equals` of that class.
struct CountedCuts {
  struct Cut {
    i64 bound = 0, equals = 0;
    i64 before = 0;  // items of this rank
  };
  Array bounds;
  std::vector<Cut> at;
};

// A cut as it is found: before the items that equal `value`, but for the first `equals` of them on
// this rank.
struct CountedEdge {
  Array value;         // none: behind all
  i64 equals, before;  // before: items of this rank
  i64 place;           // items of all ranks before it
};

// Equal items are ordered by rank, then by place, as merge_cuts orders them.
class TESSERA_API Counted {
 public:
  // `items`: this rank's, 1-d, on the host, any strides.
  Counted(const Array& items, std::span<const i64> counts, const Communicator& comm,
          const Bounded& bounded = {});
  // Collective, `targets` ascending and the same on all ranks.
  CountedCuts cuts(std::span<const i64> targets) { return cuts_at(edges_at(targets)); }
  std::vector<CountedEdge> edges_at(std::span<const i64> targets);
  CountedCuts cuts_at(std::span<const CountedEdge> edges) const;
  // The starts of `part` and its end, and edges between them so that no two neighbours are further
  // apart than `longest`. Collective.
  std::vector<CountedEdge> stretches(const Partition& part, i64 longest);
  // Items `places` of all in order; on the host, the same on all ranks.
  Array items_at(std::span<const i64> places);

 private:
  struct Class {
    i64 number, before;  // items of all ranks before it
  };
  struct Inside {
    Class c;
    Array sorted;              // the items of a class of few different ones
    std::vector<i64> targets;  // from the first item of the class on
  };
  Class class_of(i64 target) const;
  Array bound(i64 k) const { return k < bounds_.size() ? bounds_.slice(0, k, k + 1) : Array(); }
  i64 mine_before(i64 number) const;
  void cut_equals(const Class& c, std::span<const i64> inside,
                  std::vector<CountedEdge>& edges) const;
  void cut_few(const Class& c, const Array& sorted, std::span<const i64> inside,
               std::vector<CountedEdge>& edges) const;
  i64 in_class(i64 number) const;
  void count();
  void refine(std::span<const i64> targets);
  void narrow(i64 longest);
  void add_bounds(const std::vector<std::pair<i64, double>>& wanted, bool either_side);
  std::vector<Array> pick(const std::vector<i64>& numbers,
                          const std::vector<std::vector<i64>>* which) const;
  std::vector<Array> samples_of(const std::vector<i64>& numbers,
                                const std::vector<i64>& sizes) const;
  std::vector<Inside> by_class(std::span<const i64> targets);
  std::vector<i64> counts_in(i64 number) const;
  Array nth_of_class(i64 number, i64 n) const;

  Array items_;
  std::vector<i64> counts_;
  const Communicator& comm_;
  Bounded bounded_;
  Array bounds_;
  std::vector<i64> found_;  // by rank and class
};

}  // namespace tessera::dist
