// SPDX-License-Identifier: Apache-2.0
#include "tessera/dist/entry_rows.hpp"
#include "tessera/dist/index_route.hpp"

namespace tessera {
namespace {

std::size_t at(i64 i) { return static_cast<std::size_t>(i); }

// Sends each rank its notice; where any rank has a problem, all throw.
std::vector<Notice> exchange_notices(std::span<const Notice> out, const DNDarray& x,
                                     const NormalKey& key) {
  std::vector<Notice> in(out.size());
  x.comm().alltoall(out.data(), sizeof(Notice), in.data());
  for (const Notice& n : in)
    if (n.problem()) throw_first_problem(x, key);
  return in;
}

Fetch ask(const EntryRows& rows, const NormalKey& key, std::span<const i64> entries, bool problem) {
  const DNDarray& x = rows.array();
  const Communicator& comm = x.comm();
  const int p = comm.size(), me = comm.rank();
  Distinct d = distinct(entries);
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
      wires[at(q)] = encode(ids, rows.first_id(q), rows.radix(q));
    out[at(q)] = Notice::of(wires[at(q)], problem);
  }
  const std::vector<Notice> in = exchange_notices(out, x, key);
  std::vector<std::vector<std::byte>> arrived(at(p));
  std::vector<Block> sends, receives;
  for (int q = 0; q < p; ++q) {
    if (q == me) continue;
    std::vector<std::byte>& ids = wires[at(q)].bytes;
    if (!ids.empty()) sends.push_back(Block::dense(q, ids.data(), static_cast<i64>(ids.size())));
    if (in[at(q)].ids() == 0) continue;
    arrived[at(q)].resize(at(in[at(q)].bytes(rows.radix(me))));
    receives.push_back(
        Block::dense(q, arrived[at(q)].data(), static_cast<i64>(arrived[at(q)].size())));
  }
  comm.exchange(sends, receives);
  for (int q = 0; q < p; ++q)
    if (q != me)
      fetch.serve[at(q)] =
          decode(in[at(q)].kind(), arrived[at(q)], rows.first_id(me), rows.radix(me));
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
  std::string problem;
  const std::vector<Array> mine = entries_of(x, key, lead_axis, part, problem);
  Shape lead = key.plan.lead;
  lead[lead_axis] = part.count(x.comm().rank());
  Array ids;
  if (problem.empty()) ids = rows.ids(mine, lead);
  const std::span<const i64> entries =
      ids ? std::span<const i64>(ids.host<i64>(), at(ids.size())) : std::span<const i64>();
  auto fetch = std::make_shared<const Fetch>(ask(rows, key, entries, !problem.empty()));
  if (alone) alone->remember(what, fetch);
  return fetch;
}

}  // namespace tessera
