// SPDX-License-Identifier: Apache-2.0
// Every pair of distributions of every pair of ranks, in shapes that make each of the three ways
// the cheapest.
#include "tessera/distributed/linalg/matmul.hpp"

#include "support/cases.hpp"
#include "tessera/base/config.hpp"
#include "tessera/kernels/matmul/matmul.hpp"

namespace tessera::dist {
namespace {

struct Pair {
  Shape a, b;
};
const Pair pairs[] = {
    {{6, 5}, {5, 4}},          {{40, 3}, {3, 2}},   {{2, 3}, {3, 40}},      {{3, 40}, {40, 2}},
    {{1, 7}, {7, 9}},          {{5}, {5}},          {{5}, {5, 4}},          {{6, 5}, {5}},
    {{30}, {30, 2}},           {{2}, {2, 30}},      {{2, 30}, {30}},        {{30, 2}, {2}},
    {{3, 4, 5}, {5, 2}},       {{4, 5}, {3, 5, 2}}, {{3, 4, 5}, {3, 5, 2}}, {{1, 4, 5}, {3, 5, 2}},
    {{2, 1, 4, 5}, {3, 5, 2}}, {{3, 4, 5}, {5}},    {{5}, {3, 5, 2}}};

// Rows, columns or neither, as the table of the header says; ranks 1 and 2.
std::optional<i64> split_of_product(const Pair& p, std::optional<i64> a, std::optional<i64> b) {
  const bool row_vector = p.a.size() == 1, column_vector = p.b.size() == 1;
  if (!a && !b) return {};
  if (a && row_vector) a = 1;
  const bool columns = !a || (*a == 1 && b == 1);
  if (columns) return column_vector ? std::nullopt : std::optional<i64>(row_vector ? 0 : 1);
  return row_vector ? std::nullopt : std::optional<i64>(0);
}

TEST(DistMatmul, EveryPairOfDistributions) {
  for (const Pair& p : pairs) {
    const Array x = sample(p.a, DType::f64), y = sample(p.b, DType::f64, 5);
    const Array want = matmul(x, y);
    for_each_distribution(p.a, [&](const Case& c) {
      const DNDarray a = c.of(x);
      for (const Distribution& s : distributions_of(p.b, c.comm.size())) {
        SCOPED_TRACE(cat(p.a, " times ", p.b, ", split ", s.split.value_or(-1)));
        const DNDarray z = dist::matmul(a, distribute(y, s, c.comm));
        expect_same(z, want);  // sums of small integers: exact
        if (p.a.size() < 3 && p.b.size() < 3)
          expect_split(z, split_of_product(p, c.distribution.split, s.split));
      }
      EXPECT_EQ(a.distribution(), c.distribution);
    });
  }
}

TEST(DistMatmul, SplitBatchesStay) {
  run_ranks(3, [](const Communicator& comm) {
    const auto make = [&](const Shape& shape, i64 split) {
      return distribute(sample(shape), {split, partitions_of(shape[split], 3)[2]}, comm);
    };
    const DNDarray a = make({4, 2, 5}, 0), b = make({4, 5, 3}, 0);
    const DNDarray c = silent(comm, [&] { return dist::matmul(a, b); });
    expect_split(c, 0);
    EXPECT_EQ(c.part(), a.part());
    expect_split(dist::matmul(a, make({4, 5, 3}, 2)), 0);
    expect_split(dist::matmul(make({2, 5}, 0), b), 0);
    expect_split(dist::matmul(make({1, 2, 5}, 0), make({4, 5, 3}, 2)), 2);
    expect_split(dist::matmul(make({5}, 0), b), 0);
  });
}

TEST(DistMatmul, WhatNeedsNoMessageSendsNone) {
  const Array x = sample({6, 5}), y = sample({5, 4});
  for_each_distribution({6, 5}, [&](const Case& c) {
    const DNDarray a = c.of(x), whole = distribute(y, {}, c.comm);
    if (c.distribution.split != 1)
      expect_same(silent(c.comm, [&] { return dist::matmul(a, whole); }), matmul(x, y));
  });
  for_each_distribution({5, 4}, [&](const Case& c) {
    const DNDarray b = c.of(y), whole = distribute(x, {}, c.comm);
    if (c.distribution.split != 0)
      expect_same(silent(c.comm, [&] { return dist::matmul(whole, b); }), matmul(x, y));
  });
}

// Bytes that leave all ranks are those of the cheapest way.
TEST(DistMatmul, TheCheapestWay) {
  const auto total = [](const Shape& a, i64 split_a, const Shape& b, i64 split_b) {
    i64 bytes = 0;
    run_ranks(4, [&](const Communicator& comm) {
      const DNDarray x = distribute(sample(a), {split_a, Partition::even(a[split_a], 4)}, comm),
                     y = distribute(sample(b), {split_b, Partition::even(b[split_b], 4)}, comm);
      const Traffic before = comm.traffic();
      (void)dist::matmul(x, y);
      i64 sent = (comm.traffic() - before).bytes;
      comm.allreduce(&sent, 1, DType::i64, Combine::sum);
      if (comm.rank() == 0) bytes = sent;
    });
    return bytes;
  };
  EXPECT_EQ(total({64, 8}, 0, {8, 8}, 0), 8 * 3 * 64);             // the second goes round
  EXPECT_EQ(total({8, 64}, 1, {64, 8}, 0), 8 * 3 * 64);            // partial products are added
  EXPECT_EQ(total({4, 8}, 0, {8, 64}, 1), 8 * (3 * 32 + 3 * 64));  // the first, then re-split
}

TEST(DistMatmul, DTypes) {
  for (const DType t : {DType::i8, DType::u64, DType::b1, DType::c64, DType::f16, DType::bf16})
    for (const DType u : {t, DType::i8}) {
      const Array x = sample({5, 6}, t), y = sample({6, 4}, u, 2);
      const Array want = matmul(x, y);
      for_each_distribution({5, 6}, [&](const Case& c) {
        for (const Distribution& s : distributions_of({6, 4}, c.comm.size()))
          expect_same(dist::matmul(c.of(x), distribute(y, s, c.comm)), want, 2);
      });
    }
}

TEST(DistMatmul, Nothing) {
  for (const Pair& p :
       {Pair{{0, 3}, {3, 2}}, Pair{{2, 0}, {0, 3}}, Pair{{2, 3}, {3, 0}}, Pair{{0}, {0}}}) {
    const Array x = sample(p.a), y = sample(p.b), want = matmul(x, y);
    for_each_distribution(p.a, [&](const Case& c) {
      for (const Distribution& s : distributions_of(p.b, c.comm.size()))
        expect_same(dist::matmul(c.of(x), distribute(y, s, c.comm)), want);
    });
  }
}

TEST(DistMatmul, ErrorsAreTheLocalOnes) {
  const Pair wrong[] = {{{6, 5}, {4, 5}}, {{6, 5}, {}}, {{2, 4, 5}, {3, 5, 6}}, {{5}, {4}}};
  for (const Pair& p : wrong) {
    const Array x = sample(p.a), y = sample(p.b);
    for_each_distribution(p.a, [&](const Case& c) {
      expect_same_error<ShapeError>([&] { matmul(x, y); },
                                    [&] { dist::matmul(c.of(x), distribute(y, {}, c.comm)); });
    });
  }
}

// Large ones travel while others are multiplied.
TEST(DistMatmul, LargeBlocks) {
  const Array x = sample({300, 500}), y = sample({500, 900}, DType::f64, 4), want = matmul(x, y);
  on_ranks({2, 3}, [&](Communicator comm) {
    for (const i64 a : {0, 1})
      for (const i64 b : {0, 1})
        expect_same(dist::matmul(DNDarray::replicated(x, comm).resplit(a),
                                 DNDarray::replicated(y, comm).resplit(b)),
                    want);
  });
}

// The same in many pieces: a few entries of an axis at a time.
TEST(DistMatmul, BlocksGoInPieces) {
  const Using<i64> small(config().staging_bytes, 200);
  const Pair shapes[] = {{{6, 50}, {50, 9}}, {{40, 8}, {8, 30}}, {{2, 6, 20}, {20, 40}}};
  for (const Pair& p : shapes) {
    const Array x = sample(p.a), y = sample(p.b, DType::f64, 4), want = matmul(x, y);
    for_each_distribution(p.a, [&](const Case& c) {
      for (const Distribution& s : distributions_of(p.b, c.comm.size()))
        expect_same(dist::matmul(c.of(x), distribute(y, s, c.comm)), want);
    });
  }
}

}  // namespace
}  // namespace tessera::dist
