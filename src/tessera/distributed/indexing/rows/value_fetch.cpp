// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/indexing/rows/value_fetch.hpp"

#include <algorithm>
#include <cstring>

#include "tessera/distributed/wire/to_index.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/gather/gather.hpp"

namespace tessera::dist {
namespace {

using Message = std::vector<std::byte>;

// A value with one entry along the split axis of the key goes whole to the owners of places, or
// they ask for the rows that they need: where a list of all rows would be so much smaller than they
// are that asking costs next to nothing even if all are needed. Also where there are so many owners
// that the row of each entry once, and asking, is less than all rows for every owner.
constexpr i64 worth_asking = 32;

bool worth_asking_for(const DNDarray& value, const OwnRows& own, i64 rows, i64 entries) {
  if (rows == 1) return false;
  const i64 p = value.comm().size(), whole = value.size() * size_of(value.dtype());
  const i64 asking = static_cast<i64>(sizeof(Header)) + longest_encoding(rows);
  i64 holders = 0;
  for (int r = 0; r < p; ++r) holders += own.count(r) > 0;
  return whole > worth_asking * asking ||
         (p - 1) * whole > entries * (whole / rows) + (p - 1) * holders * asking;
}

// What a rank holds itself of the rows of its entries, in numbers of the value.
i64 numbers_at_hand(const OwnRows& own, const Shape& lead, i64 lead_axis, const Partition& part,
                    int rank) {
  if (own.held(rank) == 0) return 0;
  const i64 one = count_of(lead) / lead[lead_axis], mine = part.count(rank);
  const i64 row = count_of(own.rest(rank));
  if (own.lead_axis() < 0) return one * mine * row;
  if (own.lead_axis() != lead_axis)
    return one / lead[own.lead_axis()] * own.held(rank) * mine * row;
  const i64 first = std::max(part.begin(rank), own.begin(rank));
  const i64 last = std::min(part.end(rank), own.begin(rank) + own.held(rank));
  return one * std::max<i64>(0, last - first) * row;
}

// Each message to its rank; those of the others, whose lengths are known.
std::vector<Message> handed_over(const Communicator& comm, const std::vector<Message>& out,
                                 std::span<const i64> lengths) {
  std::vector<Message> in(out.size());
  std::vector<Block> sends, receives;
  for (int q = 0; q < comm.size(); ++q) {
    if (q == comm.rank()) continue;
    in[to_index(q)].resize(to_index(lengths[to_index(q)]));
    const auto bytes = static_cast<i64>(out[to_index(q)].size());
    if (bytes > 0) sends.push_back(Block::dense(q, out[to_index(q)].data(), bytes));
    if (!in[to_index(q)].empty())
      receives.push_back(Block::dense(q, in[to_index(q)].data(), lengths[to_index(q)]));
  }
  comm.exchange(sends, receives);
  return in;
}

class HolderFetch {
 public:
  HolderFetch(const DNDarray& value, const IndexPlan& plan, const Partition& places,
              std::span<const i64> entries)
      : value_(value), comm_(value.comm()), own_(value, plan), places_(places), entries_(entries) {
    const auto p = to_index(comm_.size());
    asked_.resize(p);
    if (in_pieces()) {  // whoever has a piece of the rows is asked for the same ones
      std::vector<i64> rows;
      for (const i64 entry : entries) rows.push_back(own_.number(entry));
      const Distinct all = distinct(rows);
      for (std::size_t q = 0; q < p; ++q)
        if (own_.held(static_cast<int>(q)) > 0) asked_[q] = all;
      return;
    }
    std::vector<std::vector<i64>> wanted(p);
    for (const i64 entry : entries)
      wanted[to_index(own_.owner(entry))].push_back(own_.row(entry, own_.owner(entry)));
    for (std::size_t q = 0; q < p; ++q) asked_[q] = distinct(wanted[q]);
  }

  Array run() const {
    const int p = comm_.size(), me = comm_.rank();
    const std::vector<std::vector<i64>> serve = requested();
    std::vector<Message> out(to_index(p));
    std::vector<i64> lengths(to_index(p));
    for (int q = 0; q < p; ++q) {
      if (!serve[to_index(q)].empty()) out[to_index(q)] = rows_of(serve[to_index(q)]);
      lengths[to_index(q)] = count_of(shape_from(q)) * size_of(value_.dtype());
    }
    std::vector<Message> in = handed_over(comm_, out, lengths);
    if (!asked_[to_index(me)].ids.empty()) in[to_index(me)] = rows_of(asked_[to_index(me)].ids);
    if (entries_.empty()) return Array();
    return in_pieces() ? side_by_side(in) : one_after_another(in);
  }

 private:
  // The rows themselves are split: each holder has some columns of all of them.
  bool in_pieces() const { return own_.rest_axis() >= 0; }

  // What comes from that rank.
  Shape shape_from(int holder) const {
    Shape shape{static_cast<i64>(asked_[to_index(holder)].ids.size())};
    shape.append(own_.rest(holder));
    return shape;
  }
  Array array_from(int holder, Message& bytes) const {
    return Array(Storage::adopt(cpu, bytes.data(), static_cast<i64>(bytes.size()), [] {}),
                 Layout::contiguous(shape_from(holder)), value_.dtype());
  }

  // Whether a rank may ask another: it has places, the other has rows.
  bool may_ask(int rank, int holder) const {
    return places_.count(rank) > 0 && own_.count(holder) > 0;
  }

  // The rows of this rank that each other one asks for.
  std::vector<std::vector<i64>> requested() const {
    const int p = comm_.size(), me = comm_.rank();
    std::vector<Header> sent(to_index(p)), heard(to_index(p));
    std::vector<Message> encoded(to_index(p));
    std::vector<Block> sends, receives;
    for (int q = 0; q < p; ++q) {
      if (q == me) continue;
      if (may_ask(q, me)) receives.push_back(Block::dense(q, &heard[to_index(q)], sizeof(Header)));
      if (!may_ask(me, q)) continue;
      EncodedIds list = encode(asked_[to_index(q)].ids, 0, own_.count(q));
      sent[to_index(q)] = Header::of(list.format, false);
      encoded[to_index(q)] = std::move(list.bytes);
      if (sent[to_index(q)].word != 0)
        sends.push_back(Block::dense(q, &sent[to_index(q)], sizeof(Header)));
    }
    comm_.exchange_short(sends, receives);
    std::vector<IdFormat> forms;
    std::vector<i64> lengths;
    for (const Header& header : heard) {
      forms.push_back(header.format());
      lengths.push_back(forms.back().bytes(own_.count(me)));
    }
    const std::vector<Message> lists = handed_over(comm_, encoded, lengths);
    std::vector<std::vector<i64>> serve(to_index(p));
    for (int q = 0; q < p; ++q)
      if (!forms[to_index(q)].empty())
        serve[to_index(q)] = decode(forms[to_index(q)], lists[to_index(q)], 0, own_.count(me));
    return serve;
  }

  Message rows_of(std::span<const i64> ids) const {
    const Array rows = on_host_dense(own_.rows(value_.resident(), comm_.rank()).rows(ids));
    Message bytes(to_index(rows.bytes()));
    if (!bytes.empty()) std::memcpy(bytes.data(), rows.host_data(), bytes.size());
    return bytes;
  }

  // The arrays lend their bytes: joining copies them.
  Array side_by_side(std::vector<Message>& in) const {
    std::vector<Array> pieces;
    const Distinct* rows = nullptr;
    for (int q = 0; q < comm_.size(); ++q) {
      if (own_.held(q) == 0) continue;
      pieces.push_back(array_from(q, in[to_index(q)]));
      rows = &asked_[to_index(q)];
    }
    return take(concatenate(pieces, 1 + own_.rest_axis()), list_of(rows->slot.all()), 0)
        .to(value_.device());
  }

  Array one_after_another(std::vector<Message>& in) const {
    std::vector<Array> rows;
    std::vector<i64> before{0};  // rows of the holders before each
    for (int q = 0; q < comm_.size(); ++q) {
      if (!in[to_index(q)].empty()) rows.push_back(array_from(q, in[to_index(q)]));
      before.push_back(before.back() + static_cast<i64>(asked_[to_index(q)].ids.size()));
    }
    std::vector<std::size_t> next(in.size());
    std::vector<i64> slots;
    slots.reserve(entries_.size());
    for (const i64 entry : entries_) {
      const std::size_t q = to_index(own_.owner(entry));
      slots.push_back(before[q] + asked_[q].slot[next[q]++]);
    }
    return take(concatenate(rows, 0), list_of(slots), 0).to(value_.device());
  }

  const DNDarray& value_;
  const Communicator& comm_;
  const OwnRows own_;
  const Partition& places_;
  std::span<const i64> entries_;
  std::vector<Distinct> asked_;  // by holder, as it counts its rows
};

}  // namespace

bool straight_to_places(const DNDarray& value, const IndexPlan& plan, i64 lead_axis,
                        const Partition& part) {
  const i64 all = count_of(plan.lead);
  if (all == 0 || part.ranks() == 1 || !moves(value)) return false;
  const OwnRows own(value, plan);
  const i64 item = size_of(value.dtype());
  i64 rows = 1;
  for (i64 a = 0; a < plan.lead.size(); ++a) rows *= own.extents()[plan.position + a];
  if (own.extents()[plan.position + lead_axis] == 1) return worth_asking_for(value, own, rows, all);
  i64 away = all * (value.size() / rows);
  for (int r = 0; r < part.ranks(); ++r)
    away -= numbers_at_hand(own, plan.lead, lead_axis, part, r);
  return away * item > all * bytes_of_number(all);
}

void count_from_holders(Transfers& t, const DNDarray& value, const IndexPlan& plan, i64 entries) {
  const OwnRows own(value, plan);
  Transfer& sent = t.pairs(Content::ids, false);
  for (int r = 0; r < t.ranks(); ++r)
    for (int q = 0; q < t.ranks(); ++q) {
      const i64 rows = own.count(q);
      if (q == r || rows == 0) continue;
      sent.send(
          r, 2,
          static_cast<i64>(sizeof(Header)) + most_encoded_bytes(std::min(entries, rows), rows));
    }
  t.gather(Content::rows, value, size_of(value.dtype()), false);
}

Array rows_from_holders(const DNDarray& value, const IndexPlan& plan, const Partition& places,
                        std::span<const i64> entries) {
  return HolderFetch(value, plan, places, entries).run();
}

}  // namespace tessera::dist
