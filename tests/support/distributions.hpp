// SPDX-License-Identifier: Apache-2.0
#pragma once
// Distributed arrays for tests: every way to distribute a shape (even, uneven, all on one rank),
// parts cut by plain slicing, and comparison of bits on every rank.
//   on_ranks([](Communicator comm) {
//     for (const dist::Distribution& s : distributions_of(shape, comm.size())) check(distribute(whole, s,
//     comm)); });

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

inline std::vector<dist::Distribution> distributions_of(const Shape& shape, int p) {
  std::vector<dist::Distribution> distributions{{}};
  for (i64 a = 0; a < shape.size(); ++a)
    for (const Partition& part : partitions_of(shape[a], p)) distributions.push_back({a, part});
  return distributions;
}

// This rank's part of `whole`, a copy in an awkward layout.
inline Array part_of(const Array& whole, const dist::Distribution& distribution, int rank,
                     Lay lay = Lay::dense) {
  Array part = whole;
  if (distribution.split)
    part = whole.slice(*distribution.split, distribution.part.begin(rank),
                       distribution.part.end(rank));
  i64 size = 0;
  const Layout layout = layout_of(part.shape(), lay, &size);
  const Array copy(Storage::allocate(whole.device(), size * size_of(whole.dtype())), layout,
                   whole.dtype());
  copy.copy_from(part);
  return copy;
}

inline DNDarray distribute(const Array& whole, const dist::Distribution& distribution,
                           const Communicator& comm, Lay lay = Lay::dense) {
  return DNDarray(part_of(whole, distribution, comm.rank(), lay), whole.shape(), distribution,
                  comm);
}

// The distribution that was expected, and this rank's part of `whole` in it; nothing is sent.
inline void expect_distributed(const DNDarray& x, const Array& whole,
                               const dist::Distribution& distribution) {
  EXPECT_EQ(x.shape(), whole.shape());
  ASSERT_TRUE(x.distribution() == distribution) << "split " << (x.split() ? *x.split() : -1);
  EXPECT_EQ(x.resident().shape(), x.lshape());
  EXPECT_TRUE(same_bits(x.resident(), part_of(whole, distribution, x.comm().rank())))
      << to_text(x.shape()) << " on rank " << x.comm().rank();
}

}  // namespace tessera
