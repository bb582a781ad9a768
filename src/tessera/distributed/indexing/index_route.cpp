// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/indexing/index_route.hpp"

#include "tessera/distributed/indexing/index_positions.hpp"
#include "tessera/distributed/wire/to_index.hpp"

#include <algorithm>

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
  plan.lead_axis = key.lands[which];
  if (const DNDarray& distribution = key.distribution[to_index(which)]) {
    plan.distribution = {first + plan.lead_axis, distribution.part()};
    plan.route = Route::unordered;
    plan.ask = true;
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
  const auto landing = [&](i64 array) { return key.plan.position + key.lands[array]; };
  if (!x.split()) return key.guide < 0 ? std::nullopt : std::optional(landing(key.guide));
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

Array cut_positions(const Array& positions, const Shape& lead, i64 lead_axis, i64 begin, i64 end) {
  const i64 axis = lead_axis - (lead.size() - positions.ndim());
  if (axis < 0 || (positions.shape(axis) == 1 && lead[lead_axis] != 1)) return positions;
  return positions.slice(axis, begin, end);
}

}  // namespace tessera::dist
