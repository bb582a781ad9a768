// SPDX-License-Identifier: Apache-2.0
#include "tessera/dist/explain.hpp"

#include <algorithm>

#include "tessera/dist/entries.hpp"
#include "tessera/dist/entry_rows.hpp"
#include "tessera/dist/index_route.hpp"
#include "tessera/dist/mask.hpp"
#include "tessera/dist/relayout.hpp"
#include "tessera/dist/value_rows.hpp"

namespace tessera {
namespace {

std::size_t at(i64 i) { return static_cast<std::size_t>(i); }

void send(Explanation& e, int rank, i64 messages, i64 bytes, bool index = false) {
  if (bytes == 0) return;
  e.messages += messages;
  e.sent[at(rank)] += bytes;
  (index ? e.index_bytes : e.data_bytes) += bytes;
}

void add(Explanation& e, const Movement& m) {
  e.messages += m.messages;
  e.data_bytes += m.bytes;
  for (std::size_t r = 0; r < m.sent.size(); ++r) e.sent[r] += m.sent[r];
}

// Every rank tells all others the same number of bytes.
void tell_all(Explanation& e, i64 bytes) {
  const int p = static_cast<int>(e.sent.size());
  for (int r = 0; r < p; ++r) send(e, r, p - 1, bytes * (p - 1), true);
}

// What gathering a distributed array of a key sends; masks travel as bits.
void gather_key(Explanation& e, const DNDarray& a) {
  const int p = a.comm().size();
  for (int r = 0; r < p; ++r) {
    const i64 n = count_of(a.lshape(r));
    const i64 bytes = a.dtype() == DType::b1 ? (n + 7) / 8 : n * size_of(a.dtype());
    send(e, r, p - 1, bytes * (p - 1), true);
  }
}

// Rows that owners give to the ranks of the entries, or, reversed, take from them.
void exchange_known(Explanation& e, const EntryRows& rows, const Array& ids,
                    const RoutePlan& plan) {
  const Partition& part = rows.array().part();
  for (int r = 0; r < part.ranks(); ++r) {
    const Array theirs =
        ids.slice(plan.lead_axis, plan.spread.part.begin(r), plan.spread.part.end(r)).contiguous();
    const Distinct d = distinct({theirs.host<i64>(), at(theirs.size())});
    const std::vector<i64> bounds = owner_bounds(d.ids, part, rows.ids_per_entry());
    for (int q = 0; q < part.ranks(); ++q)
      if (q != r) send(e, q, 1, (bounds[at(q) + 1] - bounds[at(q)]) * rows.row_bytes());
  }
}

// Bounds where only the ranks of the entries know what they ask.
void exchange_asked(Explanation& e, const EntryRows& rows, const RoutePlan& plan, const Shape& lead,
                    bool rows_come_back, i64 per_place) {
  const Partition &part = rows.array().part(), &entries = plan.spread.part;
  const int p = part.ranks();
  tell_all(e, 8);
  if (p == 1) return;
  e.exact = false;
  const i64 per_entry = count_of(lead) / std::max<i64>(1, lead[plan.lead_axis]);
  for (int r = 0; r < p; ++r) {
    for (int q = 0; q < p; ++q) {
      if (q == r) continue;
      const i64 places = std::min(entries.count(r) * per_entry, rows.radix(q));
      const i64 bytes = std::min(places * bytes_of_number(rows.radix(q)), (rows.radix(q) + 7) / 8);
      send(e, r, 1, bytes, true);
      if (rows_come_back)
        send(e, q, 1, places * rows.row_bytes());
      else
        send(e, r, 0, places * per_place);
    }
  }
}

Explanation begin(const DNDarray& x) {
  Explanation e;
  e.sent.assign(at(x.comm().size()), 0);
  return e;
}

Explanation explain_mask(const DNDarray& x, const LoneMask& mask, const IndexPlan& checked) {
  Explanation e = begin(x);
  const int p = x.comm().size();
  e.route = Route::distributed_mask;
  e.shape = checked.shape;
  e.shape[checked.position] = -1;
  e.spread = {checked.position, {}};
  const Spread as{*x.split() - mask.first, x.part()};
  const bool moved = !(mask.mask.spread() == as);
  if (moved) {
    const Movement m =
        movement(mask.mask.shape(), 1, boxes_of(mask.mask.shape(), mask.mask.spread(), p),
                 boxes_of(mask.mask.shape(), as, p));
    e.messages += m.messages;
    e.exact = p == 1;
    for (int r = 0; r < p; ++r) send(e, r, 0, (m.sent[at(r)] + 7) / 8, true);
  }
  if (*x.split() == mask.first) {
    tell_all(e, 8);
    e.reason = moved ? "the mask is dealt out anew, as bits; elements stay where they are"
                     : "the mask lies as the array does; elements stay where they are";
    return e;
  }
  i64 rows = 1, row = 1;
  for (i64 a = mask.first; a < *x.split(); ++a) rows *= x.shape(a);
  tell_all(e, (rows + 7) / 8);
  for (i64 a = 0; a < x.ndim(); ++a) row *= a == *x.split() ? 1 : x.shape(a);
  e.exact = p == 1;
  for (int r = 0; r < p; ++r) send(e, r, p - 1, x.part().count(r) * row * size_of(x.dtype()));
  e.reason = "elements of the ranks interleave: counts by row tell where each goes";
  return e;
}

// Route and key with no message: nullopt where the values of a distributed array decide.
struct Known {
  std::optional<NormalKey> key;
  bool masks = false;  // distributed ones among other arrays
};
Known known_key(const DNDarray& x, const DistIndex& key) {
  Known k;
  for (std::size_t a = 0; a < key.spread().size(); ++a)
    k.masks = k.masks || (key.spread()[a] && key.spread()[a].dtype() == DType::b1);
  if (!k.masks) k.key = normalize(x, key);
  return k;
}

Explanation unknown(const DNDarray& x, const DistIndex& key, const IndexPlan& checked) {
  Explanation e = begin(x);
  e.route = Route::unordered;
  e.shape = checked.shape;
  e.exact = x.comm().alone();
  e.reason = "a distributed mask beside other arrays: its positions decide";
  for (const DNDarray& a : key.spread())
    if (a) gather_key(e, a);
  return e;
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
  if (spread.split) where = cat("split along axis ", *spread.split);
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
  const Known known = known_key(x, key);
  if (!known.key) return unknown(x, key, checked);
  const NormalKey& k = *known.key;
  Explanation e = begin(x);
  e.shape = k.plan.shape;
  const int p = x.comm().size();
  if (!x.split()) {
    e.reason = "every rank has the whole array";
    if (k.any_spread()) tell_all(e, 1);
    for (const DNDarray& a : k.spread)
      if (a && !e.spread.split)
        e.spread = {k.plan.position + k.plan.lead.size() - a.ndim() + *a.split(), a.part()};
    return e;
  }
  const bool keeps = keeps_spread(x, k);
  if (!keeps)
    for (const DNDarray& a : k.spread)
      if (a) gather_key(e, a);
  const KeyAxis& axis = k.axes[at(*x.split())];
  if (!keeps && axis.meets == Meets::positions && k.spread[at(axis.array)]) {
    e.route = Route::unordered;
    e.exact = p == 1;
    e.reason = "the positions are distributed, but repeat along that axis: all ranks get them";
    return e;
  }
  const RoutePlan plan = route_of(x, k);
  e.route = plan.route;
  e.reason = plan.reason;
  e.spread = plan.spread;
  const bool masks = std::any_of(key.index().items().begin(), key.index().items().end(),
                                 [](const Index::Item& i) { return i.kind == Index::Kind::mask; });
  if (masks && e.route == Route::local) e.route = Route::local_mask;
  const i64 bytes = count_of(plan.shape) * size_of(x.dtype());
  switch (plan.route) {
    case Route::scalar: send(e, plan.owner, p - 1, bytes * (p - 1)); break;
    case Route::descending_slice: {
      Boxes from;
      for (int q = 0; q < p; ++q) from.push_back({plan.axis, plan.begins[at(q)], plan.ends[at(q)]});
      add(e, movement(plan.shape, size_of(x.dtype()), from, boxes_of(plan.shape, plan.spread, p)));
      break;
    }
    case Route::unordered: {
      const EntryRows rows(x, k);
      if (plan.ask)
        exchange_asked(e, rows, plan, k.plan.lead, true, 0);
      else
        exchange_known(e, rows, rows.ids(k.plan.arrays, k.plan.lead), plan);
      break;
    }
    default: break;
  }
  return e;
}

}  // namespace tessera
