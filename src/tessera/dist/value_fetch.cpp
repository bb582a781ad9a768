// SPDX-License-Identifier: Apache-2.0
// Rows of an assigned value straight from who has them to who writes them: they ask by number.
#include <algorithm>
#include <cstring>

#include "tessera/dist/at.hpp"
#include "tessera/dist/value_rows.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/gather/gather.hpp"

namespace tessera {
namespace {

using dist::at;
using Message = std::vector<std::byte>;

// The entries of a rank's key whose rows it holds itself.
i64 entries_at_hand(const OwnRows& own, const Shape& lead, i64 lead_axis, const Partition& part,
                    int rank) {
  const i64 one = count_of(lead) / lead[lead_axis], mine = part.count(rank);
  if (own.lead_axis() < 0) return own.held(rank) > 0 ? one * mine : 0;
  if (own.lead_axis() != lead_axis) return one / lead[own.lead_axis()] * own.held(rank) * mine;
  const i64 first = std::max(part.begin(rank), own.begin(rank));
  const i64 last = std::min(part.end(rank), own.begin(rank) + own.held(rank));
  return one * std::max<i64>(0, last - first);
}

// Each message to its rank; those of the others, whose lengths are known.
std::vector<Message> handed_over(const Communicator& comm, const std::vector<Message>& out,
                                 std::span<const i64> lengths) {
  std::vector<Message> in(out.size());
  std::vector<Block> sends, receives;
  for (int q = 0; q < comm.size(); ++q) {
    if (q == comm.rank()) continue;
    in[at(q)].resize(at(lengths[at(q)]));
    const auto bytes = static_cast<i64>(out[at(q)].size());
    if (bytes > 0) sends.push_back(Block::dense(q, out[at(q)].data(), bytes));
    if (!in[at(q)].empty()) receives.push_back(Block::dense(q, in[at(q)].data(), lengths[at(q)]));
  }
  comm.exchange(sends, receives);
  return in;
}

class HolderFetch {
 public:
  HolderFetch(const DNDarray& value, const IndexPlan& plan, const Partition& places,
              std::span<const i64> entries)
      : value_(value), comm_(value.comm()), own_(value, plan), places_(places), entries_(entries) {
    std::vector<std::vector<i64>> wanted(at(comm_.size()));
    for (const i64 entry : entries)
      wanted[at(own_.owner(entry))].push_back(own_.row(entry, own_.owner(entry)));
    for (const std::vector<i64>& rows : wanted) asked_.push_back(distinct(rows));
    row_bytes_ = count_of(own_.rest(comm_.rank())) * size_of(value.dtype());
  }

  Array run() const {
    const int p = comm_.size(), me = comm_.rank();
    const std::vector<std::vector<i64>> serve = told();
    std::vector<Message> out(at(p));
    std::vector<i64> lengths(at(p));
    for (int q = 0; q < p; ++q) {
      if (!serve[at(q)].empty()) out[at(q)] = rows_of(serve[at(q)]);
      lengths[at(q)] = static_cast<i64>(asked_[at(q)].ids.size()) * row_bytes_;
    }
    std::vector<Message> in = handed_over(comm_, out, lengths);
    if (!asked_[at(me)].ids.empty()) in[at(me)] = rows_of(asked_[at(me)].ids);
    return in_order_of_entries(in);
  }

 private:
  // Whether a rank may ask another: it has places, the other has rows.
  bool may_ask(int rank, int holder) const {
    return places_.count(rank) > 0 && own_.count(holder) > 0;
  }

  // The rows of this rank that each other one asks for.
  std::vector<std::vector<i64>> told() const {
    const int p = comm_.size(), me = comm_.rank();
    std::vector<Message> notices(at(p)), wires(at(p));
    std::vector<i64> lengths(at(p));
    for (int q = 0; q < p; ++q) {
      lengths[at(q)] = may_ask(q, me) ? static_cast<i64>(sizeof(Notice)) : 0;
      if (q == me || !may_ask(me, q)) continue;
      Wire wire = encode(asked_[at(q)].ids, 0, own_.count(q));
      const Notice notice = Notice::of(wire.form, false);
      notices[at(q)].resize(sizeof(Notice));
      std::memcpy(notices[at(q)].data(), &notice, sizeof(Notice));
      wires[at(q)] = std::move(wire.bytes);
    }
    const std::vector<Message> announced = handed_over(comm_, notices, lengths);
    std::vector<WireForm> forms(at(p));
    for (int q = 0; q < p; ++q) {
      if (!announced[at(q)].empty()) {
        Notice notice;
        std::memcpy(&notice, announced[at(q)].data(), sizeof(Notice));
        forms[at(q)] = notice.form();
      }
      lengths[at(q)] = forms[at(q)].bytes(own_.count(me));
    }
    const std::vector<Message> lists = handed_over(comm_, wires, lengths);
    std::vector<std::vector<i64>> serve(at(p));
    for (int q = 0; q < p; ++q)
      if (!forms[at(q)].empty())
        serve[at(q)] = decode(forms[at(q)], lists[at(q)], 0, own_.count(me));
    return serve;
  }

  Message rows_of(std::span<const i64> ids) const {
    const Array rows = on_host_dense(own_.rows(value_.resident(), comm_.rank()).rows(ids));
    Message bytes(at(rows.bytes()));
    if (!bytes.empty()) std::memcpy(bytes.data(), rows.host_data(), bytes.size());
    return bytes;
  }

  Array in_order_of_entries(const std::vector<Message>& in) const {
    std::vector<i64> before{0};  // rows of the holders before each
    for (const Distinct& rows : asked_)
      before.push_back(before.back() + static_cast<i64>(rows.ids.size()));
    Shape shape{before.back()};
    shape.append(own_.rest(comm_.rank()));
    const Array all = empty_dense(shape, value_.dtype());
    for (std::size_t q = 0; q < in.size(); ++q)
      if (!in[q].empty())
        std::memcpy(static_cast<std::byte*>(all.host_data()) + before[q] * row_bytes_, in[q].data(),
                    in[q].size());
    std::vector<std::size_t> next(in.size());
    std::vector<i64> slots;
    slots.reserve(entries_.size());
    for (const i64 entry : entries_) {
      const std::size_t q = at(own_.owner(entry));
      slots.push_back(before[q] + asked_[q].slot[next[q]++]);
    }
    return take(all, list_of(slots), 0).to(value_.device());
  }

  const DNDarray& value_;
  const Communicator& comm_;
  const OwnRows own_;
  const Partition& places_;
  std::span<const i64> entries_;
  std::vector<Distinct> asked_;  // by holder, as it counts its rows
  i64 row_bytes_ = 0;
};

}  // namespace

bool straight_to_places(const DNDarray& value, const IndexPlan& plan, i64 lead_axis,
                        const Partition& part) {
  const i64 all = count_of(plan.lead);
  if (all == 0 || (!value.split() && value.known())) return false;
  const OwnRows own(value, plan);
  if (own.rest_axis() >= 0 || own.extents()[plan.position + lead_axis] == 1) return false;
  i64 away = all;
  for (int r = 0; r < part.ranks(); ++r)
    away -= entries_at_hand(own, plan.lead, lead_axis, part, r);
  return away * count_of(own.rest(0)) * size_of(value.dtype()) > all * bytes_of_number(all);
}

Array rows_from_holders(const DNDarray& value, const IndexPlan& plan, const Partition& places,
                        std::span<const i64> entries) {
  return HolderFetch(value, plan, places, entries).run();
}

}  // namespace tessera
