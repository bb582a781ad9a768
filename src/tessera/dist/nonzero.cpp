// SPDX-License-Identifier: Apache-2.0
#include "tessera/dist/nonzero.hpp"

#include <algorithm>

#include "tessera/dist/mask.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/nonzero/nonzero.hpp"

namespace tessera::dist {
namespace {

std::size_t at(i64 i) { return static_cast<std::size_t>(i); }

DType smallest_type(i64 radix) {
  if (radix <= i64{1} << 8) return DType::u8;
  if (radix <= i64{1} << 16) return DType::u16;
  return radix <= i64{1} << 32 ? DType::u32 : DType::i64;
}

// The rank's own positions, with the split axis counted from the front of the whole.
std::vector<Array> own_positions(const DNDarray& x) {
  std::vector<Array> local = tessera::nonzero(x.resident());
  for (Array& p : local) p = p.to(cpu).contiguous();
  Array& split = local[at(*x.split())];
  i64* v = split.host<i64>();
  for (i64 j = 0; j < split.size(); ++j) v[j] += x.part().begin(x.comm().rank());
  return local;
}

// One number for the axes from the split on: what travels. The row follows from the order.
Array within_row(const DNDarray& x, const std::vector<Array>& local) {
  const i64 n = local[0].size();
  const Array within = zeros({n}, DType::i64).contiguous();
  i64* w = within.host<i64>();
  for (i64 a = *x.split(); a < x.ndim(); ++a) {
    const i64* v = local[at(a)].host<i64>();
    for (i64 j = 0; j < n; ++j) w[j] = w[j] * x.shape(a) + v[j];
  }
  return within;
}

// Digits of `number` over axes [first, last) of a shape, at place j of their arrays.
void put_digits(const std::vector<Array>& axes, const Shape& shape, i64 first, i64 last, i64 number,
                i64 j) {
  for (i64 a = last - 1; a >= first; --a) {
    axes[at(a)].host<i64>()[j] = number % shape[a];
    number /= shape[a];
  }
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
  const i64 split = *x.split();
  std::vector<Array> axes = own_positions(x);
  const MaskOrder order = order_of_mask(x, {x, 0}, x.resident());
  Spread spread{0, Partition::of(order.counts())};
  if (split > 0) {
    i64 width = 1;
    for (i64 a = split; a < x.ndim(); ++a) width *= x.shape(a);
    spread.part = Partition::even(order.total(), comm.size());
    const Array mine =
        put_in_order(within_row(x, axes).astype(smallest_type(width)), order, spread.part, comm)
            .astype(DType::i64)
            .contiguous();
    const i64* numbers = mine.host<i64>();
    for (Array& a : axes) a = empty_dense({mine.size()}, DType::i64);
    i64 row = 0;
    for (i64 j = 0; j < mine.size(); ++j) {
      while (order.before[at(row + 1)] <= spread.part.begin(comm.rank()) + j) ++row;
      put_digits(axes, x.shape(), 0, split, row, j);
      put_digits(axes, x.shape(), split, x.ndim(), numbers[j], j);
    }
  }
  for (const Array& a : axes)
    where.emplace_back(a.to(x.device()), Shape{order.total()}, spread, comm);
  return where;
}

}  // namespace tessera::dist
