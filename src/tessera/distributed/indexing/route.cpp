// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/indexing/route.hpp"

#include <algorithm>

#include "tessera/distributed/indexing/positions.hpp"
#include "tessera/distributed/wire/to_index.hpp"

namespace tessera::dist {
namespace {

// The only axis along which an array differs from entry to entry, with equal entries along all
// others; -1 when there are several.
i64 varying_axis(const Array& a) {
  i64 found = 0;
  bool seen = false;
  for (i64 k = 0; k < a.ndim(); ++k) {
    if (a.shape(k) == 1) continue;
    if (seen) return -1;
    found = k;
    seen = true;
  }
  return found;
}

void scalar_route(RoutePlan& plan, const DNDarray& x, const KeyAxis& axis) {
  plan.route = Route::scalar;
  plan.owner = x.part().owner(axis.value);
  plan.reason = cat("entry ", axis.value, " of the split axis belongs to rank ", plan.owner);
}

void slice_route(RoutePlan& plan, const DNDarray& x, const KeyAxis& axis) {
  const SliceRange& r = axis.range;
  const Partition& part = x.part();
  plan.axis = axis.result;
  if (r.step > 0) {
    const Partition kept = part.sliced(r);
    plan.distribution = {axis.result, kept};
    for (int q = 0; q < part.ranks(); ++q) {
      plan.begins.push_back(kept.begin(q));
      plan.ends.push_back(kept.end(q));
    }
    plan.reason = "each rank keeps what it holds";
    return;
  }
  plan.route = Route::descending_slice;
  plan.distribution = {axis.result, Partition::even(r.length, part.ranks())};
  for (int q = 0; q < part.ranks(); ++q) {  // entry j is start - j * |step|
    const i64 step = -r.step;
    const auto first_at_or_below = [&](i64 position) {
      return std::clamp<i64>(position >= r.start ? 0 : (r.start - position + step - 1) / step, 0,
                             r.length);
    };
    plan.begins.push_back(first_at_or_below(part.end(q) - 1));
    plan.ends.push_back(first_at_or_below(part.begin(q) - 1));
    if (part.count(q) == 0) plan.ends.back() = plan.begins.back();
  }
  plan.reason = "a negative step: intervals change hands, straight to their places";
}

void positions_route(RoutePlan& plan, const DNDarray& x, const NormalKey& key, i64 which) {
  const Shape& lead = key.plan.lead;
  const i64 first = key.plan.position;
  const int ranks = x.part().ranks();
  plan.array = which;
  plan.lead_axis = key.result_axes[which];
  if (const DNDarray& distribution = key.distribution[to_index(which)]) {
    plan.distribution = {first + plan.lead_axis, distribution.part()};
    plan.route = Route::unordered;
    plan.requests = true;
    plan.reason = "the positions are distributed: their ranks ask the owners";
    return;
  }
  const Array& positions = key.plan.arrays[to_index(which)];
  const i64 missing = lead.size() - positions.ndim(), last = plan.lead_axis, n = lead[last];
  // One array entry per entry of the axis, in ascending order: the owners have runs of the result.
  const i64 varying = varying_axis(positions);
  const bool one_to_one = varying >= 0 && positions.size() == n && missing + varying == last;
  const auto in_order = [&] {
    return (!key.ascends.empty() && key.ascends[to_index(which)]) ||
           ascending({positions.host<i64>(), to_index(n)});
  };
  if (count_of(lead) > 0 && one_to_one && in_order()) {
    const i64* p = positions.host<i64>();
    std::vector<i64> counts;
    for (int q = 0; q < ranks; ++q) {
      plan.begins.push_back(std::lower_bound(p, p + n, x.part().begin(q)) - p);
      plan.ends.push_back(std::lower_bound(p, p + n, x.part().end(q)) - p);
      counts.push_back(plan.ends.back() - plan.begins.back());
    }
    plan.axis = first + last;
    plan.distribution = {plan.axis, Partition::of(counts)};
    plan.reason = "ascending positions: each rank answers from what it holds";
    return;
  }
  plan.route = Route::unordered;
  plan.distribution = {first + last, Partition::even(n, ranks)};
  plan.reason = "positions in any order, known to all: only rows travel";
}

// Dense positions, relative to the first one of a part.
Array counted_from(const Array& positions, i64 first) {
  if (first == 0) return positions;
  const Array out(Storage::allocate(cpu, positions.bytes()), Layout::contiguous(positions.shape()),
                  DType::i64);
  const i64* from = positions.host<i64>();
  i64* to = out.host<i64>();
  const i64 n = positions.size();
  for (i64 j = 0; j < n; ++j) to[j] = from[j] - first;
  return out;
}

}  // namespace

bool keeps_distribution(const DNDarray& x, const NormalKey& key) {
  const KeyAxis& axis = key.axes[to_index(*x.split())];
  if (axis.meets != Meets::positions) return false;
  const DNDarray& distribution = key.distribution[to_index(axis.array)];
  if (!distribution) return false;
  const Shape& lead = key.plan.lead;
  return distribution.shape(*distribution.split()) ==
         lead[lead.size() - distribution.ndim() + *distribution.split()];
}

std::optional<i64> split_of(const DNDarray& x, const NormalKey& key) {
  const auto landing = [&](i64 array) { return key.plan.position + key.result_axes[array]; };
  if (!x.split())
    return key.leading_index < 0 ? std::nullopt : std::optional(landing(key.leading_index));
  const KeyAxis& axis = key.axes[to_index(*x.split())];
  if (axis.meets == Meets::integer) return {};
  return axis.meets == Meets::slice ? axis.result : landing(axis.array);
}

RoutePlan route_of(const DNDarray& x, const NormalKey& key) {
  RoutePlan plan;
  plan.shape = key.plan.shape;
  const KeyAxis& axis = key.axes[to_index(*x.split())];
  switch (axis.meets) {
    case Meets::integer: scalar_route(plan, x, axis); break;
    case Meets::slice: slice_route(plan, x, axis); break;
    default: positions_route(plan, x, key, axis.array);
  }
  return plan;
}

Boxes boxes_of_own(const RoutePlan& plan) {
  Boxes boxes;
  for (std::size_t q = 0; q < plan.begins.size(); ++q)
    boxes.push_back({plan.axis, plan.begins[q], plan.ends[q]});
  return boxes;
}

Partition part_of_leading_index(const NormalKey& key, int ranks) {
  const i64 axis = key.result_axes[key.leading_index], n = key.plan.lead[axis];
  for (std::size_t a = to_index(key.leading_index); a < key.distribution.size(); ++a) {
    const DNDarray& distribution = key.distribution[a];
    if (distribution && key.result_axes[static_cast<i64>(a)] == axis &&
        distribution.shape(*distribution.split()) == n)
      return distribution.part();
  }
  return Partition::even(n, ranks);
}

SliceRange own_range(const DNDarray& x, const NormalKey& key, const RoutePlan& plan, int rank) {
  SliceRange range = key.axes[to_index(*x.split())].range;
  if (range.step > 0) return x.part().local_range(range, rank);
  const i64 first = plan.begins[to_index(rank)];
  range.length = plan.ends[to_index(rank)] - first;
  range.start = range.length > 0 ? range.start + first * range.step - x.part().begin(rank) : 0;
  return range;
}

std::vector<Array> own_positions(const DNDarray& x, const NormalKey& key, const RoutePlan& plan) {
  const int me = x.comm().rank();
  std::vector<Array> arrays;
  for (std::size_t a = 0; a < key.plan.arrays.size(); ++a) {
    Array p = cut_positions(key.plan.arrays[a], key.plan.lead, plan.lead_axis,
                            plan.begins[to_index(me)], plan.ends[to_index(me)]);
    if (static_cast<i64>(a) == plan.array) p = counted_from(p.contiguous(), x.part().begin(me));
    arrays.push_back(p);
  }
  return arrays;
}

i64 own_axis(const DNDarray& value, i64 axis, i64 ndim) {
  const i64 own = axis - (ndim - value.ndim());
  return own >= 0 && value.shape(own) != 1 ? own : -1;
}

Boxes boxes_of_target(const DNDarray& value, const RoutePlan& plan) {
  const i64 own = own_axis(value, plan.axis, plan.shape.size());
  Boxes to;
  for (std::size_t q = 0; q < plan.begins.size(); ++q) {
    if (own >= 0)
      to.push_back({own, plan.begins[q], plan.ends[q]});
    else
      to.push_back(plan.ends[q] > plan.begins[q] ? Box{} : Box{0, 0, 0});
  }
  return to;
}

std::optional<SoleSlice> sole_slice(const DNDarray& x, const DistIndex& key) {
  const auto items = key.index().items();
  if (items.size() != 1 || items[0].kind != Index::Kind::slice || key.index().force_copy() ||
      !x.split())
    return {};
  const SliceRange all = resolve_slice(items[0].slice, x.shape(0));
  if (all.step < 0) return {};
  const bool cut = *x.split() == 0;
  const SliceRange own = cut ? x.part().local_range(all, x.comm().rank()) : all;
  const Array& mine = x.resident();
  return SoleSlice{
      mine.view(mine.layout().slice(0, own.start, own.length, own.length > 1 ? own.step : 1)),
      x.whole().slice(0, all.start, all.length, all.length > 1 ? all.step : 1),
      cut ? Distribution{0, x.part().sliced(all)} : x.distribution()};
}

}  // namespace tessera::dist
