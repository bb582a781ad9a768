// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/indexing/explain.hpp"

#include <algorithm>

#include "tessera/distributed/indexing/entries.hpp"
#include "tessera/distributed/indexing/entry_rows.hpp"
#include "tessera/distributed/indexing/explain_sum.hpp"
#include "tessera/distributed/indexing/index_positions.hpp"
#include "tessera/distributed/indexing/index_winners.hpp"
#include "tessera/distributed/indexing/masks/mask.hpp"
#include "tessera/distributed/wire/to_index.hpp"

namespace tessera::dist {
namespace {

// Rows that owners give to the ranks of the entries.
void exchange_known(Explanation& e, const EntryRows& rows, const Array& ids,
                    const RoutePlan& plan) {
  const Partition& part = rows.array().part();
  for (int r = 0; r < part.ranks(); ++r) {
    const Array theirs =
        ids.slice(plan.lead_axis, plan.distribution.part.begin(r), plan.distribution.part.end(r))
            .contiguous();
    const Distinct d = distinct({theirs.host<i64>(), to_index(theirs.size())});
    const std::vector<i64> bounds = owner_bounds(d.ids, part, rows.ids_per_entry());
    for (int q = 0; q < part.ranks(); ++q) {
      const i64 count = bounds[to_index(q) + 1] - bounds[to_index(q)];
      if (q != r) send(e, q, row_messages(rows, count), count * rows.row_bytes());
    }
  }
}

// Every rank has all of x: the first distributed array of the key lends its distributed.
void explain_whole(Explanation& e, const DNDarray& x, const Foreseen& f) {
  const NormalKey& k = f.key;
  const int p = x.comm().size();
  e.reason = "every rank has the whole array";
  if (x.owner() && k.guide < 0) {  // a handle of its owner's: what is read travels then
    e.route = Route::scalar;
    e.reason = cat("all of the array belongs to rank ", *x.owner());
    return send(e, *x.owner(), p - 1, count_of(f.shape) * size_of(x.dtype()) * (p - 1));
  }
  if (k.guide < 0) return;
  if (x.owner() && !x.known()) send(e, *x.owner(), p - 1, x.size() * size_of(x.dtype()) * (p - 1));
  if (f.masks()) {
    explain_masks(e, f);
    gather_others(e, x, k, -1);
    if (!all_ranges_known(k)) tell_all(e, 1);
    return at_most(e);
  }
  const Partition part = part_of_guide(k, p);
  const Shape& lead = k.plan.lead;
  e.distribution.part = part;
  for (std::size_t a = 0; count_of(lead) > 0 && a < k.distribution.size(); ++a) {
    const DNDarray& distribution = k.distribution[a];
    if (!distribution) continue;
    const i64 size = x.shape(k.plan.axes[static_cast<i64>(a)]);
    const i64 own = k.lands[k.guide] - (lead.size() - distribution.ndim());
    if (own >= 0 && distribution.shape(own) == part.size())
      add(e,
          movement(distribution.shape(), size_of(type_of_positions(size)),
                   boxes_of(distribution.shape(), distribution.distribution(), p),
                   boxes_of(distribution.shape(), {own, part}, p)),
          true);
    else
      gather_positions(e, distribution, size);
  }
  if (count_of(lead) > 0 && !all_ranges_known(k)) tell_all(e, 1);
}

// An integer or a slice on the split axis; all ranks get the arrays of the key.
void explain_basic(Explanation& e, const DNDarray& x, const Foreseen& f) {
  const RoutePlan plan = route_of(x, f.key);
  const int p = x.comm().size();
  e.route = plan.route;
  e.reason = plan.reason;
  e.distribution = plan.distribution;
  explain_gathered_keys(e, x, f.key);
  const i64 item = size_of(x.dtype());
  if (plan.route == Route::scalar) {
    send(e, plan.owner, p - 1, count_of(f.shape) * item * (p - 1));
  } else if (plan.route == Route::descending_slice) {
    const bool known = !f.masks() && !f.key.any_distribution();
    if (!known) at_most(e);
    const RoutePlan way = known ? route_of(x, each_once(x, f.key).key) : plan;
    const Shape& shape = known ? way.shape : f.shape;
    add(e, movement(shape, item, boxes_of_own(way), boxes_of(shape, way.distribution, p)));
  }
  if (f.masks() && (plan.route != Route::local || f.key.any_distribution())) at_most(e);
}

// Positions on the split axis that nobody foresees: what a mask picks, or arrays that all ranks
// have to get first. Bounds.
void explain_unforeseen(Explanation& e, const DNDarray& x, const Foreseen& f) {
  e.route = Route::unordered;
  e.reason = f.masks() ? "a distributed mask beside other arrays: its positions decide"
                       : "the positions are distributed, but not along the split: all ranks get "
                         "them";
  explain_gathered_keys(e, x, f.key);
  exchange_asked(e, x, f.key, {all_entries(x, f.lead), true, 0});
}

void explain_positions(Explanation& e, const DNDarray& x, const Foreseen& f) {
  const NormalKey& k = f.key;
  const bool keeps = keeps_distribution(x, k);
  const i64 array = k.axes[to_index(*x.split())].array;
  if (f.masks() || (!keeps && k.distribution[to_index(array)])) return explain_unforeseen(e, x, f);
  const RoutePlan plan = route_of(x, k);
  if (!keeps && k.any_distribution() && plan.route == Route::unordered)
    return explain_unforeseen(e, x, f);
  e.route = plan.route;
  e.reason = plan.reason;
  e.distribution = plan.distribution;
  if (!keeps) explain_gathered_keys(e, x, k);
  if (plan.route != Route::unordered) return;
  if (plan.ask) {
    exchange_asked(e, x, k, {entries_by_rank(k, plan), true, 0});
    gather_others(e, x, k, plan.array);
  } else {
    const EntryRows rows(x, k);
    exchange_known(e, rows, rows.ids(k.plan.arrays, k.plan.lead), plan);
  }
}

}  // namespace

std::string_view name(Route route) {
  switch (route) {
    case Route::scalar: return "scalar";
    case Route::distributed_mask: return "distributed mask";
    case Route::local_mask: return "local mask";
    case Route::local: return "local";
    case Route::descending_slice: return "descending slice";
    default: return "unordered";
  }
}

std::string Explanation::str() const {
  std::string where = "whole on every rank";
  if (distribution.split) where = cat("split along axis ", *distribution.split);
  std::string size = to_text(shape);
  if (std::find(shape.begin(), shape.end(), -1) != shape.end())
    size += " (-1: as many as are true)";
  return cat(name(route), ": ", reason, "; result ", size, ", ", where, "; ",
             exact ? "" : "at most ", messages, messages == 1 ? " message, " : " messages, ",
             index_bytes + data_bytes, " bytes",
             index_bytes > 0 ? cat(" (", index_bytes, " of them about positions)") : "");
}

Explanation explain(const DNDarray& x, const DistIndex& key) {
  const IndexPlan checked = check_key(x, key);
  if (const auto mask = lone_mask(x, key); mask && covers_split(x, *mask))
    return explain_mask(x, *mask, checked);
  const Foreseen f = foreseen(x, key);
  Explanation e = begin(x);
  e.shape = f.said();
  e.distribution.split = split_of(x, f.key);
  if (!x.split()) {
    explain_whole(e, x, f);
    return e;
  }
  explain_masks(e, f);
  if (f.key.axes[to_index(*x.split())].meets == Meets::positions)
    explain_positions(e, x, f);
  else
    explain_basic(e, x, f);
  const auto items = key.index().items();
  const bool masks = std::any_of(items.begin(), items.end(),
                                 [](const Index::Item& i) { return i.kind == Index::Kind::mask; });
  if (masks && e.route == Route::local) e.route = Route::local_mask;
  return e;
}

}  // namespace tessera::dist
