// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "tessera/distributed/indexing/masks/mask.hpp"
#include "tessera/distributed/wire/packed_counts.hpp"
#include "tessera/distributed/wire/to_index.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/reduce/reduce.hpp"

namespace tessera::dist {

RowCounts RowCounts::of(const DNDarray& x, const SoleMask& mask, bool each) {
  RowCounts c;
  for (i64 a = mask.first; a < *x.split(); ++a) c.rows *= x.shape(a);
  i64 behind = 1;
  for (i64 a = *x.split() - mask.first + 1; a < mask.mask.ndim(); ++a) behind *= mask.mask.shape(a);
  for (const i64 n : x.part().counts()) c.widest = std::max(c.widest, n * behind);
  if (!each) c.group = rows_together(c.rows, c.widest, x.comm().size());
  return c;
}

RowCounts RowCounts::by_rank(const DNDarray& mask, const Distribution& as) {
  const i64 row = mask.size() / std::max<i64>(1, mask.shape(*as.split));
  RowCounts c;
  for (const i64 n : as.part.counts()) c.widest = std::max(c.widest, n * row);
  return c;
}

MaskOrder RowCounts::run(std::vector<i64> own, const Communicator& comm) const {
  MaskOrder order{*this, std::move(own), {}, {0}};
  std::vector<i64> sums;
  for (i64 row = 0; row < order.rows; row += order.group) {
    const auto first = order.own.begin() + row;
    sums.push_back(std::accumulate(first, first + std::min(order.group, order.rows - row), i64{0}));
  }
  order.picked = allgather_counts(sums, widest * group, comm);
  for (std::size_t g = 0; g < sums.size(); ++g) {
    i64 sum = order.before.back();
    for (const std::vector<i64>& of_rank : order.picked) sum += of_rank[g];
    order.before.push_back(sum);
  }
  return order;
}

std::vector<i64> MaskOrder::counts() const {
  std::vector<i64> sums;
  for (const std::vector<i64>& of_rank : picked)
    sums.push_back(std::accumulate(of_rank.begin(), of_rank.end(), i64{0}));
  return sums;
}

std::vector<i64> MaskOrder::positions(int rank) const {
  std::vector<i64> all;
  for (i64 row = 0; row < rows; ++row) {
    i64 first = before[to_index(row)];
    for (int r = 0; r < rank; ++r) first += picked[to_index(r)][to_index(row)];
    for (i64 k = 0; k < picked[to_index(rank)][to_index(row)]; ++k) all.push_back(first + k);
  }
  return all;
}

i64 bytes_of_counts(i64 rows, i64 widest) { return CountPacking(widest).bytes(rows); }

i64 rows_together(i64 rows, i64 widest, int ranks) {
  constexpr i64 worth = 512;  // bytes of one rank, for two more rounds of messages
  if (ranks < 3) return 1;
  const i64 others = ranks - 1, each = bytes_of_counts(rows, widest);
  i64 best = 1, least = others * each - worth;
  for (i64 group = 2; group < rows; group += (group + 1) / 2) {
    const i64 bytes = others * (bytes_of_counts((rows + group - 1) / group, widest * group) +
                                bytes_of_counts(std::min(rows, others * group), widest)) +
                      each;
    if (bytes >= least) continue;
    best = group;
    least = bytes;
  }
  return best;
}

i64 RowCounts::bytes() const { return bytes_of_counts((rows + group - 1) / group, widest * group); }

void RowCounts::count(Transfers& t) const { t.to_all(Content::counts, bytes()); }

void RowCounts::count_single_rows(Transfers& t) const {
  if (group == 1) return;
  const i64 others = t.ranks() - 1;
  t.to_all(Content::counts, bytes_of_counts(std::min(rows, others * group), widest), false);
  Transfer& inner = t.pairs(Content::counts, false);
  for (int r = 0; r < t.ranks(); ++r)
    inner.send(r, others, bytes_of_counts(rows, widest) + 2 * t.ranks());
}

MaskOrder counted_by_rank(const DNDarray& mask) {
  const i64 own = reduce(ReduceOp::count_nonzero, mask.resident()).item().as<i64>();
  return RowCounts::by_rank(mask, mask.distribution()).run({own}, mask.comm());
}

std::vector<i64> picked_by_row(const DNDarray& x, const SoleMask& mask, const Array& local) {
  const i64 rows = RowCounts::of(x, mask, true).rows, width = rows > 0 ? local.size() / rows : 0;
  const Array counts =
      reduce(ReduceOp::count_nonzero, local.contiguous().reshape({rows, width}), Axes{1})
          .to(cpu)
          .contiguous();
  return {counts.host<i64>(), counts.host<i64>() + rows};
}

}  // namespace tessera::dist
