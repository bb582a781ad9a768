// SPDX-License-Identifier: Apache-2.0
// Masks whose picked elements interleave over the ranks, with so many rows that these are counted
// in groups: x[mask] and x[mask] = v, beside the same on a whole array.
#include "tessera/dist/mask.hpp"

#include <gtest/gtest.h>

#include "support/rng.hpp"
#include "support/spreads.hpp"
#include "tessera/dist/explain.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/reduce/reduce.hpp"

namespace tessera {
namespace {

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

DNDarray dealt_evenly(const Array& whole, i64 axis, const Communicator& comm) {
  const Partition part = Partition::even(whole.shape(axis), comm.size());
  return spread_out(whole.to(test_device()), {axis, part}, comm);
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
    const Array whole = counted(shape);
    for (int kind = 0; kind < 5; ++kind) {
      const Array mask = any_mask(rng, shape, kind);
      const DNDarray x = dealt_evenly(whole, 1, comm), m = dealt_evenly(mask, 1, comm);
      const DistIndex key{m};
      const Explanation e = explain(x, key);
      const Traffic before = comm.traffic();
      const DNDarray y = x[key];
      const i64 bytes = comm.traffic().bytes - before.bytes;
      EXPECT_LE(bytes, e.sent[static_cast<std::size_t>(comm.rank())]);
      const Array expected = whole[Index(mask)];
      EXPECT_TRUE(same_bits(y.gathered().to(cpu), expected)) << p << " ranks, mask " << kind;
      // Values dealt out, and whole on every rank.
      const Array v = ops::multiply(counted({expected.size()}), Value(-1));
      const Array target = whole.copy();
      target.assign(Index(mask), v);
      x.assign(key, dealt_evenly(v, 0, comm));
      EXPECT_TRUE(same_bits(x.gathered().to(cpu), target)) << p << " ranks, mask " << kind;
      const DNDarray again = dealt_evenly(whole, 1, comm);
      again.assign(key, v.to(test_device()));
      EXPECT_TRUE(same_bits(again.gathered().to(cpu), target)) << p << " ranks, mask " << kind;
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
    const DNDarray x = dealt_evenly(counted(shape), 1, comm), m = dealt_evenly(mask, 1, comm);
    const Traffic before = comm.traffic();
    const DNDarray y = x[DistIndex{m}];
    const i64 bytes = bytes_of_all(comm, before), data = y.size() * 8;
    EXPECT_LE(bytes, data - data / p + data / 16) << p;
  });
}

}  // namespace tessera
