// SPDX-License-Identifier: Apache-2.0
// What x[key] = value will send.
#include <algorithm>

#include "tessera/distributed/indexing/entries.hpp"
#include "tessera/distributed/indexing/entry_push.hpp"
#include "tessera/distributed/indexing/explain_sum.hpp"
#include "tessera/distributed/indexing/index_winners.hpp"
#include "tessera/distributed/indexing/masks/mask.hpp"
#include "tessera/distributed/indexing/masks/mask_owners.hpp"
#include "tessera/distributed/indexing/value_rows.hpp"
#include "tessera/distributed/wire/to_index.hpp"
#include "tessera/kernels/gather/fit.hpp"

namespace tessera::dist {
namespace {

bool moves(const DNDarray& value) { return value.split() || !value.known(); }

// The owners of places ask for rows of the value by the numbers of `entries`; the rows themselves
// are those of explain_where_needed() at most.
void explain_straight(Explanation& e, const DNDarray& value, const IndexPlan& plan, i64 entries) {
  const OwnRows own(value, plan);
  const int p = value.comm().size();
  for (int r = 0; r < p; ++r)
    for (int q = 0; q < p; ++q) {
      const i64 rows = own.count(q);
      if (q == r || rows == 0) continue;
      send(e, r, 2, 8 + most_wire_bytes(std::min(entries, rows), rows), true);
    }
}

// A value that moves to where it is written; positions that all ranks know are written once. While
// some are not, all of it may move.
void explain_target(Explanation& e, const DNDarray& x, const Foreseen& f, const DNDarray& given) {
  if (count_of(f.shape) == 0 || !moves(given)) return;
  const bool known = !f.masks() && !f.key.any_distribution();
  const Assigned a = known ? without_repeats(x, f.key, given) : Assigned{f.key, given, {}};
  if (!known) at_most(e);
  const DNDarray& value = a.value;
  Boxes to(to_index(x.comm().size()));
  if (x.split()) {
    const RoutePlan plan = route_of(x, a.key);
    if (plan.array >= 0 && !a.all_stay) return add(e, known_push(x, f.key, given));
    to = plan.route == Route::scalar ? boxes_on(plan.owner, x.comm().size())
                                     : boxes_of_target(value, plan);
  } else if (x.owner()) {
    to = boxes_on(*x.owner(), x.comm().size());
  }
  add(e, movement(value.shape(), size_of(value.dtype()), boxes_of_value(value), to));
}

// Positions on the split axis.
void explain_places(Explanation& e, const DNDarray& x, const Foreseen& f, const DNDarray& value) {
  const NormalKey& k = f.key;
  const bool keeps = keeps_distribution(x, k);
  if (!keeps || f.masks()) explain_gathered_keys(e, x, k);
  const bool unforeseen = f.masks() || (k.any_distribution() && !keeps);
  RoutePlan plan;
  if (!unforeseen) plan = route_of(x, k);
  e.route = unforeseen ? Route::unordered : plan.route;
  e.reason = f.masks()    ? "a distributed mask beside other arrays: its positions decide"
             : unforeseen ? "the positions are distributed and repeat: all ranks get them"
                          : plan.reason;
  if (unforeseen || plan.ask) {
    const bool differs =
        varies(value.shape(), k.plan.shape.size(), k.plan.position, k.plan.lead.size());
    const i64 row = count_of(rows_of_value(value.shape(), k.plan)) /
                        std::max<i64>(1, count_of(k.plan.lead)) * size_of(value.dtype()) +
                    bytes_of_number(count_of(f.lead));
    if (f.masks() || plan.ask)
      exchange_asked(
          e, x, k,
          {plan.ask ? entries_by_rank(k, plan) : all_entries(x, f.lead), false, differs ? row : 0});
    if (plan.ask) gather_others(e, x, k, plan.array);
    const bool maybe_straight =
        plan.ask ? straight_to_places(value, k.plan, plan.lead_axis, plan.distribution.part)
                 : f.masks();
    if (differs && moves(value) && maybe_straight)
      explain_straight(e, value, k.plan, count_of(f.lead));
    explain_where_needed(e, value);
    at_most(e);
  } else if (plan.route == Route::unordered) {
    if (moves(value) && count_of(f.shape) > 0) add(e, known_push(x, k, value));
  } else {
    explain_target(e, x, f, value);
  }
}

// A mask on the split axis beside other arrays: beside what its positions would send as index
// arrays, its true elements are counted, and those of each row where their order matters.
void explain_picks(Explanation& e, const DNDarray& x, const DistIndex& key,
                   const IndexPlan& checked, const DNDarray& value) {
  const auto beside = mask_beside(x, key);
  if (!beside) return;
  const PicksDiffer differ = differ_along(*beside, x, key, checked, value);
  tell_all(e, bytes_of_counts(1, beside->mask.mask.size()));
  if (!differ.in_order) return;
  const i64 group = group_of_rows(x, beside->mask, differ.each);
  count_groups(e, x, beside->mask, group);
  count_rows(e, x, beside->mask, group);
}

// An integer or a slice on the split axis.
void explain_part(Explanation& e, const DNDarray& x, const Foreseen& f, const DNDarray& value) {
  const RoutePlan plan = route_of(x, f.key);
  e.route = plan.route;
  e.reason = plan.reason;
  explain_gathered_keys(e, x, f.key);
  explain_target(e, x, f, value);
  if (f.masks() && f.key.any_distribution()) at_most(e);
}

void explain_everywhere(Explanation& e, const DNDarray& x, const Foreseen& f,
                        const DNDarray& value) {
  e.reason = "every rank has the whole array";
  explain_gathered_keys(e, x, f.key);
  explain_target(e, x, f, value);
  if (f.masks() && f.key.any_distribution()) at_most(e);
}

}  // namespace

Explanation explain(const DNDarray& x, const DistIndex& key, const DNDarray& wide) {
  const IndexPlan checked = check_key(x, key);
  const DNDarray given = size_of(wide.dtype()) > size_of(x.dtype()) ? wide.astype(x.dtype()) : wide;
  Explanation e;
  if (const auto mask = lone_mask(x, key); mask && covers_split(x, *mask)) {
    IndexPlan plan = checked;
    plan.shape[plan.position] = -1;
    require_fit(given.shape(), plan);
    e = explain_mask(x, *mask, checked, trimmed(given, plan.shape.size()));
  } else {
    const Foreseen f = foreseen(x, key, true);
    IndexPlan plan = f.key.plan;
    plan.shape = f.said();
    require_fit(given.shape(), plan);
    const DNDarray value = trimmed(given, plan.shape.size());
    e = begin(x);
    explain_masks(e, f);
    explain_picks(e, x, key, checked, given);
    if (!x.split())
      explain_everywhere(e, x, f, value);
    else if (f.key.axes[to_index(*x.split())].meets == Meets::positions)
      explain_places(e, x, f, value);
    else
      explain_part(e, x, f, value);
  }
  e.shape = x.shape();
  e.distribution = x.distribution();
  return e;
}

}  // namespace tessera::dist
