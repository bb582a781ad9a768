// SPDX-License-Identifier: Apache-2.0
// Masks whose picked elements interleave over the ranks, with so many rows that these are counted
// in groups: x[mask] and x[mask] = v, beside the same on a whole array.
#include "tessera/dist/mask.hpp"

#include <gtest/gtest.h>

#include <random>

#include "support/ranks.hpp"
#include "support/support.hpp"
#include "tessera/dist/explain.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/reduce/reduce.hpp"

namespace tessera {
namespace {

using Rng = std::mt19937_64;

bool same(const Array& a, const Array& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() &&
         (a.size() == 0 || reduce(ReduceOp::all, ops::equal(a, b)).item().as<bool>());
}

Array counting(const Shape& shape) {
  return arange(Value(0), Value(count_of(shape)), Value(1), DType::i64).reshape(shape);
}

// Everywhere alike, or in some rows alone, or nothing at all: parts begin anywhere.
Array any_mask(Rng& rng, const Shape& shape, int kind) {
  const Array mask = empty_dense(shape, DType::b1);
  bool* to = mask.host<bool>();
  const i64 row = shape[1];
  for (i64 j = 0; j < mask.size(); ++j) {
    const i64 at_row = j / row;
    const bool here = kind == 0 || (kind == 1 && at_row < 40) || (kind == 2 && at_row % 300 == 7) ||
                      (kind == 3 && j % row == 2);
    to[j] = here && rng() % 10 < (kind == 0 ? 3 : 8);
  }
  return mask;
}

DNDarray dealt(const Array& whole, i64 axis, const Communicator& comm) {
  const Partition part = Partition::even(whole.shape(axis), comm.size());
  const Array mine = whole.slice(axis, part.begin(comm.rank()), part.end(comm.rank()));
  return DNDarray(mine.to(test_device()).copy(), whole.shape(), {axis, part}, comm);
}

i64 sent(const Communicator& comm, const Traffic& before) {
  i64 bytes = comm.traffic().bytes - before.bytes;
  comm.allreduce(&bytes, 1, DType::i64, Combine::sum);
  return bytes;
}

}  // namespace

TEST(DistMask, RowsAreCountedInGroups) {
  EXPECT_EQ(rows_together(1, 100, 8), 1);
  EXPECT_EQ(rows_together(1562, 32, 2), 1);
  EXPECT_GT(rows_together(1562, 16, 4), 1);
  EXPECT_GT(rows_together(1562, 8, 8), 1);
  EXPECT_EQ(bytes_of_counts(1, 255), 1);
  EXPECT_EQ(bytes_of_counts(1, 256), 2);
  EXPECT_EQ(bytes_of_counts(100, 0), 0);
  EXPECT_LE(bytes_of_counts(1562, 8), 626);  // log2 of 9 is 3.17, four bits would be 781
}

TEST(DistMask, InterleavedElementsComeInOrder) {
  on_ranks([](const Communicator& comm) {
    const int p = comm.size();
    Rng rng(3);
    const Shape shape{3001, 23};
    const Array whole = counting(shape);
    for (int kind = 0; kind < 5; ++kind) {
      const Array mask = any_mask(rng, shape, kind);
      const DNDarray x = dealt(whole, 1, comm), m = dealt(mask, 1, comm);
      const DistIndex key{m};
      const Explanation e = explain(x, key);
      const Traffic before = comm.traffic();
      const DNDarray y = x[key];
      const i64 bytes = comm.traffic().bytes - before.bytes;
      EXPECT_LE(bytes, e.sent[static_cast<std::size_t>(comm.rank())]);
      const Array expected = whole[Index(mask)];
      EXPECT_TRUE(same(y.gathered().to(cpu), expected)) << p << " ranks, mask " << kind;
      // Values dealt out, and whole on every rank.
      const Array v = ops::multiply(counting({expected.size()}), Value(-1));
      const Array target = whole.copy();
      target.assign(Index(mask), v);
      x.assign(key, dealt(v, 0, comm));
      EXPECT_TRUE(same(x.gathered().to(cpu), target)) << p << " ranks, mask " << kind;
      const DNDarray again = dealt(whole, 1, comm);
      again.assign(key, v.to(test_device()));
      EXPECT_TRUE(same(again.gathered().to(cpu), target)) << p << " ranks, mask " << kind;
    }
  });
}

// What is sent beside the elements is little more than each count once.
TEST(DistMask, CountsTravelAboutOnce) {
  on_ranks({2, 4, 8}, [](const Communicator& comm) {
    const int p = comm.size();
    Rng rng(3);
    const Shape shape{1562, 64};
    const Array mask = any_mask(rng, shape, 0);
    const DNDarray x = dealt(counting(shape), 1, comm), m = dealt(mask, 1, comm);
    const Traffic before = comm.traffic();
    const DNDarray y = x[DistIndex{m}];
    const i64 bytes = sent(comm, before), data = y.size() * 8;
    EXPECT_LE(bytes, data - data / p + data / 16) << p;
  });
}

}  // namespace tessera
