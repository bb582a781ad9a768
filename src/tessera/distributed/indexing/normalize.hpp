// SPDX-License-Identifier: Apache-2.0
#pragma once
// A key as the routes want it: checked by NumPy's rules against the whole shape, masks replaced by
// positions, which positions.hpp checks. Everything here is the same on every rank. Not for
// use outside of the files that index.
//   NormalKey k = normalize(x, key);   k.axes[split].meets == Meets::slice

#include "tessera/distributed/indexing/key.hpp"

namespace tessera::dist {

// All of itself, its bits, its counts: a distributed key remembers them where no rank needs more
// bytes for it, by sizes that all ranks know, so that all remember the same.
constexpr i64 most_remembered = i64{4} << 20;

// Adds an item of another key to an Index or DistIndex; false for arrays, which the caller adds.
template <class Key>
bool add_plain(Key& key, const Index::Item& item) {
  switch (item.kind) {
    case Index::Kind::integer: key.add(item.value); return true;
    case Index::Kind::slice: key.add(item.slice); return true;
    case Index::Kind::new_axis: key.add(new_axis); return true;
    case Index::Kind::ellipsis: key.add(ellipsis); return true;
    case Index::Kind::boolean: key.add(item.value != 0); return true;
    default: return false;
  }
}

enum class Meets : std::uint8_t { slice, integer, positions };
// What stands on one axis of the indexed array.
struct KeyAxis {
  Meets meets = Meets::slice;
  SliceRange range{};  // slice
  i64 value = 0;       // integer, counted from the front
  i64 array = -1;      // positions: which of the plan's arrays
  i64 result = -1;     // slice: the axis of the result that it becomes
};

struct NormalKey {
  Index index;     // no masks; arrays as in plan.arrays
  IndexPlan plan;  // on the whole shape, row-major; arrays are int64 of the host, or stand-ins
  std::vector<KeyAxis> axes;
  std::vector<DNDarray>
      distribution;  // beside plan.arrays: the distributed array, or an empty handle
  // Beside plan.arrays: the axis of plan.lead along which the result is split where that array
  // decides it. By shapes and splits alone: what an array holds, and how many elements a mask
  // picks, change nothing.
  Shape result_axes;
  // Beside plan.arrays, once check_values was there: found to be in order, from the front. False
  // says nothing.
  std::vector<bool> ascends;
  i64 leading_index = -1;  // the first array that came distributed
  // The positions on the split axis lie with the owners of their places: nobody has to be told.
  bool at_owners = false;
  bool any_distribution() const;
};

// How many axes of the indexed array an item stands on, and the first of them for each item of a
// valid key.
i64 covered(const Index& index, const Index::Item& item, i64 ndim);
std::vector<i64> first_axes(const Index& index, i64 ndim);

// The mask that stands alone in a key with slices and integers: which axes it covers.
struct SoleMask {
  DNDarray mask;
  i64 first = 0;  // axis of x
};

// NumPy's checks of everything but the values of arrays and the number of true elements; no
// message. The plan has one element for each mask.
IndexPlan check_key(const DNDarray& x, const DistIndex& key);
// The same for calls that may send: where index arrays do not broadcast, all ranks count their
// masks for the text (collective).
IndexPlan check_key_aloud(const DNDarray& x, const DistIndex& key);
// Set when the only array of the key is a distributed mask.
std::optional<SoleMask> sole_mask(const DNDarray& x, const DistIndex& key);
// Distributed masks become distributed positions (collective, distributed/indexing/masks/nonzero);
// other masks are expanded here. Nothing looks at the values of positions yet. `picked`: the
// positions of the one distributed mask of the key, where they are known.
NormalKey normalize(const DNDarray& x, const DistIndex& key,
                    const std::vector<DNDarray>& picked = {});
// The same with its values checked (positions.hpp), without a message: each distributed mask
// has one element, a stand-in without a distribution.
NormalKey foresee(const DNDarray& x, const DistIndex& key);

// The same key with other positions, which every rank has and which are checked.
NormalKey with_positions(const DNDarray& x, const NormalKey& key, std::span<const Array> positions);

// The key that one rank applies to its own part: `arrays` take the places of the plan's arrays, and
// on `axis` stands `slice` or `value` instead.
struct AtAxis {
  i64 axis = -1;
  std::optional<SliceRange> slice;
  std::optional<i64> value;
};
Index local_key(const NormalKey& key, std::span<const Array> arrays, const AtAxis& at,
                Device device);

}  // namespace tessera::dist
