// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/linear/minres.hpp"

#include <gtest/gtest.h>

#include "support/problems.hpp"

namespace tessera {
namespace {

using namespace problems;

// F.H diag F: Hermitian with given eigenvalues, mixed by an FFT.
NamedLinop with_eigenvalues(const Array& values) {
  const NamedLinop F = FFT(1, {}, FFT::Grids{dims("N"), dims("K")});
  return F.H() * NamedLinop(Diagonal(values.to(test_device()), dims("K"))) * F;
}

TEST(Minres, SolvesIndefiniteSystems) {
  const Array values = Random(1).uniform({23}, DType::f64, cpu, 0.5, 2);
  for (i64 i = 0; i < 23; i += 2) values.select(0, i).fill(Value(-0.5 - 0.05 * double(i)));
  const NamedLinop A = with_eigenvalues(values);
  const Array x = Random(2).normal({23}, DType::c128, test_device());
  const SolveResult r = minres(A, A(x), {.rtol = 1e-12, .maxiter = 60});
  EXPECT_TRUE(r.converged) << r.reason;
  EXPECT_LT(relative(r.x, x), 1e-10);
  for (std::size_t i = 1; i < r.history.size(); ++i)
    EXPECT_LE(r.history[i], r.history[i - 1] * (1 + 1e-12));
}

TEST(Minres, ShiftAndStart) {
  const Array values = Random(3).uniform({17}, DType::f64, cpu, 1, 3);
  const NamedLinop A = with_eigenvalues(values);
  const Array x = Random(4).normal({17}, DType::c128, test_device());
  const Array b = ops::subtract(A(x), ops::multiply(x, Value(2.2)));
  const Array x0 = Random(5).normal({17}, DType::c128, test_device());
  const SolveResult r = minres(A, b, {.rtol = 1e-12, .maxiter = 80, .x0 = x0}, {.shift = 2.2});
  EXPECT_TRUE(r.converged) << r.reason;
  EXPECT_LT(relative(r.x, x), 1e-8);
}

TEST(Minres, SingularSystems) {
  const Array values = Array::of<double>({3, -2, 0, 1, 0, 2.5, -1, 4, 1.5});
  const NamedLinop A = with_eigenvalues(values);
  const Array x = Random(6).normal({9}, DType::c128, test_device());
  const SolveResult r = minres(A, A(x), {.rtol = 1e-11, .maxiter = 40});
  EXPECT_TRUE(r.converged) << r.reason;
  EXPECT_LT(relative(A(r.x), A(x)), 1e-10);
  const Array b = Random(7).normal({9}, DType::c128, test_device());  // outside the range of A
  const SolveResult s = minres(A, b, {.rtol = 1e-6, .maxiter = 40});
  const Array gradient = A(ops::subtract(b, A(s.x)));
  EXPECT_LT(norm(gradient).item().as<double>(), 1e-4) << s.reason;
}

TEST(Minres, NoToleranceIsTooSmallForAnIncompatibleSystem) {
  const Array values = linspace(-2, 3, 40, DType::f64);
  for (i64 i = 10; i < 16; ++i) values.select(0, i).fill(Value(0.0));
  const NamedLinop A = with_eigenvalues(values);
  const Array b = Random(8).normal({40}, DType::c128, test_device());
  const SolveResult r = minres(A, b, {.rtol = 0, .maxiter = 400});
  EXPECT_NE(r.reason.find("least-squares"), std::string::npos) << r.reason;
  EXPECT_LT(r.iterations, 200);
  EXPECT_LT(norm(A(ops::subtract(b, A(r.x)))).item().as<double>(), 1e-6);
  EXPECT_LT(norm(r.x).item().as<double>(), 1e3 * norm(b).item().as<double>());
}

TEST(Minres, PreconditionerShortensTheWay) {
  const Array values = linspace(1, 1e4, 60, DType::f64);
  const NamedLinop A(Diagonal(values.to(test_device()), dims("N")));
  const NamedLinop M(Diagonal(ops::reciprocal(values).to(test_device()), dims("N")));
  const Array b = ones({60}, DType::f64, test_device());
  const SolveResult with = minres(A, b, {.rtol = 1e-10}, {.preconditioner = M});
  EXPECT_TRUE(with.converged);
  EXPECT_LE(with.iterations, 3);
  EXPECT_LT(relative(A(with.x), b), 1e-9);
}

}  // namespace
}  // namespace tessera
