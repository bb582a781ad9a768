// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/indexing/rows/indexed_rows.hpp"

#include <algorithm>

#include "tessera/distributed/wire/bool_bits.hpp"
#include "tessera/distributed/wire/to_index.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/gather/by_bits.hpp"
#include "tessera/kernels/gather/gather.hpp"

namespace tessera::dist {
namespace {

Array host_list(i64 n) {
  return Array(Storage::allocate(cpu, n * 8), Layout::contiguous({n}), DType::i64);
}

}  // namespace

Array on_host_dense(const Array& a) { return a.contiguous().to(cpu); }

IndexedRows::IndexedRows(const DNDarray& x, const NormalKey& key) : x_(x) {
  // The slices and integers of the key leave the same of every rank's part; positions are digits.
  const IndexPlan local = resolve(local_key(key, key.plan.arrays, {}, cpu), x.resident().layout());
  base_ = x.resident().view(local.view);
  for (i64 a = 0; a < key.plan.indexed(); ++a) {
    const i64 axis = key.plan.axes[a];
    extents_.push_back(x.shape(axis));
    if (axis == *x.split()) split_digit_ = a;
  }
  for (i64 a = 0; a < extents_.size(); ++a)
    if (a != split_digit_) per_entry_ *= extents_[a];
  for (i64 a = extents_.size(); a < base_.ndim(); ++a) rest_.push_back(base_.shape(a));
}

Array IndexedRows::ids(std::span<const Array> positions, const Shape& lead) const {
  if (extents_.size() == 1) return positions[0].broadcast_to(lead).contiguous();
  Array sum = ops::multiply(positions[to_index(split_digit_)], Value(per_entry_));
  i64 weight = per_entry_;
  for (i64 a = 0; a < extents_.size(); ++a) {
    if (a == split_digit_) continue;
    weight /= std::max<i64>(1, extents_[a]);
    sum = ops::add(sum, ops::multiply(positions[to_index(a)], Value(weight)));
  }
  return sum.broadcast_to(lead).contiguous();
}

std::vector<Array> IndexedRows::positions_of(std::span<const i64> ids) const {
  const auto n = static_cast<i64>(ids.size());
  const i64 begin = x_.part().begin(x_.comm().rank());
  std::vector<Array> positions;
  i64 weight = per_entry_;
  for (i64 a = 0; a < extents_.size(); ++a) {
    Array p = host_list(n);
    i64* to = p.host<i64>();
    if (per_entry_ == 1 && a == split_digit_) {
      for (i64 j = 0; j < n; ++j) to[j] = ids[to_index(j)] - begin;
    } else if (a == split_digit_) {
      for (i64 j = 0; j < n; ++j) to[j] = ids[to_index(j)] / per_entry_ - begin;
    } else {
      weight /= std::max<i64>(1, extents_[a]);  // nothing is asked of an empty axis
      for (i64 j = 0; j < n; ++j) to[j] = ids[to_index(j)] / weight % extents_[a];
    }
    positions.push_back(p.to(x_.device()));
  }
  return positions;
}

Array IndexedRows::read(std::span<const i64> ids) const {
  Index key;
  for (const Array& p : positions_of(ids)) key.add(p);
  return base_[key].contiguous();
}

void IndexedRows::write(std::span<const i64> ids, const Array& rows) const {
  Index key;
  for (const Array& p : positions_of(ids)) key.add(p);
  base_.assign(key, rows);
}

void IndexedRows::write_all(const IdSet& ids, const Array& row) const {
  if (assign_by_bits(base_, ids.words(), row)) return;
  const Array mask = empty_dense({ids.last() - ids.first()}, DType::b1);
  bools_of_bits(reinterpret_cast<const std::uint8_t*>(ids.words().data()), mask.size(),
                mask.host<bool>());
  base_.assign(Index(mask.to(x_.device())), row);
}

void IndexedRows::write_slab(std::span<const i64> ids, const Array& rows, i64 axis,
                             i64 first) const {
  Index key;
  for (const Array& p : positions_of(ids)) key.add(p);
  const i64 own = extents_.size() + axis;
  base_.slice(own, first, first + rows.shape(1 + axis)).assign(key, rows);
}

}  // namespace tessera::dist
