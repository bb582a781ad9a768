// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/indexing/rows/scatter_requested.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "tessera/distributed/indexing/route.hpp"
#include "tessera/distributed/indexing/rows/value_fetch.hpp"
#include "tessera/distributed/wire/to_index.hpp"
#include "tessera/kernels/gather/gather.hpp"

namespace tessera::dist {
namespace {

// Entries of several ranks come in the order of the ranks when nothing stands before the axis along
// which they are distributed.
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

}  // namespace

// The value as this rank needs it.
struct RequestedScatter::Given {
  Array whole;    // where this rank has all of it and needs that
  ValueRows own;  // over its own entries
  Shape rest() const {
    Shape rest;
    for (i64 a = 0; a < own.shape.size(); ++a)
      if (a < own.position || a >= own.position + own.lead.size()) rest.push_back(own.shape[a]);
    return rest;
  }
};

// Places and what came for them, of all ranks in their order.
struct RequestedScatter::Arrived {
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

RequestedScatter::RequestedScatter(const DNDarray& x, const NormalKey& key, i64 lead_axis,
                                   const Partition& part, const DNDarray& value)
    : key_(key),
      value_(value),
      lead_axis_(lead_axis),
      part_(part),
      rows_(x, key),
      requests_(rows_, key, lead_axis, part),
      varies_(
          varies(value.shape(), key.plan.shape.size(), key.plan.position, key.plan.lead.size())),
      axis_(own_axis(value, key.plan.position + lead_axis, key.plan.shape.size())),
      shape_(rows_of_value(value.shape(), key.plan)) {
  if (moves(value))
    values_ = straight_to_places(value, key.plan, lead_axis, part) ? Values::holders
              : axis_ >= 0                                         ? Values::entries
                                                                   : Values::owners;
  payload_ = payload();
}

RequestedScatter::Payload RequestedScatter::payload() const {
  Payload payload;
  payload.row_bytes = bytes_of_row(value_, key_.plan);
  payload.number_bytes = bytes_of_number(count_of(key_.plan.lead));
  if (!varies_) return payload;  // the owners have it too
  const bool order = !ranks_in_order(key_.plan.lead, lead_axis_);
  const bool cheaper = order || payload.row_bytes > payload.number_bytes;
  const bool find = values_ == Values::owners || values_ == Values::holders ||
                    (values_ == Values::everywhere && cheaper);
  payload.rows = !find;
  payload.numbers = find || order;
  return payload;
}

void RequestedScatter::count(Transfers& t) const {
  requests_.count(t);
  t.at_most();
  if (count_of(key_.plan.shape) == 0) return;
  const i64 item = size_of(value_.dtype());
  if (values_ == Values::entries)
    t.add(Content::rows, Relayout(value_, {axis_, part_}).movement(item));
  if (values_ == Values::owners) count_where_needed(t, value_);
  Transfer& sent = t.pairs(payload_.rows ? Content::rows : Content::numbers, false);
  const std::vector<i64> entries = requests_.entries();
  for (int r = 0; r < t.ranks(); ++r)
    for (int q = 0; q < t.ranks(); ++q)
      sent.send(r, 1, most_wanted(rows_, entries, r, q) * payload_.per_place());
  if (values_ == Values::holders)
    count_from_holders(t, value_, key_.plan, count_of(key_.plan.lead));
}

RequestedScatter::Given RequestedScatter::value_for(const Fetch& asked) const {
  const int me = value_.comm().rank();
  Given g;
  Array mine;
  if (values_ == Values::everywhere) {
    g.whole = value_.local();
    mine = axis_ >= 0 ? g.whole.slice(axis_, part_.begin(me), part_.end(me)) : g.whole;
  } else if (values_ == Values::entries) {
    mine = value_.distributed_as({axis_, part_}).local();
  } else if (values_ == Values::owners) {
    const bool places = std::any_of(asked.serve.begin(), asked.serve.end(),
                                    [](const NarrowList& ids) { return !ids.empty(); });
    mine = g.whole = value_where_needed(value_, places);
  }
  g.own = {mine, shape_, key_.plan.lead, key_.plan.position};
  g.own.shape[key_.plan.position + lead_axis_] = g.own.lead[lead_axis_] = part_.count(me);
  return g;
}

void RequestedScatter::write_arrived(Arrived&& all, const Given& given) const {
  if (all.ids.empty()) return;
  const auto n = static_cast<i64>(all.ids.size());
  std::vector<i64> order;
  if (payload_.numbers) {
    order = by_number(all.numbers);
    all.ids = permuted(all.ids, order);
    all.numbers = permuted(all.numbers, order);
  }
  Array values;
  if (payload_.rows) {
    Shape shape{n};
    shape.append(given.rest());
    values = Array(Storage::adopt(cpu, all.rows.data(), static_cast<i64>(all.rows.size()), [] {}),
                   Layout::contiguous(shape), value_.dtype());
    if (payload_.numbers) {
      const Array places(Storage::adopt(cpu, order.data(), n * 8, [] {}), Layout::contiguous({n}),
                         DType::i64);
      values = take(values, places, 0);
    }
    values = values.to(rows_.array().device());
  } else {
    const ValueRows whole{given.whole, shape_, key_.plan.lead, key_.plan.position};
    values = varies_ ? whole.rows(all.numbers) : whole.one_row();
  }
  const Array& mine = rows_.array().resident();
  rows_.write(all.ids, may_share_memory(values, mine) ? values.copy() : values);
  mine.storage().wait();  // what was lent ends here
}

// Which entries stay is known here, and their rows alone are asked for (collective).
void RequestedScatter::write_straight(const Arrived& all) const {
  const std::vector<i64> order = by_number(all.numbers);
  const std::vector<i64> numbers = permuted(all.numbers, order);
  const LastWriters stay = last_writers(permuted(all.ids, order));
  std::vector<i64> entries;
  entries.reserve(stay.entry.size());
  for (const i64 k : stay.entry) entries.push_back(numbers[to_index(k)]);
  const Array values = rows_from_holders(value_, key_.plan, rows_.array().part(), entries);
  if (!entries.empty()) rows_.write(stay.ids, values);
}

// A value that every rank has and that is the same for all entries: true where it was written.
bool RequestedScatter::write_one() const {
  if (varies_ || values_ != Values::everywhere || count_of(key_.plan.shape) == 0) return false;
  const std::optional<IdSet> places = requests_.places();
  if (!places) return false;
  const Array row = ValueRows{value_.local(), shape_, key_.plan.lead, key_.plan.position}.one_row();
  rows_.write_all(*places, may_share_memory(row, rows_.array().resident()) ? row.copy() : row);
  return true;
}

RequestedScatter::Arrived RequestedScatter::exchange(const Fetch& asked, const Given& given) const {
  const Communicator& comm = rows_.array().comm();
  const int p = comm.size(), me = comm.rank();
  std::vector<i64> last(to_index(asked.wanted()));  // the entry whose value stays
  const NumberList slot = asked.slot.all();
  for (std::size_t j = 0; j < slot.size(); ++j) last[to_index(slot[j])] = static_cast<i64>(j);
  std::vector<std::vector<std::byte>> sent(to_index(p)), got(to_index(p));
  std::vector<Block> sends, receives;
  for (int q = 0; q < p; ++q) {
    const i64 first = asked.bounds[to_index(q)], count = asked.bounds[to_index(q) + 1] - first;
    const std::span<const i64> entries{last.data() + first, to_index(count)};
    std::vector<i64> numbers;
    if (payload_.numbers)
      for (const i64 j : entries)
        numbers.push_back(
            number_of(j, key_.plan.lead, lead_axis_, part_.begin(me), part_.count(me)));
    Array values;
    if (payload_.rows && count > 0) values = on_host_dense(given.own.rows(entries));
    sent[to_index(q)] = message_of(numbers, payload_.number_bytes, values);
    if (q == me) {
      got[to_index(q)] = std::move(sent[to_index(q)]);
      continue;
    }
    if (!sent[to_index(q)].empty())
      sends.push_back(
          Block::dense(q, sent[to_index(q)].data(), static_cast<i64>(sent[to_index(q)].size())));
    got[to_index(q)].resize(asked.serve[to_index(q)].size() * to_index(payload_.per_place()));
    if (!got[to_index(q)].empty())
      receives.push_back(
          Block::dense(q, got[to_index(q)].data(), static_cast<i64>(got[to_index(q)].size())));
  }
  comm.exchange(sends, receives);
  Arrived all;
  for (int q = 0; q < p; ++q) all.add(asked.serve[to_index(q)].all(), got[to_index(q)], payload_);
  return all;
}

void RequestedScatter::run() const {
  if (write_one()) return;
  const std::shared_ptr<const Fetch> asked = requests_.run();
  if (count_of(key_.plan.shape) == 0) return;  // no element, nobody needs a value
  const Given given = value_for(*asked);
  Arrived all = exchange(*asked, given);
  if (values_ == Values::holders) return write_straight(all);
  write_arrived(std::move(all), given);
}

void count_scatter(Transfers& t, const DNDarray& x, const NormalKey& key, const DNDarray& value,
                   const Shape& lead) {
  const IndexedRows rows(x, key);
  const i64 entries = count_of(lead);
  const std::vector<i64> all(to_index(t.ranks()), entries);
  count_requests(t, rows, all);
  const bool differs =
      varies(value.shape(), key.plan.shape.size(), key.plan.position, key.plan.lead.size());
  if (differs) {
    const i64 per_place = bytes_of_row(value, key.plan) + bytes_of_number(entries);
    Transfer& sent = t.pairs(Content::rows, false);
    for (int r = 0; r < t.ranks(); ++r)
      for (int q = 0; q < t.ranks(); ++q) sent.send(r, 1, most_wanted(rows, all, r, q) * per_place);
  }
  if (!moves(value)) return;
  if (differs) count_from_holders(t, value, key.plan, entries);
  count_where_needed(t, value);
}

}  // namespace tessera::dist
