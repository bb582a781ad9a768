// SPDX-License-Identifier: Apache-2.0
#pragma once
// Order among the items of all ranks without sorting them: where the item is that so many others
// precede, and which items of a rank lie before it. Items are read a few times and never copied but
// for the few around what is looked for. For arrays of which a copy would be too much; on the host.
// Private to the ordering functions of dist.
//   Selection all(items, counts, comm);   LocalSplitters halves = all.splitters({{500}});

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
struct MemoryBudget {
  i64 from = i64{24} << 20;     // bytes of a rank's items; smaller arrays are simply copied
  i64 piece = i64{8} << 20;     // bytes that travel at a time
  i64 sample = 1 << 14;         // items of a rank that are looked at
  i64 gathered = i64{4} << 20;  // bytes of items around a splitter that are put in order
  i64 room = i64{32} << 20;     // to sort in
};

// A splitter, the same on all ranks: before the items that equal `value`, but for the first
// `equals` of them on this rank.
struct Splitter {
  Array value;         // none: behind all
  i64 equals, before;  // before: items of this rank
  i64 position;        // items of all ranks before it
};

// Splitters by the class of this rank's items among `bounds` (see kernels/sort/classes.hpp): before
// splitter k are all items of classes below at[k].bound, and the first `equals` of that class.
struct LocalSplitter {
  i64 bound = 0, equals = 0;
  i64 before = 0;  // items of this rank
};
struct LocalSplitters {
  Array bounds;
  std::vector<LocalSplitter> at;
};

// Equal items are ordered by rank, then by position, as find_splitters orders them.
class TESSERA_API Selection {
 public:
  // `items`: this rank's, 1-d, on the host, any strides.
  Selection(const Array& items, std::span<const i64> counts, const Communicator& comm,
            const MemoryBudget& budget = {});
  // Collective, `targets` ascending and the same on all ranks.
  LocalSplitters splitters(std::span<const i64> targets) {
    return localized(splitters_at(targets));
  }
  std::vector<Splitter> splitters_at(std::span<const i64> targets);
  LocalSplitters localized(std::span<const Splitter> splitters) const;
  // The starts of `part` and its end, and splitters between them so that no bucket between two
  // neighbours is longer than `longest`. Collective.
  std::vector<Splitter> bucket_splitters(const Partition& part, i64 longest);
  // Items `positions` of all in order; on the host, the same on all ranks.
  Array items_at(std::span<const i64> positions);

 private:
  struct Bucket {
    i64 number, before;  // items of all ranks before it
  };
  struct Inside {
    Bucket bucket;
    Array sorted;              // the items of a bucket of few different ones
    std::vector<i64> targets;  // from the first item of the bucket on
  };
  Bucket bucket_of(i64 target) const;
  Array bound(i64 k) const { return k < bounds_.size() ? bounds_.slice(0, k, k + 1) : Array(); }
  i64 mine_before(i64 number) const;
  void split_equals(const Bucket& b, std::span<const i64> inside,
                    std::vector<Splitter>& splitters) const;
  void split_few(const Bucket& b, const Array& sorted, std::span<const i64> inside,
                 std::vector<Splitter>& splitters) const;
  i64 in_bucket(i64 number) const;
  void count();
  void refine(std::span<const i64> targets);
  void narrow(i64 longest);
  void add_bounds(const std::vector<std::pair<i64, double>>& wanted, bool either_side);
  std::vector<Array> pick(const std::vector<i64>& numbers,
                          const std::vector<std::vector<i64>>* which) const;
  std::vector<Array> samples_of(const std::vector<i64>& numbers,
                                const std::vector<i64>& sizes) const;
  std::vector<Inside> by_bucket(std::span<const i64> targets);
  std::vector<i64> counts_in(i64 number) const;
  Array nth_of_bucket(i64 number, i64 n) const;

  Array items_;
  std::vector<i64> counts_;
  const Communicator& comm_;
  MemoryBudget budget_;
  Array bounds_;
  std::vector<i64> found_;  // by rank and bucket
};

}  // namespace tessera::dist
