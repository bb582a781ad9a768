// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/indexing/rows/requests.hpp"

#include <algorithm>
#include <bit>

#include "tessera/distributed/wire/to_index.hpp"
#include "tessera/kernels/copy/copy.hpp"

namespace tessera::dist {
namespace {

NarrowList ids_of(const IdSet& set) {
  std::size_t word = 0;
  std::uint64_t rest = set.words().empty() ? 0 : set.words()[0];
  const auto next = [&] {
    while (rest == 0) rest = set.words()[++word];
    const i64 id = set.first() + static_cast<i64>(word) * 64 + std::countr_zero(rest);
    rest &= rest - 1;
    return id;
  };
  return NarrowList(to_index(set.size()), set.last(), next);
}

// What a rank asks for, and what its owners can work out from its positions on the split axis
// alone: where all ranks have the other arrays of the key.
class RequestBuilder {
 public:
  RequestBuilder(const IndexedRows& rows, const NormalKey& key, i64 lead_axis,
                 const Partition& part)
      : rows_(rows), key_(key), lead_axis_(lead_axis), part_(part) {
    const DNDarray& x = rows.array();
    mine_ = EntryPositions(x, key, lead_axis, part).run(problem_);
    for (std::size_t a = 0; a < mine_.size(); ++a) {
      if (key.plan.axes[static_cast<i64>(a)] == *x.split())
        split_ = a;
      else
        partly_known_ = partly_known_ || (key.distribution[a] && has_axis(key.distribution[a]));
    }
    if (problem_.empty()) ids_ = rows.ids(mine_, lead_of(x.comm().rank()));
  }
  const std::string& problem() const { return problem_; }
  const Partition& part() const { return part_; }
  std::span<const i64> entries() const {
    return ids_ ? std::span<const i64>(ids_.host<i64>(), to_index(ids_.size()))
                : std::span<const i64>();
  }
  i64 bytes_of_positions(int rank) const {
    return count_of(key_.distribution[split_].lshape(rank)) * width();
  }
  // As ids, or as positions where those are fewer bytes.
  EncodedIds encoded(std::span<const i64> ids, int owner) const {
    EncodedIds list = encode(ids, rows_.first_id(owner), rows_.radix(owner));
    const i64 bytes = bytes_of_positions(rows_.array().comm().rank());
    if (ids.empty() || partly_known_ || bytes >= static_cast<i64>(list.bytes.size())) return list;
    const Array positions = mine_[split_].contiguous();
    list.format = {Encoding::positions, 0, 1, 0};
    list.bytes.resize(to_index(bytes));
    put_numbers({positions.host<i64>(), to_index(positions.size())}, width(), list.bytes.data());
    return list;
  }
  // The ids of this rank that `rank` wants, as it listed them.
  NarrowList answer(const IdFormat& form, const std::vector<std::byte>& bytes, int rank) const {
    const int me = rows_.array().comm().rank();
    const i64 first = rows_.first_id(me), radix = rows_.radix(me), last = first + radix;
    if (form.kind == Encoding::huffman ||
        form.kind == Encoding::bitmap) {  // many, and no list between
      IdSet set(first, last);
      decode_into(set, {&form, 1}, {&bytes, 1});
      return ids_of(set);
    }
    if (form.kind != Encoding::positions)
      return NarrowList(decode(form, bytes, first, radix), last);
    const Array positions = empty_dense(key_.distribution[split_].lshape(rank), DType::i64);
    take_numbers(bytes.data(), width(), {positions.host<i64>(), to_index(positions.size())});
    std::vector<Array> theirs;
    for (std::size_t a = 0; a < mine_.size(); ++a)
      theirs.push_back(a == split_ ? positions
                       : key_.distribution[a]
                           ? mine_[a]  // whole on every rank
                           : cut_positions(key_.plan.arrays[a], key_.plan.lead, lead_axis_,
                                           part_.begin(rank), part_.end(rank)));
    const Array ids = rows_.ids(theirs, lead_of(rank));
    return NarrowList(distinct_within({ids.host<i64>(), to_index(ids.size())}, first, last), last);
  }

 private:
  bool has_axis(const DNDarray& a) const {
    const i64 own = lead_axis_ - (key_.plan.lead.size() - a.ndim());
    return own >= 0 && a.shape(own) == key_.plan.lead[lead_axis_];
  }
  Shape lead_of(int rank) const {
    Shape lead = key_.plan.lead;
    lead[lead_axis_] = part_.count(rank);
    return lead;
  }
  i64 width() const { return bytes_of_number(rows_.array().part().size()); }

  const IndexedRows& rows_;
  const NormalKey& key_;
  i64 lead_axis_;
  const Partition& part_;
  std::string problem_;
  std::vector<Array> mine_;
  std::size_t split_ = 0;      // which of them is on the split axis
  bool partly_known_ = false;  // others came from some ranks alone
  Array ids_;
};

// Every rank wants its own ids alone; it may still have other positions that are wrong.
Requests nothing_requested(const IndexedRows& rows, const NormalKey& key,
                           const RequestBuilder& builder) {
  agree_on_positions(rows.array(), key, builder.problem());
  const auto p = to_index(rows.array().comm().size());
  return {std::vector<IdFormat>(p), std::vector<std::vector<std::byte>>(p), {}, {}, {}};
}

// `before`: what the same key requested of owners already.
Fetch requested_rows(const IndexedRows& rows, const NormalKey& key, const RequestBuilder& builder,
                     const Requests* before) {
  const DNDarray& x = rows.array();
  const int p = x.comm().size(), me = x.comm().rank();
  Distinct d = distinct(builder.entries());
  Fetch fetch;
  fetch.bounds = owner_bounds(d.ids, x.part(), rows.ids_per_entry());
  fetch.slot = std::move(d.slot);
  fetch.serve.resize(to_index(p));
  const auto wanted_of = [&](int q) {
    const i64 first = fetch.bounds[to_index(q)], count = fetch.bounds[to_index(q) + 1] - first;
    return std::span<const i64>{d.ids.data() + first, to_index(count)};
  };
  fetch.serve[to_index(me)] = NarrowList(wanted_of(me), rows.first_id(me) + rows.radix(me));
  Requests now;
  if (!before && key.at_owners) {
    now = nothing_requested(rows, key, builder);
    before = &now;
  } else if (!before) {
    std::vector<EncodedIds> lists(to_index(p));
    for (int q = 0; q < p; ++q)
      if (q != me) lists[to_index(q)] = builder.encoded(wanted_of(q), q);
    now = send_requests(lists, !builder.problem().empty(), rows, key,
                        requesters(key, builder.part()), [&](const IdFormat& form, int q) {
                          return form.kind == Encoding::positions ? builder.bytes_of_positions(q)
                                                                  : form.bytes(rows.radix(me));
                        });
    before = &now;
  }
  d.ids = {};  // what others tell comes in its place
  for (int q = 0; q < p; ++q)
    if (q != me && !before->forms[to_index(q)].empty())
      fetch.serve[to_index(q)] =
          builder.answer(before->forms[to_index(q)], before->bytes[to_index(q)], q);
  return fetch;
}

// The only array of a key, which lies as the entries do and remembers what it asked; or nullptr.
const DNDarray* sole_array(const NormalKey& key) {
  return key.plan.arrays.size() == 1 ? &key.distribution[0] : nullptr;
}
std::string requested_of(const DNDarray& x) { return cat("rows of ", join(x.part().starts())); }
std::string sent_to(const DNDarray& x) { return cat("requested of ", join(x.part().starts())); }

// A key remembers what it asked of several arrays, but where that is much, of the last one alone:
// by a name that all share, and `of` says which it was. The same on all ranks.
std::string name_of(const DNDarray& key, const std::string& what) {
  const i64 bytes = key.size() / key.comm().size() * static_cast<i64>(sizeof(i64));
  return bytes > most_remembered ? what.substr(0, what.find(' ')) : what;
}
template <class Plan>
std::shared_ptr<const Plan> remember(const DNDarray& key, const std::string& what, Plan plan) {
  plan.of = what;
  const auto kept = std::make_shared<const Plan>(std::move(plan));
  key.remember(name_of(key, what), kept);
  return kept;
}
template <class Plan>
std::shared_ptr<const Plan> recall(const DNDarray& key, const std::string& what) {
  const auto plan = std::static_pointer_cast<const Plan>(key.recall(name_of(key, what)));
  return plan && plan->of == what ? plan : nullptr;
}

// What several distributed arrays asked for together, each remembers by its place in the key: where
// all of them remember the same, they are the same arrays, and unchanged.
std::string requested_together(const DNDarray& x, const NormalKey& key, std::size_t place) {
  Shape extents;
  for (const i64 axis : key.plan.axes) extents.push_back(x.shape(axis));
  return cat(requested_of(x), " along ", *x.split(), " by arrays on axes ", key.plan.axes, " of ",
             extents, ", array ", place);
}
bool all_distributed(const NormalKey& key) {
  return std::all_of(key.distribution.begin(), key.distribution.end(),
                     [](const DNDarray& a) { return bool(a); });
}
std::shared_ptr<const void> requested_before(const DNDarray& x, const NormalKey& key) {
  const auto first = key.distribution[0].recall(requested_together(x, key, 0));
  for (std::size_t a = 1; a < key.distribution.size(); ++a)
    if (key.distribution[a].recall(requested_together(x, key, a)) != first) return nullptr;
  return first;
}

// The positions of a sole array as a set; those of other ranks are sent to them.
Requests send_set(const IndexedRows& rows, const NormalKey& key) {
  const DNDarray& x = rows.array();
  const int p = x.comm().size(), me = x.comm().rank();
  IdSet all(0, x.part().size());
  Array mine;
  try {
    mine = checked_positions(key.distribution[0].resident(), key.plan.axes[0], x.part().size());
    all.add({mine.host<i64>(), to_index(mine.size())});
  } catch (const IndexError&) {
    mine = {};
  }
  std::vector<EncodedIds> lists(to_index(p));
  for (int q = 0; q < p; ++q)
    if (q != me) lists[to_index(q)] = encode(all.within(x.part().begin(q), x.part().end(q)));
  Requests requests =
      send_requests(lists, !mine, rows, key, requesters(key, key.distribution[0].part()),
                    [&](const IdFormat& form, int) { return form.bytes(rows.radix(me)); });
  requests.own = all.within(x.part().begin(me), x.part().end(me));
  const DType narrow = type_of_positions(x.part().size());
  requests.positions = narrow == mine.dtype() ? mine.copy() : mine.astype(narrow);
  return requests;
}

}  // namespace

RowRequests::RowRequests(const IndexedRows& rows, const NormalKey& key, i64 lead_axis,
                         const Partition& part)
    : rows_(rows),
      key_(key),
      lead_axis_(lead_axis),
      part_(part),
      positions_(rows.array(), key, lead_axis, part),
      alone_(sole_array(key)),
      together_(!alone_ && all_distributed(key)) {
  const DNDarray& x = rows.array();
  if (alone_) {
    known_ = recall<Fetch>(*alone_, requested_of(x));
    if (!known_) requests_ = recall<Requests>(*alone_, sent_to(x));
  } else if (together_) {
    known_ = std::static_pointer_cast<const Fetch>(requested_before(x, key));
  }
}

std::vector<i64> RowRequests::entries() const {
  const Shape& lead = key_.plan.lead;
  std::vector<i64> entries = part_.counts();
  for (i64& n : entries) n *= count_of(lead) / std::max<i64>(1, lead[lead_axis_]);
  return entries;
}

void RowRequests::count(Transfers& t) const {
  if (known_ || requests_) return;
  positions_.count(t);
  if (key_.at_owners) return count_agreement(t, key_);
  count_requests(t, rows_, entries());
}

std::shared_ptr<const Fetch> RowRequests::run() const {
  if (known_) return known_;
  const DNDarray& x = rows_.array();
  NormalKey as_sent = key_;
  if (requests_)
    as_sent.distribution[0] =
        DNDarray(requests_->positions, alone_->shape(), alone_->distribution(), alone_->comm());
  const RequestBuilder builder(rows_, as_sent, lead_axis_, part_);
  Fetch requested = requested_rows(rows_, as_sent, builder, requests_.get());
  if (alone_) return remember(*alone_, requested_of(x), std::move(requested));
  const auto fetch = std::make_shared<const Fetch>(std::move(requested));
  for (std::size_t a = 0; together_ && a < key_.distribution.size(); ++a)
    key_.distribution[a].remember(requested_together(x, key_, a), fetch);
  return fetch;
}

std::optional<IdSet> RowRequests::places() const {
  const DNDarray& x = rows_.array();
  // The same on all ranks: by sizes alone.
  if (known_ || key_.at_owners || !alone_ || !*alone_ || alone_->size() == 0 ||
      !IdSet::pays(x.part().size(), alone_->size()))
    return {};
  const auto requests =
      requests_ ? requests_ : remember(*alone_, sent_to(x), send_set(rows_, key_));
  IdSet places = requests->own;
  decode_into(places, requests->forms, requests->bytes);
  return places;
}

void count_requests(Transfers& t, const IndexedRows& rows, const std::vector<i64>& entries) {
  Transfer& sent = t.pairs(Content::ids, false);
  const i64 messages = sent_at_once(rows) ? 1 : 2;
  for (int r = 0; r < t.ranks(); ++r)
    for (int q = 0; q < t.ranks(); ++q)
      if (const i64 places = most_wanted(rows, entries, r, q); places > 0)
        sent.send(r, messages,
                  static_cast<i64>(sizeof(Header)) + most_encoded_bytes(places, rows.radix(q)));
}

}  // namespace tessera::dist
