// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/linalg/tall_qr.hpp"

#include <cmath>

#include "support/streams.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/linalg/linalg.hpp"
#include "tessera/kernels/matmul/matmul.hpp"

namespace tessera::streaming {
namespace {

constexpr DType tall_dtypes[] = {DType::f32, DType::f64, DType::c64, DType::c128};

Array adjoint_rows(const Array& x) { return ops::conj(x).transpose().copy(); }

// Poison for what is laid aside; told of what it is asked.
struct Scratch {
  std::vector<Watched> stores;
  MakeScratch maker() {
    return [this](std::string_view, const Shape& shape, DType t) -> StorePtr {
      stores.push_back(fresh(shape, t, {7, 5}));
      return stores.back();
    };
  }
};

// Without columns there is nothing to hold, and with them any budget from the least.
template <class Plan>
std::vector<i64> tall_budgets(Plan&& plan, const Array& a) {
  return a.size() == 0 ? std::vector<i64>{0, 1} : budgets_of(plan, 2 * a.bytes());
}

// Columns that lose `digits` digits from the first to the last.
Array graded(const Shape& shape, DType t, double digits, std::uint64_t seed) {
  const i64 n = shape[1];
  const Array x = random_on_host(shape, t, seed), scales = Array::empty({n}, DType::f64);
  for (i64 j = 0; j < n; ++j)
    static_cast<double*>(scales.data())[j] = std::pow(
        10.0, -digits * static_cast<double>(j) / static_cast<double>(std::max<i64>(1, n - 1)));
  const Array mixed = ops::multiply(x, scales.astype(t));
  return n == 0 ? x : matmul(mixed, random_on_host({n, n}, t, seed + 1)).contiguous();
}

double orthonormal_error(const Array& q) {
  const i64 n = q.shape()[1];
  return n == 0 ? 0 : distance(matmul(adjoint_rows(q), q), eye(n, n, 0, q.dtype(), cpu));
}

void expect_triangle(const Array& r) {
  EXPECT_TRUE(same_bits(r, linalg::triangle(r, false).contiguous()));
  const Array diagonal = ops::real(linalg::diagonal(r)).astype(DType::f64).contiguous();
  for (i64 k = 0; k < diagonal.size(); ++k)
    EXPECT_GE(static_cast<const double*>(diagonal.data())[k], 0);
}

class StreamingTallQr : public testing::TestWithParam<std::tuple<Shape, DType>> {};

TEST_P(StreamingTallQr, GivesOrthonormalColumnsAndATriangleForEveryBudget) {
  const auto& [shape, t] = GetParam();
  for (const double digits : {0.0, 12.0}) {
    const Array a = graded(shape, t, digits, 1), kept = a.copy();
    Scratch unused;
    const auto plan_of = [&](const Options& o) {
      return plan_qr(watched(a, {16, 20}), fresh(shape, t, {16, 20}), unused.maker(), o);
    };
    const double tolerance = 20 * epsilon_of(t) * std::sqrt(static_cast<double>(shape[0]));
    Array first;
    for (const i64 budget : tall_budgets(plan_of, a)) {
      Scratch scratch;
      const Watched from = watched(a, {16, 20}), to = fresh(shape, t, {9, 16});
      StreamPlan plan = plan_qr(from, to, scratch.maker(), {.budget = budget});
      std::vector<Watched> stores{from, to};
      stores.insert(stores.end(), scratch.stores.begin(), scratch.stores.end());
      const std::string text = plan.explain();
      const Array r = run_checked(std::move(plan), budget, stores), q = whole(*to);
      EXPECT_FALSE(!(orthonormal_error(q) < tolerance)) << text;
      EXPECT_FALSE(!(distance(matmul(q, r), a) < tolerance * (1 + size(a)))) << text;
      expect_triangle(r);
      EXPECT_EQ(from->bytes_read, a.bytes());
      EXPECT_TRUE(same_bits(a, kept));
      if (budget == 0) EXPECT_TRUE(scratch.stores.empty());

      const Array alone =
          run_checked(plan_qr(from, nullptr, {}, {.budget = budget}), budget, {from});
      EXPECT_EQ(from->bytes_read, a.bytes());
      EXPECT_FALSE(!(distance(alone, r) < tolerance * (1 + size(a))));
      expect_triangle(alone);
    }
  }
}

TEST_P(StreamingTallQr, GivesSingularValuesAndVectors) {
  const auto& [shape, t] = GetParam();
  const i64 n = shape[1];
  const Array a = graded(shape, t, 3, 2);
  Scratch unused;
  const auto plan_of = [&](const Options& o) {
    return plan_svd(watched(a, {16, 20}), fresh(shape, t, {16, 20}), unused.maker(), o);
  };
  const double tolerance = 40 * epsilon_of(t) * std::sqrt(static_cast<double>(shape[0]));
  for (const i64 budget : tall_budgets(plan_of, a)) {
    Scratch scratch;
    const Watched from = watched(a, {16, 20}), to = fresh(shape, t, {9, 16});
    StreamPlan plan = plan_svd(from, to, scratch.maker(), {.budget = budget});
    std::vector<Watched> stores{from, to};
    stores.insert(stores.end(), scratch.stores.begin(), scratch.stores.end());
    const Array answer = run_checked(std::move(plan), budget, stores), u = whole(*to);
    const Array vh = answer.slice(0, 0, n), s = answer.slice(0, n, n + 1);
    EXPECT_FALSE(!(orthonormal_error(u) < tolerance));
    EXPECT_FALSE(!(orthonormal_error(adjoint_rows(vh)) < tolerance));
    EXPECT_FALSE(!(distance(matmul(ops::multiply(u, s), vh), a) < tolerance * (1 + size(a))));
    EXPECT_FALSE(!(distance(s.squeeze(0).contiguous(), linalg::svdvals(a).astype(t)) <
                   tolerance * (1 + size(a))));
  }
}

TEST_P(StreamingTallQr, SolvesSystemsInOnePass) {
  const auto& [shape, t] = GetParam();
  const i64 m = shape[0], n = shape[1];
  const Array a = graded(shape, t, 1, 3);
  for (const Shape& sides : {Shape{m}, Shape{m, 1}, Shape{m, 5}, Shape{m, 0}}) {
    const Array b = random_on_host(sides, t, 4);
    const i64 columns = sides.size() == 1 ? 1 : sides[1];
    const Shape tile(sides.size(), 6);
    const auto plan_of = [&](const Options& o) {
      return plan_qr_system(watched(a, {16, 20}), watched(b, tile), o);
    };
    const double tolerance = 40 * epsilon_of(t) * std::sqrt(static_cast<double>(m));
    for (const i64 budget : a.size() == 0 ? std::vector<i64>{0} : tall_budgets(plan_of, a)) {
      const Watched wa = watched(a, {16, 20}), wb = watched(b, tile);
      const Array got = run_checked(plan_qr_system(wa, wb, {.budget = budget}), budget, {wa, wb});
      ASSERT_EQ(got.shape(), (Shape{n + 1, n + columns}));
      EXPECT_EQ(wa->bytes_read + wb->bytes_read, a.bytes() + b.bytes());
      const Array r = got.slice(0, 0, n).slice(1, 0, n).contiguous(),
                  c = got.slice(0, 0, n).slice(1, n, n + columns).contiguous(),
                  rest = got.slice(0, n, n + 1).slice(1, n, n + columns).contiguous();
      expect_triangle(r);
      const Array sheet = b.reshape({m, columns});
      if (n > 0 && columns > 0) {  // R^H (Q^H B) = A^H B
        EXPECT_FALSE(!(distance(matmul(adjoint_rows(r), c), matmul(adjoint_rows(a), sheet)) <
                       tolerance * (1 + size(a)) * (1 + size(b))));
      }
      // |B|^2 = |Q^H B|^2 + the rest
      const auto squares = [](const Array& x) {
        return reduce(ReduceOp::sum_abs2,
                      x.astype(is_complex(x.dtype()) ? DType::c128 : DType::f64), Axes{0});
      };
      const Array whole_sum = squares(sheet),
                  sum = ops::add(squares(c), ops::real(rest.squeeze(0)));
      EXPECT_FALSE(!(distance(sum.astype(DType::f64).contiguous(), whole_sum) <
                     tolerance * (1 + static_cast<double>(m))));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Every, StreamingTallQr,
                         testing::Combine(testing::Values(Shape{70, 9}, Shape{61, 35}, Shape{7, 7},
                                                          Shape{8, 7}, Shape{50, 1}, Shape{1, 1},
                                                          Shape{5, 0}),
                                          testing::ValuesIn(tall_dtypes)));

TEST(StreamingTallQr, TakesMatricesWithoutFullRank) {
  const Array thin = random_on_host({60, 2}, DType::f64, 1);
  const Array a = matmul(thin, random_on_host({2, 6}, DType::f64, 2)).contiguous();
  a.slice(0, 0, 20).fill(Value(0.0));  // and the first triangle is zero
  for (const Array& x : {a, zeros({60, 6}, DType::f64, cpu)})
    for (const i64 budget : {3000, 0}) {
      Scratch scratch;
      const Watched to = fresh({60, 6}, DType::f64, {16, 16});
      const Array r = plan_qr(watched(x, {16, 16}), to, scratch.maker(), {.budget = budget}).run();
      const Array q = whole(*to);
      EXPECT_FALSE(!(orthonormal_error(q) < 1e-13));
      EXPECT_FALSE(!(distance(matmul(q, r), x) < 1e-12));
    }
}

TEST(StreamingTallQr, GivesPseudoInverses) {
  for (const DType t : tall_dtypes)
    for (const i64 budget : {i64{0}, i64{30000}}) {
      const Array a = graded({50, 8}, t, 1, 5);
      Scratch scratch;
      const Watched to = fresh({50, 8}, t, {16, 16});
      plan_pinv_adjoint(watched(a, {16, 16}), to, 1e-5, scratch.maker(), {.budget = budget}).run();
      const Array expected = adjoint_rows(linalg::pinv(a, 1e-5));
      EXPECT_FALSE(!(relative(whole(*to), expected) < 1e4 * epsilon_of(t)));
    }
}

TEST(StreamingTallQr, MovesEachByteAtMostTwice) {
  const auto make = [](const Box&, const Array& into) { into.fill(Value(1.0)); };
  const i64 m = 1'000'000, n = 50;
  const store::TileGrid grid({m, n}, {4096, n}, DType::f64);
  const auto in_memory = [&](std::string_view, const Shape& shape, DType t) -> StorePtr {
    return store::memory_store(Array::empty({1, 1}, t).broadcast_to(shape), {4096, n});
  };
  for (const double part : {0.01, 0.1, 0.5, 2.0}) {
    const i64 budget = static_cast<i64>(part * static_cast<double>(grid.bytes()));
    const StreamPlan plan =
        plan_qr(store::generated_store("ones", grid, make), in_memory("Q", {m, n}, DType::f64),
                in_memory, {.budget = budget});
    const double all = static_cast<double>(grid.bytes()), stays = std::min(1.0, 0.8 * part);
    EXPECT_LE(plan.bytes_held(), budget);
    EXPECT_LT(static_cast<double>(plan.bytes_read()), all * (2.05 - stays)) << plan.explain();
    EXPECT_LT(static_cast<double>(plan.bytes_written()), all * (2.05 - stays)) << plan.explain();
  }
}

TEST(StreamingTallQr, PassesFailures) {
  const Array a = graded({40, 6}, DType::f64, 2, 1), b = random_on_host({40}, DType::f64, 2);
  const Watched from = watched(a, {16, 16}), to = fresh({40, 6}, DType::f64, {16, 16}),
                right = watched(b, {16}), aside = fresh({200, 6}, DType::f64, {16, 16});
  const auto scratch = [&](std::string_view, const Shape&, DType) -> StorePtr { return aside; };
  fail_everywhere({from, to, aside}, [&] { plan_qr(from, to, scratch, {.budget = 2600}).run(); });
  fail_everywhere({from, right}, [&] { plan_qr_system(from, right, {.budget = 4000}).run(); });
}

TEST(StreamingTallQr, RefusesWithASentence) {
  const Watched a = fresh({6, 4}, DType::f64, {2, 2}), wide = fresh({4, 6}, DType::f64, {2, 2});
  const auto none = [](std::string_view, const Shape&, DType) -> StorePtr { return nullptr; };
  EXPECT_THROW(plan_qr(wide, nullptr, none), ShapeError);
  EXPECT_THROW(plan_qr(a, a, none), ArgumentError);
  EXPECT_THROW(plan_qr(a, wide, none), ShapeError);
  EXPECT_THROW(plan_qr(a, fresh({6, 4}, DType::f32, {2, 2}), none), DTypeError);
  EXPECT_THROW(plan_qr(fresh({6, 4}, DType::i64, {2, 2}), nullptr, none), DTypeError);
  EXPECT_THROW(plan_qr(fresh({6}, DType::f64, {2}), nullptr, none), ShapeError);
  EXPECT_THROW(plan_qr_system(a, fresh({5}, DType::f64, {2})), ShapeError);
  EXPECT_THROW(plan_qr_system(a, fresh({6}, DType::f32, {2})), DTypeError);
}

}  // namespace
}  // namespace tessera::streaming
