// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/indexing/masks/nonzero.hpp"

#include <algorithm>

#include "tessera/distributed/indexing/masks/mask.hpp"
#include "tessera/distributed/indexing/masks/mask_bits.hpp"
#include "tessera/distributed/indexing/positions.hpp"
#include "tessera/distributed/wire/to_index.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/nonzero/nonzero.hpp"

namespace tessera::dist {
namespace {

// How elements come to lie in NumPy's order, and how many there are in one row.
Distribution by_rows(const DNDarray& x) {
  if (*x.split() == 0) return x.distribution();
  return {0, Partition::even(x.shape(0), x.comm().size())};
}
i64 behind(const DNDarray& x) { return x.size() / std::max<i64>(1, x.shape(0)); }

// The rank's own positions, with the split axis counted from the front of the whole.
std::vector<Array> own_positions(const DNDarray& x) {
  std::vector<Array> local = tessera::nonzero(x.resident());
  for (Array& p : local) p = p.to(cpu).contiguous();
  Array& split = local[to_index(*x.split())];
  const i64 n = split.size(), begin = x.part().begin(x.comm().rank());
  i64* v = split.host<i64>();
  for (i64 j = 0; j < n; ++j) v[j] += begin;
  return local;
}

std::vector<DNDarray> listed(const DNDarray& x, const std::vector<Array>& own,
                             const std::vector<i64>& counts) {
  const Distribution distribution{0, Partition::of(counts)};
  std::vector<DNDarray> where;
  where.reserve(own.size());
  for (const Array& a : own)
    where.emplace_back(a.to(x.device()), Shape{distribution.part.size()}, distribution, x.comm());
  for (i64 a = 0; a < x.ndim(); ++a)  // as indices they need no check
    where[to_index(a)].remember(value_range, std::make_shared<const ValueRange>(
                                                 ValueRange{0, std::max<i64>(0, x.shape(a) - 1)}));
  return where;
}

}  // namespace

std::vector<DNDarray> nonzero(const DNDarray& x) {
  const Communicator& comm = x.comm();
  std::vector<DNDarray> where;
  if (!x.split()) {
    for (const Array& a : tessera::nonzero(x.local()))
      where.push_back(DNDarray::replicated(a, comm));
    return where;
  }
  if (*x.split() > 0) {  // the ranks' elements interleave: distribute it by rows, as bits
    const Distribution rows = by_rows(x);
    return nonzero(DNDarray(BitRelayout(x.astype(DType::b1), rows).run(), x.shape(), rows, comm));
  }
  const std::vector<Array> axes = own_positions(x);
  const MaskOrder order = RowCounts::by_rank(x, x.distribution()).run({axes[0].size()}, comm);
  return listed(x, axes, order.counts());
}

void count_nonzero(Transfers& t, const DNDarray& mask) {
  const Distribution rows = by_rows(mask);
  if (*mask.split() > 0) BitRelayout(mask, rows).count(t);
  RowCounts::by_rank(mask, rows).count(t);
}

void count_gathered_nonzero(Transfers& t, const DNDarray& mask) {
  const Partition rows = by_rows(mask).part;
  const i64 others = t.ranks() - 1, each = bytes_of_position(mask.shape()) * behind(mask);
  Transfer& sent = t.pairs(Content::positions, false);
  for (int r = 0; r < t.ranks(); ++r)  // an array for each axis
    sent.send(r, others * mask.ndim(), rows.count(r) * each * others);
}

void count_one_nonzero(Transfers& t, const DNDarray& mask) {
  const i64 others = t.ranks() - 1;
  Transfer& sent = t.pairs(Content::positions, false);
  for (int r = 0; r < t.ranks(); ++r)
    sent.send(r, others * mask.ndim(), bytes_of_position(mask.shape()) * others);
}

std::vector<DNDarray> nonzero_by_rank(const DNDarray& x, const std::vector<i64>& counts) {
  return listed(x, own_positions(x), counts);
}

}  // namespace tessera::dist
