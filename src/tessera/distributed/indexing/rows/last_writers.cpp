// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/indexing/rows/last_writers.hpp"

#include <algorithm>
#include <numeric>

#include "tessera/distributed/indexing/rows/value_rows.hpp"
#include "tessera/distributed/wire/to_index.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/gather/gather.hpp"

namespace tessera::dist {
namespace {

// One number for the place of each entry.
Array places(const DNDarray& x, const NormalKey& key) {
  Array ids;
  i64 weight = 1;
  for (i64 a = key.plan.indexed() - 1; a >= 0; --a) {
    const Array part = ops::multiply(key.plan.arrays[to_index(a)], Value(weight));
    ids = ids ? ops::add(ids, part) : part;
    weight *= x.shape(key.plan.axes[a]);
  }
  return ids.broadcast_to(key.plan.lead).contiguous();
}

// The entries that stay, in NumPy's order.
std::vector<i64> staying(const DNDarray& x, const NormalKey& key) {
  const Array ids = places(x, key);
  const NumberList last = last_writers({ids.host<i64>(), to_index(ids.size())}).entry;
  std::vector<i64> entries(last.begin(), last.end());
  std::sort(entries.begin(), entries.end());
  return entries;
}

NormalKey key_of(const DNDarray& x, const NormalKey& key, std::span<const i64> entries) {
  const Array list = list_of(entries);
  std::vector<Array> positions;
  for (const Array& p : key.plan.arrays)
    positions.push_back(take(
        p.broadcast_to(key.plan.lead).contiguous().reshape({count_of(key.plan.lead)}), list, 0));
  return with_positions(x, key, positions);
}

// The rows of a value that entries use, each once, by who has them: an entry for each, and which of
// them every entry uses.
struct UsedRows {
  std::vector<i64> entry, slot;
  UsedRows(const OwnRows& own, std::span<const i64> entries) {
    std::vector<i64> numbers;
    for (const i64 e : entries) numbers.push_back(own.number(e));
    const Distinct d = distinct(numbers);
    std::vector<i64> first(d.ids.size()), order(d.ids.size()), place(d.ids.size());
    for (std::size_t j = 0; j < entries.size(); ++j) first[to_index(d.slot[j])] = entries[j];
    std::iota(order.begin(), order.end(), i64{0});
    if (own.lead_axis() >= 0)
      std::stable_sort(order.begin(), order.end(), [&](i64 a, i64 b) {
        return own.along(first[to_index(a)]) < own.along(first[to_index(b)]);
      });
    for (std::size_t k = 0; k < order.size(); ++k) {
      place[to_index(order[k])] = static_cast<i64>(k);
      entry.push_back(first[to_index(order[k])]);
    }
    for (std::size_t j = 0; j < entries.size(); ++j) slot.push_back(place[to_index(d.slot[j])]);
  }
};

// This rank's rows of the value for its entries, the list of them where the lead stood.
Array rows_at(const ValueRows& rows, std::span<const i64> entries) {
  const Array first = rows.rows(entries);
  Shape order;
  for (i64 a = 0; a < first.ndim(); ++a)
    order.push_back(a < rows.position ? a + 1 : a == rows.position ? 0 : a);
  return first.permute(order);
}

}  // namespace

Once each_once(const DNDarray& x, const NormalKey& key) {
  if (key.plan.arrays.empty() || count_of(key.plan.shape) == 0) return {key, {}};
  const Array ids = places(x, key);
  Distinct d = distinct({ids.host<i64>(), to_index(ids.size())});
  if (static_cast<i64>(d.ids.size()) == ids.size()) return {key, {}};
  std::vector<i64> entries(d.ids.size());
  for (std::size_t j = 0; j < d.slot.size(); ++j)
    entries[to_index(d.slot[j])] = static_cast<i64>(j);
  const NumberList slot = d.slot.all();
  return {key_of(x, key, entries), {slot.begin(), slot.end()}};
}

Array repeated(const Array& picked, const Once& once, const IndexPlan& plan) {
  if (once.slot.empty()) return picked;
  const Array all = take(picked, list_of(once.slot).to(picked.device()), plan.position);
  Shape shape(picked.shape().begin(), picked.shape().begin() + plan.position);
  shape.append(plan.lead);
  for (i64 a = plan.position + 1; a < picked.ndim(); ++a) shape.push_back(picked.shape(a));
  return all.reshape(shape);
}

Array Assigned::distribute(const Array& moved) const {
  if (slot.empty()) return moved;
  return take(moved, list_of(slot).to(moved.device()), key.plan.position);
}

Assigned without_repeats(const DNDarray& x, const NormalKey& key, const DNDarray& value) {
  const IndexPlan& plan = key.plan;
  const i64 ndim = plan.shape.size(), position = plan.position;
  const bool moves = value.split() || !value.known();
  if (!moves || plan.arrays.empty() || count_of(plan.shape) == 0 ||
      !varies(value.shape(), ndim, position, plan.lead.size()))
    return {key, value, {}};
  const OwnRows own(value, plan);
  const std::vector<i64> entries = staying(x, key);
  UsedRows used(own, entries);
  i64 rows = 1;
  for (i64 a = 0; a < plan.lead.size(); ++a) rows *= own.extents()[position + a];
  const bool all_stay = static_cast<i64>(entries.size()) == count_of(plan.lead);
  if (static_cast<i64>(used.entry.size()) == rows) return {key, value, {}, all_stay};

  const int me = value.comm().rank();
  std::vector<i64> mine, counts(to_index(value.comm().size()));
  for (const i64 entry : used.entry) {
    const bool here = own.lead_axis() < 0 || own.holds(me, entry);
    if (here) mine.push_back(own.row(entry, me));
    if (own.lead_axis() >= 0) ++counts[to_index(value.part().owner(own.along(entry)))];
  }
  Shape shape = own.extents();
  for (i64 a = 1; a < plan.lead.size(); ++a) shape.erase(position);
  shape[position] = static_cast<i64>(used.entry.size());
  Array local;
  if (own.holder() < 0 || own.holder() == me) local = rows_at(own.rows(value.resident(), me), mine);
  Assigned once{key_of(x, key, entries), {}, std::move(used.slot), all_stay};
  if (own.lead_axis() >= 0)
    once.value = DNDarray(local, shape, {position, Partition::of(counts)}, value.comm());
  else if (own.rest_axis() >= 0)
    once.value =
        DNDarray(local, shape,
                 {own.rest_axis() < position ? own.rest_axis() : own.rest_axis() + 1, value.part()},
                 value.comm());
  else
    once.value = DNDarray::owned_by_one_rank(local, shape, value.dtype(), value.device(),
                                             own.holder(), value.comm());
  return once;
}

}  // namespace tessera::dist
