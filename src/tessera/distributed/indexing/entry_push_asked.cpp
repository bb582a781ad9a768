// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <numeric>

#include "tessera/distributed/indexing/index_route.hpp"
#include "tessera/distributed/indexing/value_rows.hpp"
#include "tessera/distributed/wire/to_index.hpp"
#include "tessera/kernels/gather/gather.hpp"

namespace tessera::dist {
namespace {

// What travels beside the places.
struct Payload {
  bool rows = false;     // the values themselves
  bool numbers = false;  // the entries' numbers: to find values that the owner has too, or to put
                         // the entries of several ranks in NumPy's order
  i64 number_bytes = 0, row_bytes = 0;
  i64 per_place() const { return (numbers ? number_bytes : 0) + (rows ? row_bytes : 0); }
};

// Entries of several ranks come in the order of the ranks when nothing stands before the axis along
// which they are dealt out.
bool ranks_in_order(const Shape& lead, i64 lead_axis) {
  for (i64 a = 0; a < lead_axis; ++a)
    if (lead[a] > 1) return false;
  return true;
}

// The number of a rank's entry among all entries.
i64 number_of(i64 own, const Shape& lead, i64 lead_axis, i64 begin, i64 count) {
  i64 inner = 1;
  for (i64 a = lead_axis + 1; a < lead.size(); ++a) inner *= lead[a];
  const i64 outer = own / inner / count, along = own / inner % count + begin;
  return (outer * lead[lead_axis] + along) * inner + own % inner;
}

std::vector<std::byte> message_of(std::span<const i64> numbers, i64 number_bytes,
                                  const Array& rows) {
  const std::size_t listed = numbers.size() * to_index(number_bytes);
  const std::size_t data = rows ? to_index(rows.bytes()) : 0;
  std::vector<std::byte> all(listed + data);
  put_numbers(numbers, number_bytes, all.data());
  if (data > 0) std::memcpy(all.data() + listed, rows.host_data(), data);
  return all;
}

// The value as this rank needs it: over its own entries, and whether every rank has all of it.
struct Given {
  bool known = false, varies = false;
  bool owners_alone = false;  // known to those who own places, to nobody else
  bool straight = false;      // stays where it is until the owners of places ask for rows
  Array whole;                // where known and needed
  Shape shape;  // of the result, but its rows as the value has them: what repeats travels once
  ValueRows own;
  Shape rest() const {
    Shape rest;
    for (i64 a = 0; a < shape.size(); ++a)
      if (a < own.position || a >= own.position + own.lead.size()) rest.push_back(shape[a]);
    return rest;
  }
};

Given value_for(const DNDarray& value, const NormalKey& key, i64 lead_axis, const Partition& part,
                const Fetch& asked) {
  const int me = value.comm().rank();
  const i64 position = key.plan.position, at_result = position + lead_axis;
  const i64 axis = at_result - (key.plan.shape.size() - value.ndim());
  const bool along = axis >= 0 && value.shape(axis) != 1;
  Given g;
  g.varies = varies(value.shape(), key.plan.shape.size(), position, key.plan.lead.size());
  g.known = !value.split() && value.known();
  Array mine;
  if (g.known) {
    g.whole = value.local();
    mine = along ? g.whole.slice(axis, part.begin(me), part.end(me)) : g.whole;
  } else if (straight_to_places(value, key.plan, lead_axis, part)) {
    g.straight = true;
  } else if (along) {
    mine = value.distributed_as({axis, part}).local();
  } else {  // repeated along the entries: the owners of places get it, entries send their numbers
    const bool places = std::any_of(asked.serve.begin(), asked.serve.end(),
                                    [](const NarrowList& ids) { return !ids.empty(); });
    mine = g.whole = value_where_needed(value, places);
    g.known = g.owners_alone = true;
  }
  g.shape = rows_of_value(value.shape(), key.plan);
  g.own = {mine, g.shape, key.plan.lead, position};
  g.own.shape[at_result] = g.own.lead[lead_axis] = part.count(me);
  return g;
}

// Places and what came for them, of all ranks in their order.
struct Arrived {
  std::vector<i64> ids, numbers;
  std::vector<std::byte> rows;

  void add(std::span<const i64> places, std::span<const std::byte> bytes, const Payload& payload) {
    ids.insert(ids.end(), places.begin(), places.end());
    if (payload.numbers) {
      const std::size_t before = numbers.size();
      numbers.resize(ids.size());
      take_numbers(bytes.data(), payload.number_bytes, {numbers.data() + before, places.size()});
      bytes = bytes.subspan(places.size() * to_index(payload.number_bytes));
    }
    if (payload.rows) rows.insert(rows.end(), bytes.begin(), bytes.end());
  }
};

Payload payload_of(const Given& given, DType dtype, const Shape& lead, i64 lead_axis) {
  Payload payload;
  payload.row_bytes = count_of(given.rest()) * size_of(dtype);
  payload.number_bytes = bytes_of_number(count_of(lead));
  if (!given.varies) return payload;  // the owners have it too
  const bool order = !ranks_in_order(lead, lead_axis);
  const bool cheaper = order || payload.row_bytes > payload.number_bytes;
  const bool find = given.owners_alone || given.straight || (given.known && cheaper);
  payload.rows = !find;
  payload.numbers = find || order;
  return payload;
}

// NumPy's order among the entries of all ranks decides whose value stays.
std::vector<i64> by_number(const std::vector<i64>& numbers) {
  std::vector<i64> order(numbers.size());
  std::iota(order.begin(), order.end(), i64{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](i64 a, i64 b) { return numbers[to_index(a)] < numbers[to_index(b)]; });
  return order;
}

template <class T>
std::vector<T> permuted(const std::vector<T>& from, const std::vector<i64>& order) {
  std::vector<T> to;
  to.reserve(order.size());
  for (const i64 k : order) to.push_back(from[to_index(k)]);
  return to;
}

void write_arrived(const EntryRows& rows, Arrived&& all, const Payload& payload, const Given& given,
                   const NormalKey& key, DType dtype) {
  if (all.ids.empty()) return;
  const auto n = static_cast<i64>(all.ids.size());
  std::vector<i64> order;
  if (payload.numbers) {
    order = by_number(all.numbers);
    all.ids = permuted(all.ids, order);
    all.numbers = permuted(all.numbers, order);
  }
  Array values;
  if (payload.rows) {
    Shape shape{n};
    shape.append(given.rest());
    values = Array(Storage::adopt(cpu, all.rows.data(), static_cast<i64>(all.rows.size()), [] {}),
                   Layout::contiguous(shape), dtype);
    if (payload.numbers) {
      const Array places(Storage::adopt(cpu, order.data(), n * 8, [] {}), Layout::contiguous({n}),
                         DType::i64);
      values = take(values, places, 0);
    }
    values = values.to(rows.array().device());
  } else {
    const ValueRows whole{given.whole, given.shape, key.plan.lead, key.plan.position};
    values = given.varies ? whole.rows(all.numbers) : whole.one_row();
  }
  rows.write(all.ids, may_share_memory(values, rows.array().resident()) ? values.copy() : values);
  rows.array().resident().storage().wait();  // what was lent ends here
}

// Which entries stay is known here, and their rows alone are asked for (collective).
void write_straight(const EntryRows& rows, const Arrived& all, const NormalKey& key,
                    const DNDarray& value) {
  const std::vector<i64> order = by_number(all.numbers);
  const std::vector<i64> numbers = permuted(all.numbers, order);
  const Winners stay = winners(permuted(all.ids, order));
  std::vector<i64> entries;
  entries.reserve(stay.entry.size());
  for (const i64 k : stay.entry) entries.push_back(numbers[to_index(k)]);
  const Array values = rows_from_holders(value, key.plan, rows.array().part(), entries);
  if (!entries.empty()) rows.write(stay.ids, values);
}

// A value that every rank has and that is the same for all entries: true where it was written.
bool write_one(const EntryRows& rows, const NormalKey& key, const DNDarray& value) {
  if (value.split() || !value.known() || count_of(key.plan.shape) == 0) return false;
  const ValueRows whole{value.local(), rows_of_value(value.shape(), key.plan), key.plan.lead,
                        key.plan.position};
  if (whole.varies()) return false;
  const std::optional<IdSet> places = asked_places(rows, key);
  if (!places) return false;
  const Array row = whole.one_row();
  rows.write_all(*places, may_share_memory(row, rows.array().resident()) ? row.copy() : row);
  return true;
}

}  // namespace

void push_asked(const EntryRows& rows, const NormalKey& key, i64 lead_axis, const Partition& part,
                const DNDarray& value) {
  const DNDarray& x = rows.array();
  const Communicator& comm = x.comm();
  const int p = comm.size(), me = comm.rank();
  if (write_one(rows, key, value)) return;
  const std::shared_ptr<const Fetch> asked = ask_owners(rows, key, lead_axis, part);
  if (count_of(key.plan.shape) == 0) return;  // no element, nobody needs a value
  const Given given = value_for(value, key, lead_axis, part, *asked);
  const Payload payload = payload_of(given, value.dtype(), key.plan.lead, lead_axis);

  std::vector<i64> last(to_index(asked->wanted()));  // the entry whose value stays
  const NumberList slot = asked->slot.all();
  for (std::size_t j = 0; j < slot.size(); ++j) last[to_index(slot[j])] = static_cast<i64>(j);
  std::vector<std::vector<std::byte>> sent(to_index(p)), got(to_index(p));
  std::vector<Block> sends, receives;
  for (int q = 0; q < p; ++q) {
    const i64 first = asked->bounds[to_index(q)], count = asked->bounds[to_index(q) + 1] - first;
    const std::span<const i64> entries{last.data() + first, to_index(count)};
    std::vector<i64> numbers;
    if (payload.numbers)
      for (const i64 j : entries)
        numbers.push_back(number_of(j, key.plan.lead, lead_axis, part.begin(me), part.count(me)));
    Array values;
    if (payload.rows && count > 0) values = on_host_dense(given.own.rows(entries));
    sent[to_index(q)] = message_of(numbers, payload.number_bytes, values);
    if (q == me) {
      got[to_index(q)] = std::move(sent[to_index(q)]);
      continue;
    }
    if (!sent[to_index(q)].empty())
      sends.push_back(
          Block::dense(q, sent[to_index(q)].data(), static_cast<i64>(sent[to_index(q)].size())));
    got[to_index(q)].resize(asked->serve[to_index(q)].size() * to_index(payload.per_place()));
    if (!got[to_index(q)].empty())
      receives.push_back(
          Block::dense(q, got[to_index(q)].data(), static_cast<i64>(got[to_index(q)].size())));
  }
  comm.exchange(sends, receives);
  Arrived all;
  for (int q = 0; q < p; ++q) all.add(asked->serve[to_index(q)].all(), got[to_index(q)], payload);
  if (given.straight) return write_straight(rows, all, key, value);
  write_arrived(rows, std::move(all), payload, given, key, value.dtype());
}

}  // namespace tessera::dist
