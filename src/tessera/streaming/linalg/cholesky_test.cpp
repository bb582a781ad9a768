// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/linalg/cholesky.hpp"

#include <cmath>

#include "support/streams.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/linalg/linalg.hpp"
#include "tessera/kernels/matmul/matmul.hpp"
#include "tessera/streaming/linalg/triangular.hpp"

namespace tessera::streaming {
namespace {

constexpr DType dtypes[] = {DType::f32, DType::f64, DType::c64, DType::c128};

Array adjoint_of(const Array& x) { return ops::conj(x).transpose().copy(); }

Array positive(i64 n, DType t, std::uint64_t seed) {
  const Array x = random_on_host({n, n}, t, seed);
  return ops::add(matmul(x, adjoint_of(x)), eye(n, n, 0, t, cpu)).contiguous();
}

// The same with nonsense in the triangle that nobody may read.
Array half_of(const Array& a, bool upper) {
  const Array keep = linalg::triangle(a, !upper);
  const Array nonsense =
      linalg::triangle(random_on_host(a.shape(), a.dtype(), 99), upper, upper ? -1 : 1);
  return ops::add(keep, nonsense).contiguous();
}

class StreamingCholesky : public testing::TestWithParam<std::tuple<i64, DType>> {};

TEST_P(StreamingCholesky, EqualsThatOfArraysForEveryBudget) {
  const auto& [n, t] = GetParam();
  int number = 0;
  const Array a = positive(n, t, 1);
  const auto plan_of = [&](const Options& o) {
    return plan_cholesky(watched(a, {16, 20}), fresh({n, n}, t, {16, 20}), {}, o);
  };
  for (const i64 budget : budgets_of(plan_of, a.bytes())) {
    const bool upper = number++ % 2 == 1;
    const Array half = half_of(a, upper), kept = half.copy();
    const Watched from = watched(half, {16, 20}), to = fresh({n, n}, t, {9, 16});
    run_checked(plan_cholesky(from, to, {.upper = upper}, {.budget = budget}), budget, {from, to});
    const Array l = whole(*to), expected = linalg::cholesky(a, upper);
    const double tolerance = 8 * epsilon_of(t) * std::sqrt(static_cast<double>(n));
    EXPECT_FALSE(
        !(relative(upper ? matmul(adjoint_of(l), l) : matmul(l, adjoint_of(l)), a) < tolerance))
        << budget;
    EXPECT_FALSE(!(relative(l, expected) < 100 * tolerance)) << budget;
    EXPECT_TRUE(same_bits(l, linalg::triangle(l, !upper).contiguous()));  // zeros elsewhere
    EXPECT_TRUE(same_bits(half, kept));
  }
}

INSTANTIATE_TEST_SUITE_P(Every, StreamingCholesky,
                         testing::Combine(testing::Values(1, 2, 33, 58),
                                          testing::ValuesIn(dtypes)));

TEST(StreamingCholesky, NamesTheMinorThatIsNotPositive) {
  for (const i64 place : {0, 30, 49}) {
    const Array a = positive(50, DType::f64, 2);
    a.slice(0, place, place + 1).slice(1, place, place + 1).fill(Value(-1.0));
    std::string expected;
    try {
      linalg::cholesky(a);
    } catch (const LinAlgError& e) {
      expected = e.what();
    }
    for (const i64 budget : {4000, 12000, 0}) {
      try {
        cholesky(watched(a, {16, 16}), fresh({50, 50}, DType::f64, {16, 16}), {},
                 {.budget = budget});
        ADD_FAILURE() << "factored";
      } catch (const LinAlgError& e) {
        EXPECT_EQ(expected, e.what());
      }
    }
  }
}

TEST(StreamingCholesky, MovesFewBytes) {
  const auto make = [](const Box&, const Array& into) { into.fill(Value(1.0)); };
  for (const i64 n : {4000, 20000})
    for (const double part : {0.02, 0.125, 0.5}) {
      const store::TileGrid grid({n, n}, {32, 32}, DType::f64);
      const i64 budget = static_cast<i64>(part * static_cast<double>(grid.bytes()));
      const StreamPlan plan = plan_cholesky(
          store::generated_store("ones", grid, make),
          store::memory_store(Array::empty({1, 1}, DType::f64).broadcast_to({n, n}), {32, 32}), {},
          {.budget = budget});
      const double size = static_cast<double>(n), elements = static_cast<double>(budget) / 8;
      // n^3 / 3 over the side of a block, and A once
      EXPECT_LT(static_cast<double>(plan.bytes_read()),
                8 * (size * size + 1.6 * size * size * size / 3 / std::sqrt(elements)))
          << plan.explain();
      EXPECT_EQ(plan.bytes_written(), grid.bytes());
      EXPECT_LE(plan.bytes_held(), budget);
    }
}

TEST(StreamingCholesky, PassesFailures) {
  const Array a = positive(40, DType::f64, 1);
  const Watched from = watched(a, {16, 16}), to = fresh({40, 40}, DType::f64, {16, 16});
  fail_everywhere({from, to}, [&] { plan_cholesky(from, to, {}, {.budget = 6000}).run(); });
}

TEST(StreamingCholesky, TakesNothingAndRefusesWithASentence) {
  cholesky(fresh({0, 0}, DType::f64, {2, 2}), fresh({0, 0}, DType::f64, {2, 2}));
  const Watched a = fresh({4, 4}, DType::f64, {2, 2});
  EXPECT_THROW(cholesky(a, a), ArgumentError);
  EXPECT_THROW(cholesky(a, fresh({4, 5}, DType::f64, {2, 2})), ShapeError);
  EXPECT_THROW(cholesky(fresh({4, 5}, DType::f64, {2, 2}), a), ShapeError);
  EXPECT_THROW(cholesky(a, fresh({4, 4}, DType::f32, {2, 2})), DTypeError);
  const Watched whole_numbers = fresh({4, 4}, DType::i64, {2, 2});
  EXPECT_THROW(cholesky(whole_numbers, fresh({4, 4}, DType::i64, {2, 2})), DTypeError);
}

class StreamingSolve : public testing::TestWithParam<std::tuple<Shape, DType>> {};

TEST_P(StreamingSolve, WithTrianglesEqualsThatOfArrays) {
  const auto& [sides, t] = GetParam();
  const i64 n = sides[0];
  // a diagonal that keeps the numbers small
  const Array a =
      ops::add(ops::multiply(random_on_host({n, n}, t, 3), Value(0.5 / std::sqrt(double(n)))),
               eye(n, n, 0, t, cpu))
          .contiguous();
  const Array b = random_on_host(sides, t, 4), kept = a.copy(), kept_b = b.copy();
  const Shape side_tile(sides.size(), 7);
  const auto plan_of = [&](const Options& o) {
    return plan_solve_triangular(watched(a, {16, 20}), watched(b, side_tile),
                                 fresh(sides, t, side_tile), {}, o);
  };
  const Turn turns[] = {Turn::none, Turn::transposed, Turn::adjoint};
  const double tolerance = 50 * epsilon_of(t) * std::sqrt(static_cast<double>(n));
  for (const i64 budget : budgets_of(plan_of, a.bytes() + b.bytes()))
    for (int number = 0; number < 12; ++number) {
      if (budget > 0 && budget < 9000 && number % 5 != 0) continue;  // thousands of steps each
      const TriangularOptions what{
          .lower = number % 2 == 0, .turn = turns[number / 2 % 3], .unit = number >= 6};
      const Watched wa = watched(a, {16, 20}), wb = watched(b, side_tile),
                    wx = fresh(sides, t, side_tile);
      run_checked(plan_solve_triangular(wa, wb, wx, what, {.budget = budget}), budget,
                  {wa, wb, wx});
      EXPECT_FALSE(!(relative(whole(*wx), linalg::solve_triangular(a, b, what)) < tolerance))
          << budget << " " << number;
      EXPECT_TRUE(same_bits(a, kept) && same_bits(b, kept_b));
    }
}

TEST_P(StreamingSolve, WithCholeskyFactorsSolvesTheSystem) {
  const auto& [sides, t] = GetParam();
  const i64 n = sides[0];
  const Array a = positive(n, t, 5), b = random_on_host(sides, t, 6);
  const Shape side_tile(sides.size(), 7);
  for (const bool upper : {false, true})
    for (const i64 budget : {i64{20000}, a.bytes() + 30000, i64{0}}) {
      const Watched factor = watched(linalg::cholesky(a, upper), {16, 20}),
                    wb = watched(b, side_tile), wx = fresh(sides, t, side_tile);
      run_checked(plan_cholesky_solve(factor, wb, wx, upper, {.budget = budget}), budget,
                  {factor, wb, wx});
      const Array x = whole(*wx);
      EXPECT_FALSE(!(distance(matmul(a, x), b) <
                     20 * epsilon_of(t) * static_cast<double>(n) * size(a) * size(x)));
    }
}

INSTANTIATE_TEST_SUITE_P(Every, StreamingSolve,
                         testing::Combine(testing::Values(Shape{35, 13}, Shape{41}, Shape{1, 3},
                                                          Shape{1}, Shape{30, 1}),
                                          testing::ValuesIn(dtypes)));

TEST(StreamingSolve, RefusesZerosOnTheDiagonal) {
  const Array a = positive(40, DType::f64, 2), b = random_on_host({40, 3}, DType::f64, 3);
  a.slice(0, 21, 22).slice(1, 21, 22).fill(Value(0.0));
  for (const bool lower : {false, true})
    for (const i64 budget : {2000, 0}) {
      try {
        solve_triangular(watched(a, {16, 16}), watched(b, {16, 16}),
                         fresh({40, 3}, DType::f64, {16, 16}), {.lower = lower},
                         {.budget = budget});
        ADD_FAILURE() << "solved";
      } catch (const LinAlgError& e) {
        EXPECT_STREQ(e.what(), "solve_triangular: Singular matrix: zero on the diagonal, row 22");
      }
    }
}

TEST(StreamingSolve, PassesFailuresAndRefusesWithASentence) {
  const Array a = positive(30, DType::f64, 1), b = random_on_host({30, 20}, DType::f64, 2);
  const Watched wa = watched(a, {16, 16}), wb = watched(b, {16, 16}),
                wx = fresh({30, 20}, DType::f64, {16, 16});
  fail_everywhere({wa, wb, wx},
                  [&] { plan_cholesky_solve(wa, wb, wx, false, {.budget = 4000}).run(); });
  EXPECT_THROW(solve_triangular(wa, wb, wb), ArgumentError);
  EXPECT_THROW(solve_triangular(wb, wb, wx), ShapeError);
  EXPECT_THROW(solve_triangular(wa, wb, fresh({30, 21}, DType::f64, {16, 16})), ShapeError);
  EXPECT_THROW(solve_triangular(wa, wb, fresh({30, 20}, DType::f32, {16, 16})), DTypeError);
  const Watched none = fresh({30, 0}, DType::f64, {16, 16});
  solve_triangular(wa, none, fresh({30, 0}, DType::f64, {16, 16}));
}

}  // namespace
}  // namespace tessera::streaming
