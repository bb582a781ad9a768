// SPDX-License-Identifier: Apache-2.0
// Proximal maps, and the three solvers that use them.
#include "tessera/solve/proximal/fista.hpp"

#include "support/problems.hpp"
#include "tessera/solve/proximal/admm.hpp"
#include "tessera/solve/proximal/pdhg.hpp"

namespace tessera {
namespace {

using namespace problems;

Array on_device(std::initializer_list<double> v) { return Array::of<double>(v).to(test_device()); }

TEST(Prox, KnownValues) {
  const Array v = on_device({-3, -0.5, 0, 1, 2.5});
  EXPECT_LT(relative(apply_prox(prox::l1(2), v, 0.5), on_device({-2, 0, 0, 0, 1.5})), 1e-15);
  EXPECT_LT(relative(apply_prox(prox::nonneg(), v, 1), on_device({0, 0, 0, 1, 2.5})), 1e-15);
  EXPECT_LT(relative(apply_prox(prox::box(-1, 2), v, 1), on_device({-1, -0.5, 0, 1, 2})), 1e-15);
  const Array w = on_device({3, 4});
  EXPECT_LT(relative(apply_prox(prox::l2(2), w, 0.5), on_device({2.4, 3.2})), 1e-15);
  EXPECT_EQ(norm(apply_prox(prox::l2(20), w, 0.5)).item().as<double>(), 0);
  const Array c = on_device({1, 1});
  EXPECT_LT(relative(apply_prox(prox::l2_squared(2, c), w, 0.5), on_device({2, 2.5})), 1e-15);
  EXPECT_LT(relative(apply_prox(prox::none(), w, 0.5), w), 1e-15);
  EXPECT_THROW(prox::l1(-1), ArgumentError);
  EXPECT_THROW(prox::box(1, 0), ArgumentError);
}

TEST(Prox, OfComplexNumbersAndGroups) {
  const Array z = Random(1).normal({3, 5}, DType::c128, test_device());
  const Array got = apply_prox(prox::l1(0.3), z, 2).to(cpu), host = z.to(cpu);
  const auto g = numbers_of(got), h = numbers_of(host);
  for (std::size_t i = 0; i < 15; ++i) {
    const std::complex<double> v = h[i];
    const std::complex<double> expected = v * std::max(1 - 0.6 / std::abs(v), 0.0);
    EXPECT_LT(std::abs(g[i] - expected), 1e-14);
  }
  const Array rows = apply_prox(prox::group(0.5, {0}), z, 2).to(cpu);
  for (i64 j = 0; j < 5; ++j) {
    const Array column = host.select(1, j);
    const double size = norm(column).item().as<double>();
    const Array expected = ops::multiply(column, Value(std::max(1 - 1 / size, 0.0)));
    const Array d = ops::subtract(rows.select(1, j), expected);
    EXPECT_LT(norm(d).item().as<double>(), 1e-13);
  }
}

// |A x - b|^2 / 2 + lam |x|_1: optimal when A.H (b - A x) is lam sign(x), or within lam at zeros.
double l1_fault(const NamedLinop& A, const Array& b, const Array& x, double lam) {
  const auto g = numbers_of(A.H()(ops::subtract(b, A(x)))), v = numbers_of(x);
  double worst = 0;
  for (std::size_t i = 0; i < v.size(); ++i) {
    const std::complex<double> gi = g[i], xi = v[i];
    const double fault = std::abs(xi) > 1e-7 ? std::abs(gi - lam * xi / std::abs(xi))
                                             : std::max(std::abs(gi) - lam, 0.0);
    worst = std::max(worst, fault);
  }
  return worst;
}

TEST(Fista, SolvesTheLasso) {
  for (DType t : {DType::f64, DType::c128, DType::f32}) {
    const NamedLinop A = matrix(30, 45, t);
    const Array b = vector(30, t);
    const double tolerance = is_wide(t) ? 1e-10 : 1e-6;
    const SolveResult r = fista(A, b, prox::l1(0.1), {.rtol = tolerance, .maxiter = 5000});
    EXPECT_TRUE(r.converged) << r.reason;
    EXPECT_LT(l1_fault(A, b, r.x, 0.1), is_wide(t) ? 1e-6 : 1e-3) << name(t);
    const SolveResult p = pdhg(A, b, prox::l2_squared(1), prox::l1(0.1),
                               {.rtol = is_wide(t) ? 1e-9 : 1e-6, .maxiter = 20000});
    EXPECT_LT(relative(p.x, r.x), is_wide(t) ? 1e-5 : 1e-2) << name(t);
    const SolveResult a =
        admm(A, b, prox::l1(0.1), {.rtol = tolerance, .maxiter = 2000}, {.rho = 0.5, .inner = 20});
    EXPECT_LT(relative(a.x, r.x), is_wide(t) ? 1e-5 : 1e-2) << name(t);
  }
}

TEST(Fista, AFunctionIsAsGoodAsABuiltInMap) {
  const NamedLinop A = matrix(20, 30, DType::f64);
  const Array b = vector(20, DType::f64);
  const Prox own = prox::function("soft", [](const Array& v, double t) {
    const Array size = ops::maximum(ops::subtract(ops::absolute(v), Value(0.1 * t)), Value(0.0));
    return ops::multiply(ops::sign(v), size);
  });
  const SolveOptions options{.rtol = 1e-9, .maxiter = 3000};
  const SolveResult mine = fista(A, b, own, options), built = fista(A, b, prox::l1(0.1), options);
  EXPECT_TRUE(mine.converged);
  EXPECT_LT(relative(mine.x, built.x), 1e-7);
  EXPECT_LT(
      relative(pdhg(A, b, prox::l2_squared(1), own, {.rtol = 1e-8, .maxiter = 20000}).x, built.x),
      1e-4);
  EXPECT_LT(relative(admm(A, b, own, {.rtol = 1e-9, .maxiter = 3000}, {.inner = 20}).x, built.x),
            1e-5);
}

TEST(Fista, DoesNotDependOnHowOftenTheHostLooks) {
  const NamedLinop A = matrix(12, 9, DType::f32);
  const Array b = vector(12, DType::f32);
  for (int solver = 0; solver < 3; ++solver) {
    SolveResult r[2];
    for (i64 every : {1, 11}) {
      const SolveOptions o{.rtol = 1e-3, .maxiter = 500, .check_every = every};
      SolveResult& to = r[every == 1 ? 0 : 1];
      if (solver == 0) to = fista(A, b, prox::nonneg(), o);
      if (solver == 1) to = pdhg(A, b, prox::l2_squared(1), prox::nonneg(), o);
      if (solver == 2) to = admm(A, b, prox::nonneg(), o);
    }
    EXPECT_EQ(r[0].iterations, r[1].iterations) << solver;
    EXPECT_EQ(relative(r[0].x, r[1].x), 0) << solver;
    EXPECT_TRUE(r[0].converged) << solver << r[0].reason;
  }
}

// However long the first step, whatever the map: the same minimum as with the step of the norm.
TEST(Fista, SearchedStepsFindTheSameMinimum) {
  const auto soft = [](double lam) {
    return prox::function("soft", [=](const Array& v, double t) {
      const Array size = ops::maximum(ops::subtract(ops::absolute(v), Value(lam * t)), Value(0.0));
      return ops::multiply(ops::sign(v), size);
    });
  };
  for (DType t : {DType::f64, DType::c128, DType::f32, DType::c64})
    for (double scale : {1e-3, 1.0, 1e3})
      for (double first : {0.0, 1e-2, 1e6})
        for (bool call : {false, true}) {
          const NamedLinop A = matrix(30, 20, t);
          const Array b = ops::multiply(vector(30, t), Value(scale));
          const Prox g = call && !is_complex(t) ? soft(0.1 * scale) : prox::l1(0.1 * scale);
          const SolveOptions o{.rtol = is_wide(t) ? 1e-10 : 1e-6, .maxiter = 5000};
          const SolveResult fixed = fista(A, b, g, o),
                            found = fista(A, b, g, o, {.step = first, .search = true});
          const std::string what = cat(t, ", scale ", scale, ", first step ", first);
          EXPECT_TRUE(found.converged) << found.reason << what;
          EXPECT_LT(relative(found.x, fixed.x), is_wide(t) ? 1e-7 : 1e-3) << what;
        }
}

// A step that is taken is short enough for the change that it makes: without momentum the value
// never rises.
TEST(Fista, SearchedStepsLowerTheValue) {
  const DType t = DType::f64;
  const NamedLinop A = matrix(40, 30, t);
  const Array b = vector(40, t);
  std::vector<double> values;
  SolveOptions o{.rtol = 0, .maxiter = 60};
  o.callback = [&](const Iteration& i) {
    const double r = norm(ops::subtract(A(i.x), b)).item().as<double>();
    double size = 0;
    for (const std::complex<double>& v : numbers_of(i.x)) size += std::abs(v);
    values.push_back(r * r / 2 + 0.1 * size);
    return true;
  };
  fista(A, b, prox::l1(0.1), o, {.momentum = false, .search = true});
  ASSERT_EQ(values.size(), 60u);
  for (std::size_t i = 1; i < values.size(); ++i)
    EXPECT_LE(values[i], values[i - 1] * (1 + 1e-12)) << i;
}

TEST(Fista, SearchedStepsOfNothing) {
  const NamedLinop A = matrix(7, 5, DType::f64);
  const Array zero = ops::multiply(vector(7, DType::f64), Value(0.0));
  const SolveResult r = fista(A, zero, prox::l1(0.1), {}, {.search = true});
  EXPECT_TRUE(r.converged) << r.reason;
  EXPECT_EQ(norm(r.x).item().as<double>(), 0);
  const NamedLinop none(Scalar(0.0));
  EXPECT_TRUE(fista(none, zero, prox::none(), {}, {.search = true}).converged);
  const Array bad =
      Array::of<double>({1, std::numeric_limits<double>::infinity(), 2}).to(test_device());
  const SolveResult lost = fista(Scalar(2.0), bad, prox::none(), {}, {.search = true});
  EXPECT_FALSE(lost.converged);
}

TEST(Fista, DivergenceHasAName) {
  const NamedLinop A(Scalar(10.0));
  const SolveResult r =
      fista(A, vector(5, DType::f64), prox::none(), {.maxiter = 2000}, {.step = 1});
  EXPECT_FALSE(r.converged);
  EXPECT_NE(r.reason.find("diverged"), std::string::npos) << r.reason;
}

}  // namespace
}  // namespace tessera
