// SPDX-License-Identifier: Apache-2.0
#include "tessera/dist/explain.hpp"

#include <algorithm>

#include "tessera/dist/entries.hpp"
#include "tessera/dist/entry_push.hpp"
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

// The other distributed arrays of a key are dealt out as its first: at most all of them travel.
void gather_others(Explanation& e, const NormalKey& k, i64 first) {
  for (std::size_t a = 0; a < k.spread.size(); ++a)
    if (k.spread[a] && static_cast<i64>(a) != first) gather_key(e, k.spread[a]);
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

// Distributed positions that all ranks have to get, then rows move as for positions that all know.
// Bounds.
void explain_gathered(Explanation& e, const DNDarray& x, const NormalKey& k, i64 which) {
  const Array& positions = k.plan.arrays[at(which)];
  const Shape& lead = k.plan.lead;
  const i64 missing = lead.size() - positions.ndim();
  i64 last = 0;
  for (i64 a = 0; a < positions.ndim(); ++a)
    if (positions.shape(a) > 1) last = missing + a;
  const int p = x.comm().size();
  e.route = Route::unordered;
  e.exact = p == 1;
  e.reason = "the positions are distributed, but not along the split: all ranks get them";
  e.spread = {k.plan.position + last, Partition::even(lead[last], p)};
  const EntryRows rows(x, k);
  for (int r = 0; r < p; ++r)
    for (int q = 0; q < p; ++q)
      if (q != r) send(e, q, 1, std::min(count_of(lead), rows.radix(q)) * rows.row_bytes());
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
    for (int r = 0; r < p; ++r)  // each message is whole bytes
      send(e, r, 0, m.sent[at(r)] > 0 ? m.sent[at(r)] / 8 + p : 0, true);
  }
  if (*x.split() == mask.first) {
    tell_all(e, 8);
    e.reason = moved ? "the mask is dealt out anew, as bits; elements stay where they are"
                     : "the mask lies as the array does; elements stay where they are";
    return e;
  }
  e.reason = "elements of the ranks interleave: counts by row tell where each goes";
  if (p == 1) return e;
  i64 rows = 1, row = 1;
  for (i64 a = mask.first; a < *x.split(); ++a) rows *= x.shape(a);
  i64 widest = 0;
  for (const i64 n : x.part().counts()) widest = std::max(widest, n);
  for (i64 a = *x.split() + 1; a < mask.first + mask.mask.ndim(); ++a) widest *= x.shape(a);
  tell_all(e, bytes_of_counts(rows, widest));
  for (i64 a = 0; a < x.ndim(); ++a) row *= a == *x.split() ? 1 : x.shape(a);
  e.exact = false;
  for (int r = 0; r < p; ++r) send(e, r, p - 1, x.part().count(r) * row * size_of(x.dtype()));
  return e;
}

// Every rank has all of x: the first distributed array of the key that can lends its spread.
void explain_whole(Explanation& e, const NormalKey& k) {
  e.reason = "every rank has the whole array";
  for (const DNDarray& a : k.spread) {
    if (!a || e.spread.split) continue;
    const i64 along = k.plan.lead.size() - a.ndim() + *a.split();
    if (a.shape(*a.split()) == k.plan.lead[along]) e.spread = {k.plan.position + along, a.part()};
  }
  if (!k.any_spread()) return;
  if (e.spread.split && !all_ranges_known(k)) tell_all(e, 1);
  const bool several = k.plan.arrays.size() > 1;  // they are dealt out alike first
  for (const DNDarray& a : k.spread)
    if (a && (several || !e.spread.split)) gather_key(e, a);
  e.exact = e.sent.size() == 1 || !several || !e.spread.split;
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
  for (i64 a = 0; a < checked.lead.size(); ++a) e.shape[checked.position + a] = -1;
  e.foreseen = false;
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
  if (!foreseen) return cat(name(route), ": ", reason, "; what it sends is known when it is read");
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
    explain_whole(e, k);
    return e;
  }
  const bool keeps = keeps_spread(x, k);
  if (!keeps)
    for (const DNDarray& a : k.spread)
      if (a) gather_key(e, a);
  const KeyAxis& axis = k.axes[at(*x.split())];
  if (!keeps && axis.meets == Meets::positions && k.spread[at(axis.array)]) {
    explain_gathered(e, x, k, axis.array);
    return e;
  }
  const RoutePlan plan = route_of(x, k);
  if (plan.route == Route::unordered && !keeps && k.any_spread()) {
    explain_gathered(e, x, k, axis.array);
    return e;
  }
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
      if (plan.ask) {
        exchange_asked(e, rows, plan, k.plan.lead, true, 0);
        gather_others(e, k, plan.array);
      } else {
        exchange_known(e, rows, rows.ids(k.plan.arrays, k.plan.lead), plan);
      }
      break;
    }
    default: break;
  }
  return e;
}

namespace {

// Everybody gets all of the value.
void gather_value(Explanation& e, const DNDarray& value) {
  const int p = value.comm().size();
  const i64 item = size_of(value.dtype());
  if (value.split()) {
    add(e, movement(value.shape(), item, boxes_of(value.shape(), value.spread(), p),
                    boxes_of(value.shape(), {}, p)));
  } else if (!value.known()) {
    send(e, *value.owner(), p - 1, value.size() * item * (p - 1));
  }
}

Boxes boxes_of_value(const DNDarray& value) {
  const int p = value.comm().size();
  if (value.split()) return boxes_of(value.shape(), value.spread(), p);
  return value.known() ? Boxes(at(p)) : boxes_on(*value.owner(), p);
}

void explain_value(Explanation& e, const DNDarray& x, const NormalKey& k, const RoutePlan& plan,
                   const DNDarray& value) {
  const int p = x.comm().size();
  const i64 item = size_of(value.dtype()), ndim = plan.shape.size();
  switch (plan.route) {
    case Route::scalar:
      add(e, movement(value.shape(), item, boxes_of_value(value), boxes_on(plan.owner, p)));
      break;
    case Route::unordered: {
      const bool dealt = value.split() && value.shape(*value.split()) != 1;
      if (!plan.ask && dealt) {
        add(e, known_push(x, k, value));
      } else if (plan.ask) {
        const bool differs = varies(value.shape(), ndim, k.plan.position, k.plan.lead.size());
        const EntryRows rows(x, k);
        const i64 row = count_of(rows.rest()) * std::min(item, size_of(x.dtype())) +
                        bytes_of_number(count_of(k.plan.lead));
        exchange_asked(e, rows, plan, k.plan.lead, false, differs ? row : 0);
        gather_others(e, k, plan.array);
        if (value.split() || !value.known()) gather_value(e, value);  // at most
      } else {
        gather_value(e, value);
      }
      break;
    }
    default: {
      const i64 own = plan.axis - (ndim - value.ndim());
      if (own < 0 || value.shape(own) == 1) return gather_value(e, value);
      Boxes to;
      for (std::size_t q = 0; q < plan.begins.size(); ++q)
        to.push_back({own, plan.begins[q], plan.ends[q]});
      add(e, movement(value.shape(), item, boxes_of_value(value), to));
    }
  }
}

}  // namespace

Explanation explain(const DNDarray& x, const DistIndex& key, const DNDarray& wide) {
  const IndexPlan checked = check_key(x, key);
  const DNDarray given = size_of(wide.dtype()) > size_of(x.dtype()) ? wide.astype(x.dtype()) : wide;
  Explanation e;
  if (const auto mask = lone_mask(x, key); mask && covers_split(x, *mask)) {
    e = explain_mask(x, *mask, checked);
    const i64 own = checked.position - (checked.shape.size() - given.ndim());
    const bool differs = own >= 0 && given.shape(own) != 1, moves = given.split() || !given.known();
    const bool aligned = mask->mask.spread() == Spread{*x.split() - mask->first, x.part()};
    if (differs) {  // who has which: told, or asked for
      tell_all(e, 8);
      for (int r = 0; moves && !x.comm().alone() && r < x.comm().size(); ++r)
        send(e, r, 0, given.size() * 8, true);
    } else if (aligned) {
      e = begin(x);
      e.route = Route::distributed_mask;
      e.reason = "one value for all: each rank writes where its part of the mask is true";
    }
    if (moves) gather_value(e, given);
    e.exact = x.comm().alone() || (!differs && aligned);
  } else if (const Known known = known_key(x, key); known.key) {
    const DNDarray value = trimmed(given, known.key->plan.shape.size());
    e = begin(x);
    e.shape = known.key->plan.shape;
    const bool gathers = !x.split() || !keeps_spread(x, *known.key);
    if (gathers)
      for (const DNDarray& a : known.key->spread)
        if (a) gather_key(e, a);
    if (!x.split()) {
      e.reason = "every rank has the whole array";
      if (x.owner())
        add(e, movement(value.shape(), size_of(value.dtype()), boxes_of_value(value),
                        boxes_on(*x.owner(), x.comm().size())));
      else
        gather_value(e, value);
    } else if (gathers && known.key->any_spread() &&
               known.key->axes[at(*x.split())].meets == Meets::positions) {
      e.route = Route::unordered;
      e.exact = x.comm().alone();
      e.reason = "the positions are distributed and repeat: all ranks get them";
      gather_value(e, value);
    } else {
      const RoutePlan plan = route_of(x, *known.key);
      e.route = plan.route;
      e.reason = plan.reason;
      explain_value(e, x, *known.key, plan, value);
    }
  } else {
    e = unknown(x, key, checked);
    gather_value(e, given);
  }
  e.shape = x.shape();
  e.spread = x.spread();
  return e;
}

}  // namespace tessera
