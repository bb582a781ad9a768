// SPDX-License-Identifier: Apache-2.0
// Reductions of every distribution against the local ones of the whole.
#include "tessera/distributed/functions/reduce.hpp"

#include <limits>

#include "support/cases.hpp"
#include "tessera/base/config.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"

namespace tessera::dist {
namespace {

const std::optional<Axes> axis_sets[] = {std::nullopt, Axes{0},    Axes{1},  Axes{2},
                                         Axes{0, 1},   Axes{2, 0}, Axes{-2}, Axes{}};
constexpr ReduceOp one_input[] = {
    ReduceOp::sum, ReduceOp::prod,   ReduceOp::max,    ReduceOp::min,           ReduceOp::any,
    ReduceOp::all, ReduceOp::argmax, ReduceOp::argmin, ReduceOp::count_nonzero, ReduceOp::sum_abs2};

struct Question {
  ReduceOp op;
  std::optional<Axes> axes;
  bool keepdims;
  Array answer;
};

std::vector<Question> questions(const Array& x) {
  std::vector<Question> all;
  bool keepdims = false;
  for (const ReduceOp op : one_input) {
    for (const auto& axes : axis_sets) {
      all.push_back({op, axes, keepdims, reduce(op, x, axes, keepdims)});
      keepdims = !keepdims;
    }
    keepdims = !keepdims;
  }
  return all;
}

TEST(DistReduce, EveryOpAxisAndDistribution) {
  for (const DType dtype : {DType::f64, DType::i16, DType::c64, DType::f16}) {
    Array x = sample({5, 3, 4}, dtype);
    if (is_inexact(dtype)) x = ops::multiply(x, Value(0.125));  // products stay in range
    const std::vector<Question> all = questions(x);
    for_each_distribution({5, 3, 4}, [&](const Case& c) {
      const DNDarray d = c.of(x);
      for (const Question& q : all) {
        SCOPED_TRACE(cat(name(q.op), " of ", dtype, " over ", q.axes ? to_text(*q.axes) : "all"));
        expect_same(dist::reduce(q.op, d, q.axes, q.keepdims), q.answer,
                    q.op == ReduceOp::prod ? 200 : 80);
      }
      EXPECT_EQ(d.distribution(), c.distribution);
    });
  }
}

TEST(DistReduce, TheSplitMovesDownAndSendsNothing) {
  const Array x = sample({5, 3, 4});
  for_each_distribution({5, 3, 4}, [&](const Case& c) {
    const DNDarray d = c.of(x);
    if (!c.distribution.split) {
      silent(c.comm, [&] { return dist::sum(d); });
      return;
    }
    const i64 s = *c.distribution.split;
    expect_split(dist::sum(d), {});
    expect_split(dist::max(d, Axes{s}, true), {});
    for (i64 a = 0; a < 3; ++a) {
      if (a == s) continue;
      const DNDarray y = silent(c.comm, [&] { return dist::argmax(d, Axes{a}); });
      expect_split(y, s - (a < s));
      EXPECT_EQ(y.part(), d.part());
      expect_split(silent(c.comm, [&] { return dist::variance(d, Axes{a}, 1, true); }), s);
    }
  });
}

TEST(DistReduce, IntegersAreExact) {
  const Array x = Array::of<std::int64_t>({INT64_MAX, 5, -7, INT64_MAX, 3, INT64_MIN, 11});
  const i64 sum = reduce(ReduceOp::sum, x).item().as<i64>(),
            prod = reduce(ReduceOp::prod, x).item().as<i64>();
  for_each_distribution({7}, [&](const Case& c) {
    EXPECT_EQ(dist::sum(c.of(x)).item().as<i64>(), sum);
    EXPECT_EQ(dist::prod(c.of(x)).item().as<i64>(), prod);
    expect_same(dist::sum(c.of(x), {}, false, DType::i8),
                reduce(ReduceOp::sum, x, {}, false, DType::i8));
    expect_same(dist::max(c.of(x), {}, false, DType::f32),
                reduce(ReduceOp::max, x, {}, false, DType::f32));
  });
}

// The first of equals, whatever the rank; a NaN before all numbers.
TEST(DistReduce, PositionsAsNumPys) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> tables[] = {{1, 5, 2, 5, 0, 5, 1, 5, 5, 0, 5, 2},
                                        {1, 2, 3, nan, 9, 1, nan, 2, nan, 0, 0, 0},
                                        {4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4}};
  for (const auto& table : tables) {
    const Array x = laid_out<double>({3, 4}, table);
    for_each_distribution({3, 4}, [&](const Case& c) {
      for (const auto& axes :
           {std::optional<Axes>(), std::optional<Axes>(Axes{0}), std::optional<Axes>(Axes{1})})
        for (const ReduceOp op : {ReduceOp::argmax, ReduceOp::argmin, ReduceOp::max, ReduceOp::min})
          expect_same(dist::reduce(op, c.of(x), axes), reduce(op, x, axes));
    });
  }
}

TEST(DistReduce, MeansAndNorms) {
  for (const DType dtype : {DType::f64, DType::i32, DType::c128, DType::f16}) {
    const Array x = sample({7, 6}, dtype);
    for_each_distribution({7, 6}, [&](const Case& c) {
      for (const auto& axes : {std::optional<Axes>(), std::optional<Axes>(Axes{0}),
                               std::optional<Axes>(Axes{1}), std::optional<Axes>(Axes{0, 1})})
        for (const i64 ddof : {i64{0}, i64{1}, i64{50}}) {
          expect_same(dist::mean(c.of(x), axes), mean(x, axes), 60);
          expect_same(dist::variance(c.of(x), axes, ddof), variance(x, axes, ddof), 200);
          expect_same(dist::deviation(c.of(x), axes, ddof, true),
                      ops::sqrt(variance(x, axes, ddof, true)), 200);
        }
      expect_same(dist::norm(c.of(x)), norm(x), 60);
      expect_split(dist::norm(c.of(x), Axes{1}),
                   c.distribution.split == 0 ? c.distribution.split : std::nullopt);
    });
  }
}

TEST(DistReduce, VarianceOfAFarMean) {
  Array x = sample({50}, DType::f64);
  x = ops::add(x, Value(1e9));
  const double want = variance(x, {}, 0).item().as<double>();
  for_each_distribution({50}, [&](const Case& c) {
    EXPECT_NEAR(dist::variance(c.of(x)).item().as<double>(), want, 1e-4);
  });
}

TEST(DistReduce, InnerProducts) {
  for (const DType dtype : {DType::f64, DType::c64, DType::i64, DType::f16}) {
    const Array x = sample({4, 6}, dtype), y = sample({4, 6}, dtype, 4),
                z = sample({3, 8}, dtype, 4);
    for_each_distribution({4, 6}, [&](const Case& c) {
      for (const Distribution& s : distributions_of({4, 6}, c.comm.size()))
        expect_same(dist::vdot(c.of(x), distribute(y, s, c.comm)), vdot(x, y), 100);
      for (const Distribution& s : distributions_of({3, 8}, c.comm.size()))
        expect_same(dist::vdot(c.of(x), distribute(z, s, c.comm)), vdot(x, z), 100);
      EXPECT_THROW(dist::vdot(c.of(x), c.of(x).resplit({}).with(x.slice(0, 0, 3),
                                                                Layout::contiguous({3, 6}), {})),
                   ShapeError);
    });
  }
}

// Results of many bytes take the other road: each rank joins a share.
TEST(DistReduce, LongResults) {
  const Array x = sample({9, 5000}, DType::i64), f = sample({9, 5000}, DType::f32);
  for_each_distribution({9, 5000}, [&](const Case& c) {
    if (c.distribution.split == 1) return;
    expect_same(dist::sum(c.of(x), Axes{0}), reduce(ReduceOp::sum, x, Axes{0}));
    expect_same(dist::argmax(c.of(x), Axes{0}), reduce(ReduceOp::argmax, x, Axes{0}));
    expect_same(dist::variance(c.of(f), Axes{0}), variance(f, Axes{0}), 60);
  });
}

TEST(DistReduce, LongResultsInSegments) {
  const Using<i64> small(config().staging_bytes, 40000);
  const Array x = sample({5, 6001}, DType::i64);
  const Array sum = reduce(ReduceOp::sum, x, Axes{0}), where = reduce(ReduceOp::argmax, x, Axes{0});
  for_each_distribution({5, 6001}, [&](const Case& c) {
    if (c.distribution.split == 1) return;
    expect_same(dist::sum(c.of(x), Axes{0}), sum);
    expect_same(dist::argmax(c.of(x), Axes{0}), where);
  });
}

TEST(DistReduce, NothingAndItsErrors) {
  for (const Shape& shape : {Shape{0, 3}, Shape{3, 0}, Shape{0}}) {
    const Array x = Array::empty(shape, DType::f32);
    for_each_distribution(shape, [&](const Case& c) {
      const DNDarray d = c.of(x);
      for (const ReduceOp op : one_input)
        for (i64 a = -1; a < shape.size(); ++a) {
          const auto axes = a < 0 ? std::optional<Axes>() : std::optional<Axes>(Axes{a});
          try {
            const Array want = reduce(op, x, axes);
            expect_same(dist::reduce(op, d, axes), want);
          } catch (const ArgumentError& e) {
            EXPECT_EQ(thrown_text<ArgumentError>([&] { dist::reduce(op, d, axes); }), e.what());
          }
        }
    });
  }
}

TEST(DistReduce, OtherErrors) {
  const Array x = sample({3, 4});
  for_each_distribution({3, 4}, [&](const Case& c) {
    const DNDarray d = c.of(x);
    expect_same_error<IndexError>([&] { reduce(ReduceOp::sum, x, Axes{2}); },
                                  [&] { dist::sum(d, Axes{2}); });
    expect_same_error<ArgumentError>(
        [&] {
          reduce(ReduceOp::max, x, Axes{1, -1});
        },
        [&] {
          dist::max(d, Axes{1, -1});
        });
  });
}

TEST(DistReduce, OneRoundOfSmallMessages) {
  run_ranks(4, [](const Communicator& comm) {
    const DNDarray x = distribute(sample({40, 3}), {0, Partition::even(40, 4)}, comm);
    const Traffic before = comm.traffic();
    (void)dist::sum(x, Axes{0});
    EXPECT_EQ((comm.traffic() - before).bytes, 3 * 8 * 3);
    const Traffic again = comm.traffic();
    (void)dist::variance(x, Axes{0});
    EXPECT_EQ((comm.traffic() - again).bytes, 2 * 3 * 8 * 3);
    EXPECT_EQ((comm.traffic() - again).messages, (again - before).messages);
  });
}

}  // namespace
}  // namespace tessera::dist
