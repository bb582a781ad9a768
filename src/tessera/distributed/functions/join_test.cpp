// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/functions/join.hpp"

#include <array>

#include "support/cases.hpp"

namespace tessera::dist {
namespace {

TEST(DistJoin, EveryPairOfDistributions) {
  const Array x = sample({5, 4}, DType::i16);
  for (i64 axis = 0; axis < 2; ++axis) {
    const Shape other = axis == 0 ? Shape{3, 4} : Shape{5, 6};
    const Array y = sample(other, DType::f32, 3);
    const Array want = concatenate(std::array{x, y, x}, axis);
    for_each_distribution({5, 4}, [&](const Case& c) {
      const DNDarray a = c.of(x);
      for (const Distribution& s : distributions_of(other, c.comm.size())) {
        const DNDarray b = distribute(y, s, c.comm);
        const DNDarray z = dist::concatenate(std::array{a, b, a}, axis - 2);
        expect_same(z, want);
        expect_split(z, c.distribution.split ? c.distribution.split : s.split);
        if (z.split() == axis) {
          EXPECT_TRUE(z.balanced());
        }
        EXPECT_EQ(b.distribution(), s);
      }
    });
  }
}

TEST(DistJoin, WhatLiesAlikeSendsNothing) {
  const Array x = sample({5, 4}), y = sample({5, 2});
  for_each_distribution({5, 4}, [&](const Case& c) {
    if (c.distribution.split == 1) return;
    const DNDarray a = c.of(x), b = c.of(y), whole = distribute(y, {}, c.comm);
    expect_same(silent(c.comm,
                       [&] {
                         return dist::concatenate(std::array{a, b}, 1);
                       }),
                concatenate(std::array{x, y}, 1));
    expect_same(silent(c.comm,
                       [&] {
                         return dist::concatenate(std::array{whole, a}, 1);
                       }),
                concatenate(std::array{y, x}, 1));
  });
}

TEST(DistJoin, EachElementMovesOnce) {
  run_ranks(3, [](const Communicator& comm) {
    const Array x = sample({9}), y = sample({9});
    const auto even = [&](const Array& a) {
      return distribute(a, {0, Partition::even(9, 3)}, comm);
    };
    const DNDarray a = even(x), b = even(y);
    const Traffic before = comm.traffic();
    (void)dist::concatenate(std::array{a, b}, 0);
    // Rank 0 gets 0..5 of x, rank 1 the rest and 0..2 of y, rank 2 the others.
    const i64 elements[] = {3, 6, 3};
    EXPECT_EQ((comm.traffic() - before).bytes, 8 * elements[comm.rank()]);
  });
}

TEST(DistJoin, Stacks) {
  const Array x = sample({4, 3}, DType::i64), y = sample({4, 3}, DType::i64, 7);
  for_each_distribution({4, 3}, [&](const Case& c) {
    const std::array both{c.of(x), c.of(y)};
    const std::array plain{x, y};
    for (i64 axis = -3; axis < 3; ++axis) {
      const DNDarray z = silent(c.comm, [&] { return dist::stack(both, axis); });
      expect_same(z, stack(plain, axis));
      const i64 at = axis < 0 ? axis + 3 : axis;
      expect_split(z, c.distribution.split
                          ? std::optional(*c.distribution.split + (at <= *c.distribution.split))
                          : std::nullopt);
    }
    expect_same(dist::hstack(both), concatenate(plain, 1));
    expect_same(dist::vstack(both), concatenate(plain, 0));
    expect_same(dist::column_stack(both), concatenate(plain, 1));
  });
  const Array line = sample({5}, DType::i64);
  for_each_distribution({5}, [&](const Case& c) {
    const std::array both{c.of(line), c.of(line)};
    expect_same(dist::hstack(both), concatenate(std::array{line, line}, 0));
    expect_same(dist::vstack(both), stack(std::array{line, line}, 0));
    expect_same(dist::column_stack(both), stack(std::array{line, line}, 1));
    const DNDarray number = DNDarray::replicated(Array::scalar(Value(3), DType::i64), c.comm);
    expect_same(dist::hstack(std::array{number, number}), Array::of<i64>({3, 3}));
  });
}

TEST(DistJoin, Parts) {
  const Array x = sample({6, 5}, DType::i64);
  for_each_distribution({6, 5}, [&](const Case& c) {
    const DNDarray d = c.of(x);
    const auto thirds = silent(c.comm, [&] { return dist::split(d, 3, 0); });
    ASSERT_EQ(thirds.size(), 3u);
    for (i64 k = 0; k < 3; ++k) {
      const DNDarray& part = thirds[static_cast<std::size_t>(k)];
      expect_same(part, x.slice(0, 2 * k, 2 * k + 2));
      expect_split(part, c.distribution.split);
    }
    const auto uneven = silent(c.comm, [&] { return dist::array_split(d, 4, -1); });
    const i64 bounds[] = {0, 2, 3, 4, 5};
    for (std::size_t k = 0; k < 4; ++k)
      expect_same(uneven[k], x.slice(1, bounds[k], bounds[k + 1]));
    const auto cuts = dist::split(d, Shape{2, -1, 3, 9}, 0);
    ASSERT_EQ(cuts.size(), 5u);
    expect_same(cuts[1], x.slice(0, 2, 5));
    expect_same(cuts[2], x.slice(0, 5, 5));
    expect_same(cuts[3], x.slice(0, 3, 6));
    expect_same(cuts[4], x.slice(0, 6, 6));
    EXPECT_THROW(dist::split(d, 4, 0), ArgumentError);
    EXPECT_THROW(dist::split(d, i64{0}, 0), ArgumentError);
    EXPECT_THROW(dist::split(d, 2, 2), IndexError);
  });
}

TEST(DistJoin, ErrorsAreTheLocalOnes) {
  const Array x = sample({5, 4}), y = sample({5, 3}), z = sample({5});
  for_each_distribution({5, 4}, [&](const Case& c) {
    const DNDarray a = c.of(x), b = distribute(y, {}, c.comm), e = distribute(z, {}, c.comm);
    expect_same_error<ShapeError>(
        [&] {
          concatenate(std::array{x, y}, 0);
        },
        [&] {
          dist::concatenate(std::array{a, b}, 0);
        });
    expect_same_error<ShapeError>(
        [&] {
          concatenate(std::array{x, z}, 0);
        },
        [&] {
          dist::concatenate(std::array{a, e}, 0);
        });
    expect_same_error<IndexError>(
        [&] {
          concatenate(std::array{x, x}, 2);
        },
        [&] {
          dist::concatenate(std::array{a, a}, 2);
        });
    expect_same_error<ShapeError>(
        [&] {
          stack(std::array{x, y}, 0);
        },
        [&] {
          dist::stack(std::array{a, b}, 0);
        });
    EXPECT_THROW(dist::concatenate({}, 0), ArgumentError);
  });
}

TEST(DistJoin, Nothing) {
  const Array x = sample({0, 4}), y = sample({3, 4});
  for_each_distribution({0, 4}, [&](const Case& c) {
    expect_same(dist::concatenate(std::array{c.of(x), distribute(y, {}, c.comm)}, 0), y);
    expect_same(dist::concatenate(std::array{c.of(x), c.of(x)}, 0), x);
  });
}

}  // namespace
}  // namespace tessera::dist
