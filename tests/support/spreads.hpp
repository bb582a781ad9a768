// SPDX-License-Identifier: Apache-2.0
#pragma once
// Distributed arrays for tests: every way to deal out a shape (even, uneven, all on one rank),
// parts cut by plain slicing, and comparison of bits on every rank.
//   on_ranks([](Communicator comm) {
//     for (const Spread& s : spreads_of(shape, comm.size())) check(spread_out(whole, s, comm)); });

#include <gtest/gtest.h>

#include <vector>

#include "support/arrays.hpp"
#include "support/ranks.hpp"
#include "tessera/distributed/array/dnd_array.hpp"
#include "tessera/kernels/copy/copy.hpp"

namespace tessera {

// 0, 1, 2, … in row-major order; exact in every dtype while there are few.
inline Array counted(const Shape& shape, DType dtype = DType::i64, Device device = cpu) {
  return arange(Value(0), Value(count_of(shape)), Value(1), dtype, device).reshape(shape);
}

// Counts of n entries: even, most on the first (n - 3, 2, 1), most on the last, all on one in the
// middle.
inline std::vector<Partition> partitions_of(i64 n, int p) {
  std::vector<Partition> parts{Partition::even(n, p), Partition::all_on(n, p, p / 2)};
  std::vector<i64> first(static_cast<std::size_t>(p), 0);
  i64 left = n;
  for (int r = p - 1; r > 0; --r)
    left -= first[static_cast<std::size_t>(r)] = std::min<i64>(left, r > 2 ? 0 : 3 - r);
  first[0] = left;
  parts.push_back(Partition::of(first));
  parts.push_back(Partition::of(std::vector<i64>(first.rbegin(), first.rend())));
  return parts;
}

inline std::vector<Spread> spreads_of(const Shape& shape, int p) {
  std::vector<Spread> spreads{{}};
  for (i64 a = 0; a < shape.size(); ++a)
    for (const Partition& part : partitions_of(shape[a], p)) spreads.push_back({a, part});
  return spreads;
}

// This rank's part of `whole`, a copy in an awkward layout.
inline Array part_of(const Array& whole, const Spread& spread, int rank, Lay lay = Lay::dense) {
  Array part = whole;
  if (spread.split)
    part = whole.slice(*spread.split, spread.part.begin(rank), spread.part.end(rank));
  i64 size = 0;
  const Layout layout = layout_of(part.shape(), lay, &size);
  const Array copy(Storage::allocate(whole.device(), size * size_of(whole.dtype())), layout,
                   whole.dtype());
  copy.copy_from(part);
  return copy;
}

inline DNDarray spread_out(const Array& whole, const Spread& spread, const Communicator& comm,
                           Lay lay = Lay::dense) {
  return DNDarray(part_of(whole, spread, comm.rank(), lay), whole.shape(), spread, comm);
}

// The spread that was expected, and this rank's part of `whole` in it; nothing is sent.
inline void expect_spread(const DNDarray& x, const Array& whole, const Spread& spread) {
  EXPECT_EQ(x.shape(), whole.shape());
  ASSERT_TRUE(x.spread() == spread) << "split " << (x.split() ? *x.split() : -1);
  EXPECT_EQ(x.resident().shape(), x.lshape());
  EXPECT_TRUE(same_bits(x.resident(), part_of(whole, spread, x.comm().rank())))
      << to_text(x.shape()) << " on rank " << x.comm().rank();
}

}  // namespace tessera
