// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/indexing/masks/sole_mask.hpp"

#include <algorithm>
#include <array>

#include "tessera/distributed/indexing/masks/mask_owners.hpp"
#include "tessera/distributed/indexing/route.hpp"
#include "tessera/distributed/indexing/rows/value_rows.hpp"
#include "tessera/distributed/wire/to_index.hpp"
#include "tessera/kernels/gather/fit.hpp"
#include "tessera/kernels/reduce/reduce.hpp"

namespace tessera::dist {
namespace {

using Order = std::shared_ptr<const MaskOrder>;

// The key with a local array instead of its mask.
Index with_mask(const DistIndex& key, const Array& mask) {
  Index local;
  for (const Index::Item& item : key.index().items())
    if (!add_plain(local, item)) local.add(mask);
  return local;
}

// Elements that change hands: from the ranks that pick them to those in whose part they are, or
// back.
void count_exchanged(Transfers& t, const MaskRows& rows, i64 bytes, bool back) {
  Transfer& sent = t.pairs(Content::rows);
  for (int r = 0; r < t.ranks(); ++r) {
    const std::vector<i64> bounds = rows.bounds(r);
    for (int q = 0; q < t.ranks(); ++q)
      if (q != r)
        sent.send(back ? q : r, 1, (bounds[to_index(q) + 1] - bounds[to_index(q)]) * bytes);
  }
}

std::string reason_of(const MaskUse& use, bool in_place, const Order& order) {
  if (!in_place)
    return order ? "elements of the ranks interleave: the mask remembers where each goes"
                 : "elements of the ranks interleave: counts by row tell where each goes";
  const std::string first = !use.bits_known()  ? "the mask is redistributed, as bits"
                            : use.lies_alike() ? "the mask lies as the array does"
                                               : "the mask remembers how it was redistributed";
  return first + (order ? " and remembers how many each rank picks" : "") +
         "; elements stay where they are";
}

}  // namespace

SoleMaskRead::SoleMaskRead(const DNDarray& x, const SoleMask& mask, const IndexPlan& checked)
    : x_(x), mask_(mask), checked_(checked), use_(x, mask), in_place_(*x.split() == mask.first) {}

void SoleMaskRead::count(ExchangePlan& plan) const {
  const i64 axis = checked_.position;
  const Order order = use_.known_order(false);
  Transfers& t = plan.transfers;
  plan.route = Route::distributed_mask;
  plan.reason = reason_of(use_, in_place_, order);
  plan.shape = checked_.shape;
  plan.shape[axis] = order ? order->total() : -1;
  plan.distribution = {axis, {}};
  if (order)
    plan.distribution.part =
        in_place_ ? Partition::of(order->counts()) : Partition::even(order->total(), t.ranks());
  use_.count_bits(t);
  use_.count_order(t);
  if (in_place_ || t.ranks() == 1) return;
  i64 row = size_of(x_.dtype());
  for (i64 a = 0; a < checked_.shape.size(); ++a) row *= a == axis ? 1 : checked_.shape[a];
  if (const auto rows = order ? use_.known_rows(order, plan.distribution.part) : nullptr)
    return count_exchanged(t, *rows, row, false);
  use_.count_picked(t);
  std::vector<i64> most = x_.part().counts();
  for (i64& n : most) n *= mask_.mask.size() / std::max<i64>(1, x_.part().size());
  if (order) most = order->counts();
  Transfer& sent = t.pairs(Content::rows, false);
  for (int r = 0; r < t.ranks(); ++r) sent.send(r, t.ranks() - 1, most[to_index(r)] * row);
}

DNDarray SoleMaskRead::run(const DistIndex& key) {
  const Array local_mask = use_.bits().to(x_.device());
  const Array local = x_.resident()[with_mask(key, local_mask)];
  const i64 axis = checked_.position;
  const Order order = use_.order([&] {
    return in_place_ ? std::vector<i64>{local.shape(axis)} : picked_by_row(x_, mask_, local_mask);
  });
  Shape shape = checked_.shape;
  shape[axis] = order->total();
  if (in_place_) return DNDarray(local, shape, {axis, Partition::of(order->counts())}, x_.comm());
  const Partition even = Partition::even(order->total(), x_.comm().size());
  Shape to_front{axis}, back;
  for (i64 a = 0; a < local.ndim(); ++a)
    if (a != axis) to_front.push_back(a);
  for (i64 a = 0; a < local.ndim(); ++a) back.push_back(a < axis ? a + 1 : a == axis ? 0 : a);
  const Array ordered = put_in_order(local.permute(to_front), *use_.rows(order, even), x_.comm());
  return DNDarray(ordered.permute(back), shape, {axis, even}, x_.comm());
}

SoleMaskWrite::SoleMaskWrite(const DNDarray& x, const SoleMask& mask, const IndexPlan& checked,
                             const DNDarray& value)
    : x_(x),
      mask_(mask),
      checked_(checked),
      given_(value),
      value_(trimmed(value, checked.shape.size())),
      nothing_(picks_nothing(checked)),
      use_(x, mask) {
  const bool differs = own_axis(value_, checked.position, checked.shape.size()) >= 0;
  // What does not fit is told once the elements are counted, with their number.
  if (!differs && fits(value.shape(), checked.shape))
    values_ = nothing_ ? Values::none : Values::same;
  else if (*x.split() == mask.first)
    values_ = Values::in_place;
  else
    values_ = value_.split() ? Values::in_order : Values::owned;
}

Distribution SoleMaskWrite::in_parts() const {
  if (value_.split() == own()) return value_.distribution();
  return {own(), Partition::even(value_.shape(own()), value_.comm().size())};
}

void SoleMaskWrite::count(ExchangePlan& plan) const {
  Transfers& t = plan.transfers;
  plan.route = Route::distributed_mask;
  if (values_ == Values::none) {
    plan.reason = "no element is written";
    return;
  }
  use_.count_bits(t);
  if (values_ == Values::same) {
    plan.reason = "one value for all: each rank writes where its part of the mask is true";
    return count_where_needed(t, value_);
  }
  const Order order = use_.known_order(each());
  plan.reason = reason_of(use_, values_ == Values::in_place, order);
  use_.count_order(t, each());
  if (!order) t.at_most();
  if (!order || !(nothing_ || order->total() == 0)) count_values(t, order);
}

void SoleMaskWrite::count_values(Transfers& t, const Order& order) const {
  const i64 item = size_of(value_.dtype()), n = value_.shape(own());
  const bool fits = order && order->total() == n;
  const auto into = [&](const Distribution& to) {
    t.add(Content::rows, Relayout(value_, to).movement(item));
  };
  if (values_ != Values::in_order)
    return fits ? into({own(), Partition::of(order->counts())})
                : t.gather(Content::rows, value_, item, false);
  into(in_parts());
  const i64 row = value_.size() / std::max<i64>(1, n) * item;
  if (const auto rows = fits ? use_.known_rows(order, in_parts().part) : nullptr)
    return count_exchanged(t, *rows, row, true);
  use_.count_picked(t);
  Transfer& sent = t.pairs(Content::rows, false);
  for (int r = 0; r < t.ranks(); ++r) sent.send(r, t.ranks() - 1, in_parts().part.count(r) * row);
}

// This rank's, for the elements that it picks (collective).
Array SoleMaskWrite::values(const Order& order) {
  const Distribution owned{own(), Partition::of(order->counts())};
  if (values_ == Values::in_place) return value_.distributed_as(owned).local();
  if (values_ == Values::owned)
    return by_owners(value_, own(), *order).distributed_as(owned).local();
  // Along another axis every rank would have a slab.
  const DNDarray parts = value_.distributed_as(in_parts());
  return in_order(parts, own(), use_.rows(order, parts.part())->shares());
}

void SoleMaskWrite::run(const DistIndex& key) {
  if (values_ == Values::none) return;
  Array local_mask = use_.bits().to(x_.device());
  if (may_share_memory(local_mask, x_.resident())) local_mask = local_mask.copy();
  const auto write = [&](const Array& mine) {
    const bool shared = may_share_memory(mine, x_.resident());
    x_.resident().assign(with_mask(key, local_mask), shared ? mine.copy() : mine);
  };
  if (values_ == Values::same) {
    const bool needs = !worth_a_flag(value_) || reduce(ReduceOp::any, local_mask).item().as<bool>();
    const Array all = value_where_needed(value_, needs);
    if (needs) write(all);
    return;
  }
  const Order order = use_.order([&] { return picked_by_row(x_, mask_, local_mask); }, each());
  IndexPlan plan = checked_;
  plan.shape[plan.position] = order->total();
  const bool whole = mask_.mask.ndim() == x_.ndim() && key.index().items().size() == 1;
  require<ShapeError>(!whole || value_.size() == order->total(),
                      "NumPy boolean array indexing assignment cannot assign ", value_.size(),
                      " input values to the ", order->total(),
                      " output values where the mask is true");
  require_fit(given_.shape(), plan);
  if (!nothing_ && order->total() > 0) write(values(order));
}

}  // namespace tessera::dist
