// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/spectra/lanczos.hpp"

#include "support/problems.hpp"

namespace tessera {
namespace {

using namespace problems;

// Hermitian on (3, 21), with the given eigenvalues: F.H diag F along the last axis.
NamedLinop hermitian(const Array& values) {
  const NamedLinop F = FFT(1, dims("B"), FFT::Grids{dims("N"), dims("K")});
  return F.H() * NamedLinop(Diagonal(values.to(test_device()), dims("BK"))) * F;
}

std::vector<double> sorted_values(const Array& values) {
  std::vector<double> v = reals(values);
  std::sort(v.begin(), v.end());
  return v;
}

TEST(Lanczos, FindsBothEnds) {
  const Array values = Random(3).normal({3, 21}, DType::f64);
  const NamedLinop A = hermitian(values);
  const std::vector<double> all = sorted_values(values);
  for (const Which which : {Which::largest, Which::smallest, Which::both_ends, Which::magnitude}) {
    const EigenResult r =
        lanczos(A, {.shape = {3, 21}, .dtype = DType::c128, .device = test_device()},
                {.k = 4, .which = which, .ncv = 14}, {.rtol = 1e-10, .maxiter = 600});
    ASSERT_TRUE(r.converged) << static_cast<int>(which) << " " << r.reason;
    std::vector<double> expected;
    std::vector<double> by_size = all;
    std::sort(by_size.begin(), by_size.end(),
              [](double a, double b) { return std::abs(a) > std::abs(b); });
    if (which == Which::largest) expected.assign(all.end() - 4, all.end());
    if (which == Which::smallest) expected.assign(all.begin(), all.begin() + 4);
    if (which == Which::both_ends) expected = {all[0], all[1], all[61], all[62]};
    if (which == Which::magnitude) expected.assign(by_size.begin(), by_size.begin() + 4);
    std::sort(expected.begin(), expected.end());
    for (i64 i = 0; i < 4; ++i) {
      EXPECT_NEAR(reals(r.eigenvalues)[static_cast<std::size_t>(i)],
                  expected[static_cast<std::size_t>(i)], 1e-9);
      const Array v = r.eigenvectors.select(2, i).copy();
      EXPECT_EQ(v.shape(), (Shape{3, 21}));
      EXPECT_NEAR(norm(v).item().as<double>(), 1, 1e-10);
      EXPECT_LT(relative(A(v), ops::multiply(v, Value(expected[static_cast<std::size_t>(i)]))),
                1e-7);
    }
  }
}

TEST(Lanczos, RepeatedEigenvaluesAndTheWholeSpace) {
  const Array values = Array::of<double>({2, 2, 5, -1, 2, 5, 0});
  const NamedLinop A(Diagonal(values.to(test_device()), dims("N")));
  const EigenResult r = lanczos(A, {.shape = {7}, .device = test_device()}, {.k = 7});
  ASSERT_TRUE(r.converged);
  const std::vector<double> expected = sorted_values(values);
  for (i64 i = 0; i < 7; ++i)
    EXPECT_NEAR(reals(r.eigenvalues)[static_cast<std::size_t>(i)],
                expected[static_cast<std::size_t>(i)], 1e-12);
}

TEST(Lanczos, WithoutReorthogonalisationTheTopIsStillRight) {
  const Array values = linspace(0, 1, 300, DType::f64);
  values.select(0, 299).fill(Value(3.0));
  const NamedLinop A(Diagonal(values.to(test_device()), dims("N")));
  const EigenResult r = lanczos(A, {.shape = {300}, .device = test_device()},
                                {.k = 1, .which = Which::largest, .reorthogonalise = false},
                                {.rtol = 1e-8, .maxiter = 200});
  EXPECT_TRUE(r.converged);
  EXPECT_NEAR(r.eigenvalues.select(0, 0).item().as<double>(), 3, 1e-7);
}

TEST(Lanczos, RefusesWhatCannotBe) {
  const NamedLinop A(Diagonal(ones({4}, DType::f64, test_device()), dims("N")));
  const Space space{.shape = {4}, .device = test_device()};
  EXPECT_THROW((void)lanczos(A, space, {.k = 5}), ArgumentError);
  EXPECT_THROW((void)lanczos(A, space, {.k = 3, .ncv = 2}), ArgumentError);
  EXPECT_THROW((void)lanczos(A, space, {}, {.x0 = zeros({4}, DType::f64, test_device())}),
               ArgumentError);
}

}  // namespace
}  // namespace tessera
