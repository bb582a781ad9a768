// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/indexing/plan.hpp"

#include <algorithm>

#include "tessera/distributed/indexing/masks/mask_owners.hpp"
#include "tessera/distributed/indexing/masks/nonzero.hpp"
#include "tessera/distributed/indexing/masks/sole_mask.hpp"
#include "tessera/distributed/indexing/rows/value_rows.hpp"
#include "tessera/distributed/indexing/write_plan.hpp"
#include "tessera/distributed/wire/to_index.hpp"
#include "tessera/kernels/gather/fit.hpp"

namespace tessera::dist {
namespace {

// A key before its masks are counted: they pick one element in it, and as many as they have at
// most.
struct Foreseen {
  NormalKey key;
  UnalignedMasks masks;
  Extent most = {};
  bool longer = false;   // other arrays are longer than one element along the axis of the masks
  bool repeats = false;  // ... or another mask may pick more: one element may be repeated then
  Shape shape() const {  // of the result, -1 where a mask decides
    Shape shape = key.plan.shape;
    if (!most.known && !longer) shape[key.plan.position + key.plan.lead.size() - 1] = -1;
    return shape;
  }
};

Foreseen foreseen(const DNDarray& x, const DistIndex& key, bool writes) {
  Foreseen f{foresee(x, key), unaligned_masks(x, key, writes)};
  f.most = extent_of(f.key);
  i64 most = 0, masks = 0;
  for (const auto* list : {&f.masks.bits, &f.masks.counted, &f.masks.listed})
    for (const i64 a : *list) {
      f.most.known = false;
      ++masks;
      most = std::max(most, key.distribution()[to_index(a)].size());
    }
  if (f.most.known) return f;
  f.longer = f.most.lead.back() != 1;
  f.repeats = f.longer || masks > 1;
  if (f.longer) return f;
  f.most.lead.back() = std::max<i64>(1, most);
  f.most.shape[f.key.plan.position + f.most.lead.size() - 1] = f.most.lead.back();
  return f;
}

// Positions of masks go to all ranks where every rank has x, and where one is all that they pick.
void count_gathered_picks(Transfers& t, const DNDarray& x, const Foreseen& f,
                          const DNDarray& mask) {
  if (!x.split())
    count_gathered_nonzero(t, mask);
  else if (f.repeats)
    count_one_nonzero(t, mask);
}

bool has_mask(const DistIndex& key) {
  const auto items = key.index().items();
  return std::any_of(items.begin(), items.end(),
                     [](const Index::Item& i) { return i.kind == Index::Kind::mask; });
}

}  // namespace

ExchangePlan plan_index(const DNDarray& x, const DistIndex& key) {
  const IndexPlan checked = check_key(x, key);
  ExchangePlan e(x.comm().size());
  if (const auto mask = sole_mask(x, key); mask && covers_split(x, *mask)) {
    SoleMaskRead(x, *mask, checked).count(e);
    return e;
  }
  Foreseen f = foreseen(x, key, false);
  e.shape = f.shape();
  count_whole_masks(e.transfers, key, f.masks);
  for (const i64 a : f.masks.counted) {
    const DNDarray& mask = key.distribution()[to_index(a)];
    f.key.at_owners = count_owned_positions(e.transfers, x, key, mask) && !f.repeats;
    count_gathered_picks(e.transfers, x, f, mask);
  }
  const ReadPlan plan = plan_read(x, std::move(f.key), std::move(f.most));
  e.route = plan.route.route;
  e.reason = plan.route.reason;
  e.distribution = plan.route.distribution;
  plan.count(e.transfers);
  if (x.split() && e.route == Route::local && has_mask(key)) e.route = Route::local_mask;
  return e;
}

ExchangePlan plan_index(const DNDarray& x, const DistIndex& key, const DNDarray& wide) {
  const IndexPlan checked = check_key(x, key);
  const DNDarray given = narrowed_for(x, wide);
  ExchangePlan e(x.comm().size());
  e.shape = x.shape();
  e.distribution = x.distribution();
  IndexPlan fitted = checked;
  if (const auto mask = sole_mask(x, key); mask && covers_split(x, *mask)) {
    fitted.shape[fitted.position] = -1;
    require_fit(given.shape(), fitted);
    SoleMaskWrite(x, *mask, checked, given).count(e);
    return e;
  }
  Foreseen f = foreseen(x, key, true);
  fitted = f.key.plan;
  fitted.shape = f.shape();
  require_fit(given.shape(), fitted);
  count_whole_masks(e.transfers, key, f.masks);
  const PicksBeside picks(x, key, checked, given);
  picks.count(e.transfers);
  for (const i64 a : f.masks.counted) {
    const DNDarray& mask = key.distribution()[to_index(a)];
    if (!mask_beside(x, key)) count_nonzero(e.transfers, mask);
    count_gathered_picks(e.transfers, x, f, mask);
  }
  const WritePlan plan =
      plan_write(x, std::move(f.key), trimmed(given, fitted.shape.size()), std::move(f.most));
  e.route = plan.route.route;
  e.reason = plan.route.reason;
  plan.count(e.transfers);
  return e;
}

}  // namespace tessera::dist
