// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/indexing/masks/mask.hpp"

#include <algorithm>

#include "tessera/distributed/indexing/masks/mask_bits.hpp"
#include "tessera/distributed/indexing/masks/mask_known.hpp"
#include "tessera/distributed/indexing/masks/nonzero.hpp"
#include "tessera/distributed/indexing/positions.hpp"
#include "tessera/distributed/wire/to_index.hpp"
#include "tessera/kernels/reduce/reduce.hpp"

namespace tessera::dist {
namespace {

// Every rank has x: its result is distributed as the first distributed array of the key, here along
// another axis than the last, which is that of all masks. False where nothing is read.
bool split_off_masks(const DistIndex& key) {
  for (const Index::Item& item : key.index().items()) {
    const bool array = item.kind == Index::Kind::mask || item.kind == Index::Kind::integer_array;
    if (!array || !key.distribution()[to_index(item.value)]) continue;
    const DNDarray& first = key.distribution()[to_index(item.value)];
    return item.kind == Index::Kind::integer_array && *first.split() != first.ndim() - 1 &&
           first.size() > 0;
  }
  return false;
}

// What all ranks have to get of a mask: its bits, or the positions that dist::nonzero lists, which
// distributes the bits by rows first (collective).
bool fewer_as_bits(const DNDarray& mask) {
  const i64 bits = (mask.size() + 7) / 8, picked = counted_by_rank(mask).total();
  const i64 by_rows = *mask.split() == 0 ? 0 : bits / mask.comm().size();
  return bits < picked * bytes_of_position(mask.shape()) + by_rows;
}

}  // namespace

bool covers_split(const DNDarray& x, const SoleMask& mask) {
  return x.split() && *x.split() >= mask.first && *x.split() < mask.first + mask.mask.ndim();
}

bool picks_nothing(const IndexPlan& checked) {
  for (i64 a = 0; a < checked.shape.size(); ++a)
    if (a != checked.position && checked.shape[a] == 0) return true;
  return false;
}

UnalignedMasks unaligned_masks(const DNDarray& x, const DistIndex& key, bool writes) {
  UnalignedMasks masks;
  if (!key.distributed()) return masks;
  const std::vector<i64> axes = first_axes(key.index(), x.ndim());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Index::Item& item = key.index().items()[i];
    if (item.kind != Index::Kind::mask || !key.distribution()[to_index(item.value)]) continue;
    const DNDarray& mask = key.distribution()[to_index(item.value)];
    const bool counted = x.split() ? covers_split(x, {mask, axes[i]}) : !writes;
    const bool listed = counted && !x.split() && split_off_masks(key);
    if (!counted || (listed && known_bits(mask, {})))
      masks.bits.push_back(item.value);
    else
      (listed ? masks.listed : masks.counted).push_back(item.value);
  }
  return masks;
}

void count_whole_masks(Transfers& t, const DistIndex& key, const UnalignedMasks& masks) {
  const auto mask_of = [&](i64 a) -> const DNDarray& { return key.distribution()[to_index(a)]; };
  for (const i64 a : masks.bits)
    if (!known_bits(mask_of(a), {})) BitRelayout(mask_of(a), {}).count(t);
  for (const i64 a : masks.listed) {  // the bits are less than positions of all elements
    RowCounts::by_rank(mask_of(a), mask_of(a).distribution()).count(t);
    count_nonzero(t, mask_of(a));
    count_gathered_nonzero(t, mask_of(a));
  }
}

DistIndex with_whole_masks(const DistIndex& key, UnalignedMasks masks) {
  for (const i64 a : masks.listed)
    if (fewer_as_bits(key.distribution()[to_index(a)])) masks.bits.push_back(a);
  std::sort(masks.bits.begin(), masks.bits.end());
  if (masks.bits.empty()) return key;
  DistIndex whole;
  std::vector<Array> known;  // all of them before any is told: masks may share what they remember
  for (const i64 a : masks.bits) known.push_back(known_bits(key.distribution()[to_index(a)], {}));
  std::size_t next = 0;
  for (const Index::Item& item : key.index().items()) {
    if (add_plain(whole, item)) continue;
    const DNDarray& distribution = key.distribution()[to_index(item.value)];
    if (next < masks.bits.size() && masks.bits[next] == item.value) {
      whole.add(known[next] ? known[next] : distributed_bits(distribution, {}));
      ++next;
    } else if (distribution) {
      whole.add(distribution);
    } else {
      whole.add(key.index().arrays()[to_index(item.value)]);
    }
  }
  return whole;
}

}  // namespace tessera::dist
