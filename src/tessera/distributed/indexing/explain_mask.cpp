// SPDX-License-Identifier: Apache-2.0
// What x[mask] and x[mask] = value will send, for a mask that stands alone. What the mask remembers
// is not sent again, and tells how many elements every rank picks: then nothing is a bound.
#include <algorithm>

#include "tessera/distributed/indexing/explain_sum.hpp"
#include "tessera/distributed/indexing/masks/mask_known.hpp"
#include "tessera/distributed/indexing/value_rows.hpp"
#include "tessera/distributed/wire/to_index.hpp"

namespace tessera::dist {
namespace {

using Order = std::shared_ptr<const MaskOrder>;

void deal_bits(Explanation& e, const LoneMask& mask, const MaskUse& use) {
  if (!use.bits_known()) add(e, movement_of_bits(mask.mask, use.as()), true);
}

// Elements that change hands: from the ranks that pick them to those in whose part they are, or
// back.
void exchange_picked(Explanation& e, const MaskRows& rows, i64 bytes, bool back) {
  const int p = rows.to().ranks();
  for (int r = 0; r < p; ++r) {
    const std::vector<i64> cuts = rows.cuts(r);
    for (int q = 0; q < p; ++q)
      if (q != r) send(e, back ? q : r, 1, (cuts[to_index(q) + 1] - cuts[to_index(q)]) * bytes);
  }
}

Explanation begin_mask(const DNDarray& x, std::string reason) {
  Explanation e = begin(x);
  e.route = Route::distributed_mask;
  e.reason = std::move(reason);
  return e;
}

std::string reason_of(const DNDarray& x, const LoneMask& mask, const MaskUse& use,
                      const Order& order) {
  const std::string first = !use.bits_known()  ? "the mask is dealt out anew, as bits"
                            : use.lies_alike() ? "the mask lies as the array does"
                                               : "the mask remembers how it was dealt out anew";
  if (*x.split() != mask.first)
    return order ? "elements of the ranks interleave: the mask remembers where each goes"
                 : "elements of the ranks interleave: counts by row tell where each goes";
  return first + (order ? " and remembers how many each rank picks" : "") +
         "; elements stay where they are";
}

// The elements interleave: the value is dealt out along them, then each rank gets its own.
void explain_picked(Explanation& e, const DNDarray& x, const LoneMask& mask, const DNDarray& value,
                    i64 own, const MaskUse& use, const Order& order) {
  const int p = x.comm().size();
  const i64 item = size_of(value.dtype());
  const Distribution along{own, Partition::even(value.shape(own), p)};
  const Distribution& to = value.split() == own ? value.distribution() : along;
  add(e, movement(value.shape(), item, boxes_of(value.shape(), value.distribution(), p),
                  boxes_of(value.shape(), to, p)));
  const i64 row = value.size() / std::max<i64>(1, value.shape(own)) * item;
  const bool fits = order && order->total() == value.shape(own);
  if (const auto rows = fits ? use.known_rows(order, to.part) : nullptr)
    return exchange_picked(e, *rows, row, true);
  count_rows(e, x, mask, use.group(false));
  at_most(e);
  for (int r = 0; r < p && p > 1; ++r) send(e, r, p - 1, to.part.count(r) * row);
}

}  // namespace

void explain_where_needed(Explanation& e, const DNDarray& value) {
  if (!value.split() && value.known()) return;
  gather_value(e, value);
  if (!worth_telling(value)) return;
  tell_all(e, 1);
  at_most(e);
}

Explanation explain_mask(const DNDarray& x, const LoneMask& mask, const IndexPlan& checked) {
  const MaskUse use(x, mask);
  const Order order = use.known_order(false);
  const bool in_place = *x.split() == mask.first;
  const i64 axis = checked.position;
  const int p = x.comm().size();
  Explanation e = begin_mask(x, reason_of(x, mask, use, order));
  e.shape = checked.shape;
  e.shape[axis] = order ? order->total() : -1;
  e.distribution = {axis, {}};
  deal_bits(e, mask, use);
  if (!order) count_groups(e, x, mask, use.group(false));
  if (order)
    e.distribution.part =
        in_place ? Partition::of(order->counts()) : Partition::even(order->total(), p);
  if (in_place || p == 1) return e;
  i64 row = size_of(x.dtype());
  for (i64 a = 0; a < checked.shape.size(); ++a) row *= a == axis ? 1 : checked.shape[a];
  if (const auto rows = order ? use.known_rows(order, e.distribution.part) : nullptr) {
    exchange_picked(e, *rows, row, false);
    return e;
  }
  count_rows(e, x, mask, use.group(false));
  at_most(e);
  std::vector<i64> most = x.part().counts();
  for (i64& n : most) n *= mask.mask.size() / std::max<i64>(1, x.part().size());
  if (order) most = order->counts();
  for (int r = 0; r < p; ++r) send(e, r, p - 1, most[to_index(r)] * row);
  return e;
}

Explanation explain_mask(const DNDarray& x, const LoneMask& mask, const IndexPlan& checked,
                         const DNDarray& value) {
  const i64 own = checked.position - (checked.shape.size() - value.ndim());
  const bool differs = own >= 0 && value.shape(own) != 1, nothing = picks_nothing(checked);
  if (!differs && nothing) return begin_mask(x, "no element is written");
  const MaskUse use(x, mask);
  if (!differs) {
    Explanation e =
        begin_mask(x, "one value for all: each rank writes where its part of the mask is true");
    deal_bits(e, mask, use);
    explain_where_needed(e, value);
    return e;
  }
  const bool in_place = *x.split() == mask.first, each = !in_place && !value.split();
  const Order order = use.known_order(each);
  Explanation e = begin_mask(x, reason_of(x, mask, use, order));
  deal_bits(e, mask, use);
  if (!order) count_groups(e, x, mask, use.group(each));
  if (order && (nothing || order->total() == 0)) return e;
  if (!order) at_most(e);
  if (!in_place && value.split()) {
    explain_picked(e, x, mask, value, own, use, order);
  } else if (order && order->total() == value.shape(own)) {
    const int p = x.comm().size();
    add(e, movement(value.shape(), size_of(value.dtype()), boxes_of_value(value),
                    boxes_of(value.shape(), {own, Partition::of(order->counts())}, p)));
  } else {
    gather_value(e, value);
  }
  return e;
}

}  // namespace tessera::dist
