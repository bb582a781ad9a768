// SPDX-License-Identifier: Apache-2.0
// Masks whose picked elements interleave over the ranks, with so many rows that these are counted
// in groups: x[mask] and x[mask] = v, beside the same on a whole array.
#include "tessera/distributed/indexing/masks/mask.hpp"

#include <gtest/gtest.h>

#include "support/distributions.hpp"
#include "support/rng.hpp"
#include "tessera/distributed/indexing/explain.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/nonzero/nonzero.hpp"
#include "tessera/kernels/reduce/reduce.hpp"

namespace tessera::dist {
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

DNDarray split_evenly(const Array& whole, i64 axis, const Communicator& comm) {
  const Partition part = Partition::even(whole.shape(axis), comm.size());
  return distribute(whole.to(test_device()), {axis, part}, comm);
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
  EXPECT_EQ(bytes_of_counts(1562, 8), 781);  // four bits each
}

TEST(DistMask, InterleavedElementsComeInOrder) {
  on_ranks([](const Communicator& comm) {
    const int p = comm.size();
    Rng rng(3);
    const Shape shape{3001, 23};
    const Array whole = counted(shape);
    for (int kind = 0; kind < 5; ++kind) {
      const Array mask = any_mask(rng, shape, kind);
      const DNDarray x = split_evenly(whole, 1, comm), m = split_evenly(mask, 1, comm);
      const DistIndex key{m};
      const Explanation e = explain(x, key);
      const Traffic before = comm.traffic();
      const DNDarray y = x[key];
      const i64 bytes = comm.traffic().bytes - before.bytes;
      EXPECT_LE(bytes, e.sent[static_cast<std::size_t>(comm.rank())]);
      const Array expected = whole[Index(mask)];
      EXPECT_TRUE(same_bits(y.gathered().to(cpu), expected)) << p << " ranks, mask " << kind;
      // Values distributed, and whole on every rank.
      const Array v = ops::multiply(counted({expected.size()}), Value(-1));
      const Array target = whole.copy();
      target.assign(Index(mask), v);
      x.assign(key, split_evenly(v, 0, comm));
      EXPECT_TRUE(same_bits(x.gathered().to(cpu), target)) << p << " ranks, mask " << kind;
      const DNDarray again = split_evenly(whole, 1, comm);
      again.assign(key, v.to(test_device()));
      EXPECT_TRUE(same_bits(again.gathered().to(cpu), target)) << p << " ranks, mask " << kind;
    }
  });
}

// Beside another array each rank still knows what it picks: no position travels, and values go
// straight to the owners, whatever stands before the split axis.
TEST(DistMask, OwnersListWhatTheyPickBesideOtherArrays) {
  on_ranks([](const Communicator& comm) {
    const int p = comm.size();
    Rng rng(5);
    const Shape shape{4, 31, 23};
    const Array whole = counted(shape), mask = any_mask(rng, {31, 23}, 0);
    const Array rows = Array::of<i64>({3, -3, 3}).reshape({3, 1});
    const i64 picked = nonzero(mask)[0].size();
    const Array each = ops::multiply(counted({3, picked}), Value(-1));
    const Array one = Array::of<double>({-7.0}).astype(whole.dtype());
    for (const i64 split : {1, 2})
      for (const i64 mask_split : {0, 1})
        for (const Array& v : {each, one}) {
          const DNDarray x = split_evenly(whole, split, comm);
          const DistIndex key{rows.to(test_device()), split_evenly(mask, mask_split, comm)};
          const Array target = whole.copy();
          target.assign(Index(rows, mask), v);
          for (const DNDarray& value : {DNDarray::replicated(v.to(test_device()), comm),
                                        split_evenly(v, v.ndim() - 1, comm)}) {
            const Explanation e = explain(x, key, value);
            const Traffic before = comm.traffic();
            x.assign(key, value);
            const i64 mine = comm.traffic().bytes - before.bytes;
            EXPECT_LE(mine, e.sent[static_cast<std::size_t>(comm.rank())]);
            const i64 bytes = bytes_of_all(comm, before);
            EXPECT_TRUE(same_bits(x.gathered().to(cpu), target)) << p << " ranks, split " << split;
            // At most all bits of the mask, the counts of its rows, and each value once, one for
            // all to all.
            const i64 counts = 31 * p * (p - 1);
            const i64 values = value.split() ? v.bytes() * (v.size() == 1 ? p - 1 : 1) : 0;
            EXPECT_LE(bytes, 31 * 23 / 8 + counts + values) << p << " ranks, split " << split;
          }
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
    const DNDarray x = split_evenly(counted(shape), 1, comm), m = split_evenly(mask, 1, comm);
    const Traffic before = comm.traffic();
    const DNDarray y = x[DistIndex{m}];
    const i64 bytes = bytes_of_all(comm, before), data = y.size() * 8;
    EXPECT_LE(bytes, data - data / p + data / 16) << p;
  });
}

// Rows that are counted in groups when read, one by one when a whole vector is written: the mask
// remembers both, and then explain() knows all bytes.
TEST(DistMask, AMaskRemembersItsCounts) {
  on_ranks({2, 3, 4, 7}, [](const Communicator& comm) {
    const auto me = static_cast<std::size_t>(comm.rank());
    Rng rng(5);
    const Shape shape{3001, 23};
    const Array whole = counted(shape), mask = any_mask(rng, shape, 0);
    const Array v = ops::multiply(whole[Index(mask)], Value(-1));
    const Array target = whole.copy();
    target.assign(Index(mask), v);
    for (const i64 split : {0, 1}) {  // of the mask
      const DNDarray m = split_evenly(mask, split, comm);
      const DistIndex key{m};
      const DNDarray parts = split_evenly(v, 0, comm);
      const DNDarray all = DNDarray::replicated(v.to(test_device()), comm);
      for (int turn = 0; turn < 3; ++turn) {
        if (turn == 2) m.touch();
        const bool known = turn == 1;
        const DNDarray x = split_evenly(whole, 1, comm);
        const Explanation read = explain(x, key);
        const Traffic first = comm.traffic();
        const DNDarray y = x[key];
        const i64 of_read = comm.traffic().bytes - first.bytes;
        EXPECT_TRUE(same_bits(y.gathered().to(cpu), whole[Index(mask)])) << turn;
        EXPECT_EQ(read.index_bytes == 0, known) << read.str();
        EXPECT_EQ(read.exact, known) << read.str();
        EXPECT_TRUE(known ? of_read == read.sent[me] : of_read <= read.sent[me]) << read.str();
        EXPECT_EQ(read.shape[0], known ? y.size() : -1);
        for (const DNDarray& value : {parts, all}) {
          const DNDarray z = split_evenly(whole, 1, comm);
          const Explanation write = explain(z, key, value);
          const Traffic before = comm.traffic();
          z.assign(key, value);
          const i64 bytes = comm.traffic().bytes - before.bytes;
          EXPECT_TRUE(same_bits(z.gathered().to(cpu), target)) << turn;
          EXPECT_TRUE(write.exact ? bytes == write.sent[me] : bytes <= write.sent[me])
              << write.str();
          if (!known) continue;
          EXPECT_TRUE(write.exact && write.index_bytes == 0) << write.str();
          EXPECT_TRUE(value.split() || bytes == 0) << write.str();
        }
      }
    }
  });
}

// Writing through `local` is a rank's own affair: the others go on with the bits that were counted,
// and so does that rank, wherever the parts lie, until touch().
TEST(DistMask, AMaskIsUsedAsItWasCountedUntilTouch) {
  on_ranks({2, 3, 4}, [](const Communicator& comm) {
    Rng rng(7);
    const Shape shape{301, 23};
    const Array whole = counted(shape), mask = any_mask(rng, shape, 0);
    const Array other = ops::logical_not(mask);
    const auto written = [&](const Array& by) {
      const Array target = whole.copy();
      target.assign(Index(by), Array::of<double>({-1.0}).astype(whole.dtype()));
      return target;
    };
    for (const i64 split : {0, 1})
      for (const i64 mask_split : {0, 1}) {
        const DNDarray m = split_evenly(mask, mask_split, comm);
        const DistIndex key{m};
        (void)split_evenly(whole, split, comm)[key];
        if (comm.rank() == 1)
          m.local().assign(Index(ellipsis), split_evenly(other, mask_split, comm).local());
        Array now = mask.copy();
        for (const bool touched : {false, true}) {
          if (touched) {
            m.touch();
            now = m.gathered().to(cpu);
            EXPECT_FALSE(same_bits(now, mask));
          }
          const DNDarray x = split_evenly(whole, split, comm);
          EXPECT_TRUE(same_bits(x[key].gathered().to(cpu), whole[Index(now)])) << touched;
          x.assign(key, Array::of<double>({-1.0}).astype(whole.dtype()).to(test_device()));
          EXPECT_TRUE(same_bits(x.gathered().to(cpu), written(now))) << touched;
        }
      }
  });
}

// No more than four mebibytes are remembered, by the number of rows alone.
TEST(DistMask, TooManyCountsAreToldEachTime) {
  on_ranks({2, 3}, [](const Communicator& comm) {
    for (const bool many : {false, true}) {
      const Shape shape{many ? 1 << 20 : 1 << 15, 3};
      const Array mask = zeros(shape, DType::b1);
      mask.host<bool>()[7] = true;
      const DNDarray x = split_evenly(zeros(shape, DType::u8), 1, comm);
      const DistIndex key{split_evenly(mask, 1, comm)};
      for (int turn = 0; turn < 2; ++turn) {
        const Explanation e = explain(x, key);
        EXPECT_EQ(e.index_bytes == 0, !many && turn == 1) << e.str();
        const Traffic before = comm.traffic();
        EXPECT_EQ(x[key].size(), 1);
        EXPECT_LE(comm.traffic().bytes - before.bytes,
                  e.sent[static_cast<std::size_t>(comm.rank())]);
      }
    }
  });
}

}  // namespace tessera::dist
