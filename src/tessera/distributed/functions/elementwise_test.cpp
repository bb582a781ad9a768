// SPDX-License-Identifier: Apache-2.0
// Every pair of distributions against the local function on the whole arrays.
#include "tessera/distributed/functions/elementwise.hpp"

#include "support/cases.hpp"

namespace tessera::dist {
namespace {

TEST(DistElementwise, EveryPairOfDistributions) {
  const Shape shapes[] = {{6, 5}, {5}, {6, 1}, {1, 5}, {1, 1}, {}};
  const Array x = sample({6, 5}, DType::f32);
  for (const Shape& shape : shapes) {
    const Array y = sample(shape, DType::i32, 3), sum = ops::add(x, y), less = ops::less(y, x);
    for_each_distribution({6, 5}, [&](const Case& c) {
      const DNDarray a = c.of(x);
      for (const Distribution& s : distributions_of(shape, c.comm.size())) {
        const DNDarray b = distribute(y, s, c.comm);
        expect_same(dist::add(a, b), sum);
        expect_same(dist::less(b, a), less);
        EXPECT_EQ(a.distribution(), c.distribution);
        EXPECT_EQ(b.distribution(), s);
      }
    });
  }
}

TEST(DistElementwise, TheSplitOfTheResult) {
  run_ranks(3, [](const Communicator& comm) {
    const auto make = [&](const Shape& shape, std::optional<i64> split) {
      Distribution s;
      if (split) s = {split, partitions_of(shape[*split], 3)[2]};
      return distribute(sample(shape), s, comm);
    };
    const auto split_of = [](const DNDarray& a, const DNDarray& b) {
      return dist::add(a, b).split();
    };
    EXPECT_EQ(split_of(make({6, 5}, {}), make({6, 5}, 1)), 1);  // a split before none
    EXPECT_EQ(split_of(make({6, 5}, 0), make({6, 5}, 1)), 0);   // the first
    EXPECT_EQ(split_of(make({5}, 0), make({6, 5}, 0)), 1);      // the first, moved by broadcasting
    EXPECT_EQ(split_of(make({1, 5}, 0), make({6, 5}, 1)), 1);   // not one that is repeated
    EXPECT_EQ(split_of(make({1, 5}, 0), make({6, 1}, {})), 0);  // unless there is no other
    EXPECT_FALSE(split_of(make({6, 5}, {}), make({5}, {})));
    const DNDarray x = make({6, 5}, 0), y = make({6, 5}, 1);
    EXPECT_EQ(dist::add(x, y).distribution(), x.distribution());
    EXPECT_EQ(dist::add(x.resplit(std::nullopt), y).distribution(), y.distribution());
  });
}

TEST(DistElementwise, WhatLiesAlikeSendsNothing) {
  const Array x = sample({6, 5}), row = sample({5}), column = sample({6, 1});
  for_each_distribution({6, 5}, [&](const Case& c) {
    const DNDarray a = c.of(x), b = c.of(x);
    const DNDarray r = DNDarray::replicated(row, c.comm);
    expect_same(silent(c.comm, [&] { return dist::multiply(a, b); }), ops::multiply(x, x));
    expect_same(silent(c.comm, [&] { return dist::add(a, r); }), ops::add(x, row));
    expect_same(silent(c.comm, [&] { return dist::add(column, a); }), ops::add(column, x));
    expect_same(silent(c.comm, [&] { return dist::subtract(2.5, a); }), ops::subtract(2.5, x));
    expect_same(silent(c.comm, [&] { return dist::exp(a); }), ops::exp(x));
    expect_same(silent(c.comm, [&] { return dist::where(dist::greater(a, 0), a, Value(-1.0)); }),
                ops::where(ops::greater(x, Value(0)), x, Value(-1.0)));
  });
}

TEST(DistElementwise, NumbersAdaptAsNumPys) {
  for_each_distribution({7}, [](const Case& c) {
    const DNDarray x = c.of(sample({7}, DType::i8));
    EXPECT_EQ(dist::add(x, i64{1}).dtype(), DType::i8);
    EXPECT_EQ(dist::add(x, Value(1.0)).dtype(), DType::f64);
    EXPECT_EQ(dist::divide(x, x).dtype(), DType::f64);
    expect_same_error<OverflowError>([&] { ops::add(sample({7}, DType::i8), Value(300)); },
                                     [&] { dist::add(x, Value(300)); });
  });
}

TEST(DistElementwise, IntoAnArrayThatExists) {
  const Array x = sample({6, 5}), y = sample({6, 5}, DType::f64, 9);
  for_each_distribution({6, 5}, [&](const Case& c) {
    for (const Distribution& s : distributions_of({6, 5}, c.comm.size())) {
      const DNDarray a = c.of(x), b = distribute(y, s, c.comm);
      const Array memory = a.local();
      const dist::Operand both[] = {a, b};
      dist::elementwise(ElementOp::subtract, both, a);
      EXPECT_EQ(a.local().data(), memory.data());
      EXPECT_EQ(a.distribution(), c.distribution);
      expect_same(a, ops::subtract(x, y));
      expect_same(b, y);
    }
  });
}

TEST(DistElementwise, IntoARowThatOneRankOwns) {
  const Array x = sample({6, 5}), y = sample({5}, DType::f64, 9);
  for (const int p : rank_counts)
    run_ranks(p, [&](const Communicator& comm) {
      const DNDarray whole = distribute(x, {0, Partition::even(6, p)}, comm);
      const int owner = whole.part().owner(3);
      const i64 at = 3 - whole.part().begin(owner);
      const DNDarray row =
          whole.owner_view(comm.rank() == owner ? whole.local().select(0, at) : Array(),
                           Layout::contiguous({5}), owner);
      const dist::Operand both[] = {row, distribute(y, {0, Partition::even(5, p)}, comm)};
      dist::elementwise(ElementOp::add, both, row);
      expect_same(row, ops::add(x.select(0, 3), y));
      expect_same(whole.gathered().select(0, 3), ops::add(x.select(0, 3), y));
    });
}

TEST(DistElementwise, ErrorsAreTheLocalOnes) {
  const Array x = sample({6, 5}), y = sample({4, 5}), i = sample({6, 5}, DType::i32);
  for_each_distribution({6, 5}, [&](const Case& c) {
    const DNDarray a = c.of(x), b = distribute(y, {}, c.comm), k = c.of(i);
    expect_same_error<ShapeError>([&] { ops::add(x, y); }, [&] { dist::add(a, b); });
    expect_same_error<DTypeError>([&] { ops::bitwise_and(x, i); },
                                  [&] { dist::bitwise_and(a, k); });
    const ArrayOrValue local[] = {x, i};
    const dist::Operand both[] = {a, k};
    expect_same_error<DTypeError>([&] { elementwise(ElementOp::add, local, i.copy()); },
                                  [&] { dist::elementwise(ElementOp::add, both, k); });
    const ArrayOrValue one[] = {x};
    const dist::Operand large[] = {a};
    const Array small = Array::empty({5}, DType::f64, x.device());
    expect_same_error<ShapeError>([&] { elementwise(ElementOp::negative, one, small); },
                                  [&] {
                                    dist::elementwise(ElementOp::negative, large,
                                                      DNDarray::replicated(small, c.comm));
                                  });
    EXPECT_THROW(dist::add(x, y), ArgumentError);
  });
}

TEST(DistElementwise, NegativePowersFailOnAllRanks) {
  const Array base = sample({7}, DType::i64);
  const Array good = Array::of<i64>({0, 1, 2, 3, 0, 1, 2}).to(base.device()),
              bad = Array::of<i64>({0, 1, 2, 3, 0, 1, -2}).to(base.device());
  for_each_distribution({7}, [&](const Case& c) {
    expect_same(dist::power(c.of(base), c.of(good)), ops::power(base, good));
    expect_same_error<ArgumentError>([&] { ops::power(base, bad); },
                                     [&] { dist::power(c.of(base), c.of(bad)); });
    expect_same_error<ArgumentError>([&] { ops::power(base, bad); },
                                     [&] { dist::power(c.of(base), bad); });
    silent(c.comm, [&] { return dist::power(c.of(base), good); });
  });
}

TEST(DistElementwise, NothingAtAll) {
  for_each_distribution({0, 3}, [](const Case& c) {
    const DNDarray x = c.of(sample({0, 3}));
    expect_same(dist::add(x, x), sample({0, 3}));
  });
}

}  // namespace
}  // namespace tessera::dist
