// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/indexing/masks/mask_rows.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <numeric>

#include "tessera/distributed/exchange/point_to_point.hpp"
#include "tessera/distributed/indexing/rows/fetch.hpp"
#include "tessera/distributed/wire/packed_counts.hpp"
#include "tessera/distributed/wire/to_index.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/gather/gather.hpp"

namespace tessera::dist {

MaskRows::MaskRows(std::shared_ptr<const MaskOrder> order, Partition to, const Communicator& comm)
    : order_(std::move(order)), to_(std::move(to)), me_(comm.rank()) {
  for (int r = 1; r < comm.size(); ++r) {
    const i64 g = group_of(to_.begin(r));
    const bool within = g < groups() && order_->before[to_index(g)] < to_.begin(r);
    if (within && (cut_.empty() || cut_.back() < g)) cut_.push_back(g);
  }
  if (order_->group == 1) return;  // all is known
  tell_cut_groups(comm);
  tell_inner_groups(comm);
}

i64 MaskRows::groups() const { return std::ssize(order_->before) - 1; }

i64 MaskRows::group_of(i64 element) const {
  const std::vector<i64>& before = order_->before;
  return std::upper_bound(before.begin() + 1, before.end(), element) - before.begin() - 1;
}

i64 MaskRows::rows_of(const Groups& g) const {
  return std::min(g.last * order_->group, order_->rows) - g.first * order_->group;
}

bool MaskRows::is_cut(i64 group) const {
  return std::binary_search(cut_.begin(), cut_.end(), group);
}

MaskRows::Groups MaskRows::inner_of(int rank) const {
  if (to_.count(rank) == 0) return {};
  Groups g{group_of(to_.begin(rank)), group_of(to_.end(rank) - 1) + 1};
  while (g.first < g.last && is_cut(g.first)) ++g.first;
  while (g.last > g.first && is_cut(g.last - 1)) --g.last;
  return g;
}

// Whether a rank picks anything there: otherwise it has nothing to say.
bool MaskRows::picks(int rank, const Groups& g) const {
  const std::vector<i64>& of_rank = order_->picked[to_index(rank)];
  return std::any_of(of_rank.begin() + g.first, of_rank.begin() + g.last,
                     [](i64 n) { return n > 0; });
}

std::span<const i64> MaskRows::own(const Groups& g) const {
  return {order_->own.data() + g.first * order_->group, to_index(rows_of(g))};
}

std::span<const i64> MaskRows::of(int rank, i64 group) const {
  if (order_->group == 1) return {&order_->picked[to_index(rank)][to_index(group)], 1};
  const auto cut = std::lower_bound(cut_.begin(), cut_.end(), group);
  const std::size_t n = to_index(rows_of({group, group + 1}));
  if (cut != cut_.end() && *cut == group)
    return {at_cuts_[to_index(rank)].data() + (cut - cut_.begin()) * order_->group, n};
  return {inner_[to_index(rank)].data() + (group - inner_of(me_).first) * order_->group, n};
}

void MaskRows::tell_cut_groups(const Communicator& comm) {
  std::vector<i64> mine;
  for (const i64 g : cut_) {
    const auto rows = own({g, g + 1});
    mine.insert(mine.end(), rows.begin(), rows.end());
  }
  if (!mine.empty()) at_cuts_ = allgather_counts(mine, order_->widest, comm);
}

void MaskRows::tell_inner_groups(const Communicator& comm) {
  const int p = comm.size();
  const CountPacking packing(order_->widest);
  const Groups here = inner_of(me_);
  std::vector<std::vector<std::byte>> sent(to_index(p)), got(to_index(p));
  std::vector<Block> sends, receives;
  for (int r = 0; r < p; ++r) {
    if (r == me_) continue;
    if (const Groups there = inner_of(r); there.first < there.last && picks(me_, there)) {
      sent[to_index(r)] = packing.pack(own(there));
      sends.push_back(Block::dense(r, sent[to_index(r)].data(), std::ssize(sent[to_index(r)])));
    }
    if (here.first == here.last || !picks(r, here)) continue;
    got[to_index(r)].resize(to_index(packing.bytes(rows_of(here))));
    receives.push_back(Block::dense(r, got[to_index(r)].data(), std::ssize(got[to_index(r)])));
  }
  comm.exchange(sends, receives);
  inner_.resize(to_index(p));
  for (int r = 0; r < p; ++r) {
    if (r == me_)
      inner_[to_index(r)].assign(own(here).begin(), own(here).end());
    else if (got[to_index(r)].empty())
      inner_[to_index(r)].resize(to_index(rows_of(here)));
    else
      inner_[to_index(r)] = packing.unpack(got[to_index(r)].data(), rows_of(here));
  }
}

i64 MaskRows::bytes() const {
  if (order_->group == 1) return 0;
  i64 most = 0;
  for (int r = 0; r < to_.ranks(); ++r) most = std::max(most, rows_of(inner_of(r)));
  return 8 * to_.ranks() * (std::ssize(cut_) * order_->group + most);
}

// How many elements of a rank lie before one of the result with which a part begins.
i64 MaskRows::before(int rank, i64 element) const {
  const i64 g = std::min(group_of(element), groups());
  const std::vector<i64>& theirs = order_->picked[to_index(rank)];
  i64 sum = std::accumulate(theirs.begin(), theirs.begin() + g, i64{0});
  if (g == groups() || order_->before[to_index(g)] == element) return sum;
  i64 left = element - order_->before[to_index(g)];  // elements of the group that lie before it
  for (std::size_t row = 0; left > 0; ++row)
    for (int r = 0; r < to_.ranks() && left > 0; ++r) {
      const i64 n = std::min(left, of(r, g)[row]);
      if (r == rank) sum += n;
      left -= n;
    }
  return sum;
}

std::vector<i64> MaskRows::bounds(int rank) const {
  std::vector<i64> bounds;
  bounds.reserve(to_index(to_.ranks()) + 1);
  for (int r = 0; r < to_.ranks(); ++r) bounds.push_back(before(rank, to_.begin(r)));
  bounds.push_back(before(rank, order_->total()));
  return bounds;
}

MaskShares MaskRows::shares() const {
  const int p = to_.ranks();
  MaskShares shares{bounds(me_), std::vector<std::vector<i64>>(to_index(p))};
  const i64 begin = to_.begin(me_), end = to_.end(me_);
  if (begin == end) return shares;
  for (i64 g = group_of(begin); g < groups() && order_->before[to_index(g)] < end; ++g) {
    i64 first = order_->before[to_index(g)];
    std::vector<std::span<const i64>> of_group(to_index(p));
    for (int r = 0; r < p; ++r) of_group[to_index(r)] = of(r, g);
    for (std::size_t row = 0; row < of_group[0].size(); ++row)
      for (int r = 0; r < p; ++r) {
        const i64 next = first + of_group[to_index(r)][row];
        for (i64 k = std::max(first, begin); k < std::min(next, end); ++k)
          shares.places[to_index(r)].push_back(k - begin);
        first = next;
      }
  }
  return shares;
}

Array put_in_order(const Array& mine, const MaskRows& rows, const Communicator& comm) {
  const int me = comm.rank();
  const Array held = mine.contiguous().to(cpu);
  Shape shape = mine.shape();
  shape[0] = rows.to().count(me);
  const Array arrived = empty_dense(shape, mine.dtype(), cpu);
  const Array place = empty_dense({shape[0]}, DType::i64, cpu);  // where each arrived element goes
  i64 row = size_of(mine.dtype());
  for (i64 a = 1; a < shape.size(); ++a) row *= shape[a];
  auto* from = static_cast<std::byte*>(held.host_data());
  auto* into = static_cast<std::byte*>(arrived.host_data());
  i64* places = place.host<i64>();
  std::vector<Block> sends, receives;
  i64 filled = 0;
  const MaskShares shares = rows.shares();
  for (int r = 0; r < comm.size(); ++r) {
    const std::vector<i64>& theirs = shares.places[to_index(r)];
    const i64 in = std::ssize(theirs), first = shares.bounds[to_index(r)],
              out = shares.bounds[to_index(r) + 1] - first;
    for (i64 k = 0; k < in; ++k) places[theirs[to_index(k)]] = filled + k;
    if (r == me) {
      if (in * row > 0) std::memcpy(into + filled * row, from + first * row, to_index(in * row));
    } else {
      if (in * row > 0) receives.push_back(Block::dense(r, into + filled * row, in * row));
      if (out * row > 0) sends.push_back(Block::dense(r, from + first * row, out * row));
    }
    filled += in;
  }
  comm.exchange(sends, receives);
  return take(arrived, place, 0).to(mine.device());
}

Array in_order(const DNDarray& elements, i64 axis, MaskShares shares) {
  const int me = elements.comm().rank();
  DistIndex pick;
  for (i64 a = 0; a < axis; ++a) pick.add(Slice{});
  pick.add(stand_in({0}, DType::i64));
  const IndexedRows rows(elements, normalize(elements, pick));
  Fetch fetch;
  const i64 begin = elements.part().begin(me), end = elements.part().end(me);
  for (const std::vector<i64>& theirs : shares.places)
    fetch.serve.emplace_back(theirs.size(), end,
                             [&, next = theirs.data()]() mutable { return begin + *next++; });
  fetch.bounds = std::move(shares.bounds);
  fetch.slot =
      NarrowList(to_index(fetch.wanted()), fetch.wanted(), [n = i64{0}]() mutable { return n++; });
  const Array first = fetch_rows(rows, fetch);
  Shape back;
  for (i64 a = 0; a < first.ndim(); ++a) back.push_back(a < axis ? a + 1 : a == axis ? 0 : a);
  return first.permute(back);
}

}  // namespace tessera::dist
