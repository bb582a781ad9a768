// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/passes/pass.hpp"

#include "support/streams.hpp"

namespace tessera::streaming {
namespace {

TEST(StreamingAssign, FormulasEqualThoseOfArrays) {
  const Shape shape{210, 517};
  const Array a = random_on_host(shape, DType::f32, 1), b = random_on_host(shape, DType::f64, 2),
              row = random_on_host({1, 517}, DType::f32, 3);
  const Array kept_a = a.copy(), kept_b = b.copy();
  const Array expected = ops::add(ops::multiply(ops::subtract(a, b), ops::subtract(a, b)),
                                  ops::multiply(row, Value(2.0)));
  const Watched sa = watched(a, {64, 100}), sb = watched(b, {50, 517}), sr = watched(row, {1, 200});
  const auto plan_for = [&](const StorePtr& out) {
    return [&, out](const Options& o) {
      const Expression d = Expression(sa) - Expression(sb);
      return plan_assign(d * d + Expression(sr) * Value(2.0), out, o);
    };
  };
  const Watched first = fresh(shape, DType::f64, {64, 64});
  for (const i64 budget : budgets_of(plan_for(first), a.bytes() + 2 * b.bytes())) {
    const Watched out = fresh(shape, DType::f64, {64, 64});
    const StreamPlan plan = plan_for(out)({.budget = budget});
    run_checked(plan, budget, {sa, sb, sr, out});
    EXPECT_TRUE(same_bits(whole(*out), expected)) << budget;
    EXPECT_EQ(plan.bytes_written(), b.bytes());
    EXPECT_TRUE(same_bits(a, kept_a) && same_bits(b, kept_b));
  }
  fail_everywhere({sa, sb, first}, [&] { plan_for(first)({.budget = 1 << 20}).run(); });
}

TEST(StreamingAssign, TakesEachStoreOnceAndWorksInPlace) {
  const Array a = random_on_host({40, 50}, DType::f64, 1);
  const Array expected = ops::add(ops::multiply(a, a), a);
  const Watched s = watched(a, {16, 16});
  const Expression x(s);
  const StreamPlan plan = plan_assign(x * x + x, s, {});
  EXPECT_EQ(plan.bytes_read(), a.bytes());
  run_checked(plan, 0, {s});
  EXPECT_TRUE(same_bits(a, expected));
}

TEST(StreamingAssign, RefusesWithASentence) {
  const Watched a = fresh({4, 5}, DType::f64, {2, 2});
  EXPECT_THROW(plan_assign(Expression(a), fresh({5, 4}, DType::f64, {2, 2})), ShapeError);
  EXPECT_THROW(plan_assign(Expression(a), fresh({4, 5}, DType::i32, {2, 2})), DTypeError);
  const auto made = store::generated_store("nothing", a->grid(), [](const Box&, const Array&) {});
  EXPECT_THROW(plan_assign(Expression(a), made), IoError);
  EXPECT_THROW(Expression(a) + Expression(fresh({3}, DType::f64, {2})), ShapeError);
  EXPECT_THROW(Program(Expression(2.0)), ArgumentError);
}

TEST(StreamingReduce, SumOfSquaresReadsOnceWithTheSameBitsForEveryBudget) {
  const Shape shape{333, 1031};
  const Array a = random_on_host(shape, DType::f32, 1), b = random_on_host(shape, DType::f32, 2);
  const Watched sa = watched(a, {100, 700}), sb = watched(b, {333, 64});
  const auto plan = [&](const Options& o) {
    return plan_reduce(Reduction::sum, power(Expression(sa) - Expression(sb), Value(2)), {}, false,
                       o);
  };
  const Array d = ops::subtract(a, b).astype(DType::f64);
  const double expected = reduce(ReduceOp::sum, ops::multiply(d, d)).item().as<double>();
  Array first;
  for (const i64 budget : budgets_of(plan, a.bytes() + b.bytes())) {
    const StreamPlan p = plan({.budget = budget});
    EXPECT_EQ(p.bytes_read(), a.bytes() + b.bytes());
    const Array got = run_checked(p, budget, {sa, sb});
    if (!first) first = got;
    EXPECT_TRUE(same_bits(got, first)) << budget;
    EXPECT_LT(std::abs(got.item().as<double>() / expected - 1), 1e-6);
  }
  fail_everywhere({sa, sb}, [&] { plan({.budget = 3 << 20}).run(); });
}

Array in_memory(Reduction r, const Array& x, const std::optional<Axes>& axes, bool keepdims) {
  switch (r) {
    case Reduction::sum: return tessera::reduce(ReduceOp::sum, x, axes, keepdims);
    case Reduction::mean: return mean(x, axes, keepdims);
    case Reduction::min: return tessera::reduce(ReduceOp::min, x, axes, keepdims);
    case Reduction::max: return tessera::reduce(ReduceOp::max, x, axes, keepdims);
    default:
      return ops::sqrt(tessera::reduce(
          ReduceOp::sum_abs2, is_inexact(x.dtype()) ? x : x.astype(DType::f64), axes, keepdims));
  }
}

class StreamingReduceAxes
    : public testing::TestWithParam<std::tuple<Reduction, std::optional<Axes>>> {};

TEST_P(StreamingReduceAxes, EqualThoseOfArraysForEveryDtype) {
  const auto& [reduction, axes] = GetParam();
  const Shape shape{19, 37, 211};
  for (const DType t : {DType::i16, DType::u8, DType::f16, DType::f32, DType::f64, DType::c64}) {
    if (is_complex(t) && (reduction == Reduction::min || reduction == Reduction::max)) continue;
    const Array whole_numbers =
        ops::rint(ops::multiply(ops::absolute(random_on_host(shape, DType::f32, 1)), Value(2.0)));
    const Array x = Array::empty(shape, t);
    x.copy_from(is_inexact(t) ? whole_numbers : whole_numbers.astype(t));
    const Watched s = watched(x, {8, 37, 100});
    const auto plan = [&](const Options& o) {
      return plan_reduce(reduction, Expression(s), axes, true, o);
    };
    const Array expected = in_memory(reduction, x, axes, true);
    const double tolerance = 4 * epsilon_of(expected.dtype());
    Array first;
    for (const i64 budget : budgets_of(plan, x.bytes())) {
      const Array got = run_checked(plan({.budget = budget}), budget, {s});
      ASSERT_EQ(got.dtype(), expected.dtype());
      ASSERT_EQ(got.shape(), expected.shape());
      if (!first) first = got;
      EXPECT_TRUE(same_bits(got, first)) << name(t) << " " << budget;
      if (t == DType::f16 && reduction != Reduction::min && reduction != Reduction::max) continue;
      EXPECT_FALSE(!(distance(got, expected) <= tolerance * size(expected)))
          << name(t) << " " << budget;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Every, StreamingReduceAxes,
                         testing::Combine(testing::Values(Reduction::sum, Reduction::mean,
                                                          Reduction::min, Reduction::max,
                                                          Reduction::norm),
                                          testing::Values(std::nullopt, Axes{0}, Axes{-1},
                                                          Axes{0, 2}, Axes{1, 0}, Axes{})));

TEST(StreamingReduce, GivesWhatArraysGiveOfNothing) {
  const Watched none = fresh({0, 3}, DType::f64, {1, 1});
  EXPECT_TRUE(same_bits(reduce(Reduction::sum, Expression(none), Axes{0}),
                        tessera::reduce(ReduceOp::sum, Array::empty({0, 3}, DType::f64), Axes{0})));
  EXPECT_THROW(reduce(Reduction::min, Expression(none)), ArgumentError);
  EXPECT_THROW(reduce(Reduction::sum, Expression(none), Axes{2}), IndexError);
  EXPECT_THROW(reduce(Reduction::sum, Expression(none), Axes{0, -2}), ArgumentError);
}

TEST(StreamingReduce, TakesTilesThatAreMadeAndNumbersThatAreNone) {
  const auto made =
      store::generated_store("ramp", store::TileGrid({3000, 100}, {128, 100}, DType::f64),
                             [](const Box& box, const Array& into) {
                               double* p = into.host<double>();
                               for (i64 i = 0; i < box.size(); ++i)
                                 p[i] = static_cast<double>((box.begin[0] + i / box.shape[1]) % 7);
                             });
  const Array rows = reduce(Reduction::max, Expression(made), Axes{1}, false, {.budget = 1 << 20});
  EXPECT_EQ(rows.shape(), (Shape{3000}));
  for (i64 i = 0; i < 3000; ++i) EXPECT_EQ(rows.host<double>()[i], static_cast<double>(i % 7));
  const Array x = random_on_host({70, 70}, DType::f32, 3);
  x.host<float>()[1234] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(
      std::isnan(reduce(Reduction::max, Expression(watched(x, {16, 16}))).item().as<double>()));
}

}  // namespace
}  // namespace tessera::streaming
