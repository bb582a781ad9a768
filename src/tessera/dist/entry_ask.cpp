// SPDX-License-Identifier: Apache-2.0
#include "tessera/dist/at.hpp"
#include "tessera/dist/entry_rows.hpp"
#include "tessera/dist/index_route.hpp"
#include "tessera/kernels/copy/copy.hpp"

namespace tessera {
namespace {

using dist::at;

// Sends each rank its notice; where any rank has a problem, all throw.
std::vector<Notice> exchange_notices(std::span<const Notice> out, const DNDarray& x,
                                     const NormalKey& key) {
  std::vector<Notice> in(out.size());
  x.comm().alltoall(out.data(), sizeof(Notice), in.data());
  for (const Notice& n : in)
    if (n.problem()) throw_first_problem(x, key);
  return in;
}

// What a rank asks for, and what its owners can work out from its positions on the split axis
// alone: where all ranks have the other arrays of the key.
class Question {
 public:
  Question(const EntryRows& rows, const NormalKey& key, i64 lead_axis, const Partition& part)
      : rows_(rows), key_(key), lead_axis_(lead_axis), part_(part) {
    const DNDarray& x = rows.array();
    mine_ = entries_of(x, key, lead_axis, part, problem_);
    for (std::size_t a = 0; a < mine_.size(); ++a) {
      if (key.plan.axes[static_cast<i64>(a)] == *x.split())
        split_ = a;
      else
        told_ = told_ || (key.spread[a] && has_axis(key.spread[a]));
    }
    if (problem_.empty()) ids_ = rows.ids(mine_, lead_of(x.comm().rank()));
  }
  bool problem() const { return !problem_.empty(); }
  std::span<const i64> entries() const {
    return ids_ ? std::span<const i64>(ids_.host<i64>(), at(ids_.size())) : std::span<const i64>();
  }
  i64 bytes_of_positions(int rank) const {
    return count_of(key_.spread[split_].lshape(rank)) * width();
  }
  // As ids, or as positions where those are fewer bytes.
  Wire wire(std::span<const i64> ids, int owner) const {
    Wire wire = encode(ids, rows_.first_id(owner), rows_.radix(owner));
    const i64 bytes = bytes_of_positions(rows_.array().comm().rank());
    if (ids.empty() || told_ || bytes >= static_cast<i64>(wire.bytes.size())) return wire;
    const Array positions = mine_[split_].contiguous();
    wire.kind = WireKind::positions;
    wire.bytes.resize(at(bytes));
    put_numbers({positions.host<i64>(), at(positions.size())}, width(), wire.bytes.data());
    return wire;
  }
  // The ids of this rank that `rank` wants, as it listed them.
  std::vector<i64> answer(WireKind kind, std::span<const std::byte> bytes, int rank) const {
    const int me = rows_.array().comm().rank();
    const i64 first = rows_.first_id(me), radix = rows_.radix(me);
    if (kind != WireKind::positions) return decode(kind, bytes, first, radix);
    const Array positions = empty_dense(key_.spread[split_].lshape(rank), DType::i64);
    take_numbers(bytes.data(), width(), {positions.host<i64>(), at(positions.size())});
    std::vector<Array> theirs;
    for (std::size_t a = 0; a < mine_.size(); ++a)
      theirs.push_back(a == split_ ? positions
                       : key_.spread[a]
                           ? mine_[a]  // whole on every rank
                           : cut_positions(key_.plan.arrays[a], key_.plan.lead, lead_axis_,
                                           part_.begin(rank), part_.end(rank)));
    const Array ids = rows_.ids(theirs, lead_of(rank));
    return distinct_within({ids.host<i64>(), at(ids.size())}, first, first + radix);
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

  const EntryRows& rows_;
  const NormalKey& key_;
  i64 lead_axis_;
  const Partition& part_;
  std::string problem_;
  std::vector<Array> mine_;
  std::size_t split_ = 0;  // which of them is on the split axis
  bool told_ = false;      // others came from some ranks alone
  Array ids_;
};

Fetch ask(const EntryRows& rows, const NormalKey& key, const Question& question) {
  const DNDarray& x = rows.array();
  const Communicator& comm = x.comm();
  const int p = comm.size(), me = comm.rank();
  Distinct d = distinct(question.entries());
  Fetch fetch;
  fetch.bounds = owner_bounds(d.ids, x.part(), rows.ids_per_entry());
  fetch.wanted = std::move(d.ids);
  fetch.slot = std::move(d.slot);
  fetch.serve.resize(at(p));
  std::vector<Wire> wires(at(p));
  std::vector<Notice> out(at(p));
  for (int q = 0; q < p; ++q) {
    const i64 first = fetch.bounds[at(q)], count = fetch.bounds[at(q) + 1] - first;
    const std::span<const i64> ids{fetch.wanted.data() + first, at(count)};
    if (q == me)
      fetch.serve[at(q)].assign(ids.begin(), ids.end());
    else
      wires[at(q)] = question.wire(ids, q);
    out[at(q)] = Notice::of(wires[at(q)], question.problem());
  }
  const std::vector<Notice> in = exchange_notices(out, x, key);
  std::vector<std::vector<std::byte>> arrived(at(p));
  std::vector<Block> sends, receives;
  for (int q = 0; q < p; ++q) {
    if (q == me) continue;
    std::vector<std::byte>& ids = wires[at(q)].bytes;
    if (!ids.empty()) sends.push_back(Block::dense(q, ids.data(), static_cast<i64>(ids.size())));
    const Notice& n = in[at(q)];
    if (n.ids() == 0) continue;
    arrived[at(q)].resize(at(n.kind() == WireKind::positions ? question.bytes_of_positions(q)
                                                             : n.bytes(rows.radix(me))));
    receives.push_back(
        Block::dense(q, arrived[at(q)].data(), static_cast<i64>(arrived[at(q)].size())));
  }
  comm.exchange(sends, receives);
  for (int q = 0; q < p; ++q)
    if (q != me && in[at(q)].ids() > 0)
      fetch.serve[at(q)] = question.answer(in[at(q)].kind(), arrived[at(q)], q);
  return fetch;
}

}  // namespace

std::shared_ptr<const Fetch> ask_owners(const EntryRows& rows, const NormalKey& key, i64 lead_axis,
                                        const Partition& part) {
  const DNDarray& x = rows.array();
  const DNDarray* alone = key.plan.arrays.size() == 1 ? &key.spread[0] : nullptr;
  std::string what;
  if (alone) {
    what = cat("asked of ", join(x.part().starts()));
    if (const auto known = alone->recall(what)) return std::static_pointer_cast<const Fetch>(known);
  }
  const Question question(rows, key, lead_axis, part);
  auto fetch = std::make_shared<const Fetch>(ask(rows, key, question));
  if (alone) alone->remember(what, fetch);
  return fetch;
}

}  // namespace tessera
