// SPDX-License-Identifier: Apache-2.0
// svd and randomized_svd, which answer the same question.
#include "tessera/solve/spectra/svd.hpp"

#include "support/problems.hpp"
#include "tessera/solve/spectra/randomized_svd.hpp"

namespace tessera {
namespace {

using namespace problems;

Space space_of(const Shape& shape, DType t) {
  return {.shape = shape, .dtype = t, .device = test_device()};
}

// U S Vh against the matrix, and the columns orthonormal.
void check(const SvdResult& r, const NamedLinop& A, const Shape& in, DType t, double tolerance) {
  const i64 k = r.S.size(), m = r.U.size() / k, n = r.Vh.size() / k;
  const Array U = r.U.to(cpu).reshape({m, k}), Vh = r.Vh.to(cpu).reshape({k, n});
  const Array product = matmul(ops::multiply(U, r.S.to(cpu)), Vh);
  EXPECT_LT(relative(product, A.to_dense(in, t)), tolerance);
  const Array gram = matmul(ops::conj(U.transpose()), U);
  EXPECT_LT(relative(gram, eye(k, k, 0, t)), tolerance);
}

TEST(Svd, AllOfASmallMatrixEitherWay) {
  for (DType t : dtypes)
    for (const bool tall : {true, false}) {
      const NamedLinop A = tall ? matrix(10, 5, t) : matrix(5, 10, t);
      const Shape in{tall ? 5 : 10};
      const SvdResult r = svd(A, space_of(in, t), {.k = 5});
      EXPECT_TRUE(r.converged) << r.reason;
      EXPECT_EQ(r.U.shape(), (Shape{tall ? 10 : 5, 5}));
      EXPECT_EQ(r.Vh.shape(), (Shape{5, tall ? 5 : 10}));
      EXPECT_EQ(r.S.dtype(), real_of(t));
      check(r, A, in, t, is_wide(t) ? 1e-12 : 1e-5);
      const std::vector<double> S = reals(r.S);
      for (std::size_t i = 1; i < 5; ++i) EXPECT_GE(S[i - 1], S[i]);
    }
}

TEST(Svd, SmallValuesBesideLargeOnes) {
  const Array d = Array::of<double>({10, 1, 0.1, 0.01}).to(test_device());
  const SvdResult r =
      svd(Diagonal(d, dims("N")), space_of({4}, DType::f64), {.k = 4}, {.rtol = 1e-10});
  EXPECT_LT(relative(r.S, d), 1e-12);
  EXPECT_NEAR(r.S.select(0, 3).item().as<double>(), 0.01, 1e-10);
}

TEST(Svd, SeveralDimsAndRestarts) {
  // Batch of transforms weighted by distinct numbers: singular values are their magnitudes.
  const Array w = Random(8).uniform({4, 25}, DType::f64, cpu, 0.1, 2);
  const NamedLinop A = NamedLinop(FFT(1, dims("B"), FFT::Grids{dims("N"), dims("K")})) *
                       NamedLinop(Diagonal(w.to(test_device()), dims("BN")));
  std::vector<double> expected = reals(w);
  std::sort(expected.rbegin(), expected.rend());
  const SvdResult r =
      svd(A, space_of({4, 25}, DType::c128), {.k = 3, .ncv = 12}, {.rtol = 1e-9, .maxiter = 1000});
  ASSERT_TRUE(r.converged) << r.reason << " " << r.history.back();
  EXPECT_EQ(r.U.shape(), (Shape{4, 25, 3}));
  EXPECT_EQ(r.Vh.shape(), (Shape{3, 4, 25}));
  for (i64 i = 0; i < 3; ++i) {
    EXPECT_NEAR(reals(r.S)[static_cast<std::size_t>(i)], expected[static_cast<std::size_t>(i)],
                1e-8);
    const Array v = ops::conj(r.Vh.select(0, i)), u = r.U.select(2, i).copy();
    const Array su = ops::multiply(u, Value(expected[static_cast<std::size_t>(i)]));
    EXPECT_LT(relative(A(v), su), 1e-6);
  }
}

TEST(Svd, RankDeficientOperators) {
  const Array left = Random(4).normal({9, 2}, DType::f64, test_device());
  const Array right = Random(5).normal({2, 6}, DType::f64, test_device());
  const NamedLinop A(Dense(matmul(left, right), dims("MN"), dims("N"), dims("M")));
  const SvdResult r = svd(A, space_of({6}, DType::f64), {.k = 4});
  EXPECT_TRUE(r.converged);
  check(r, A, {6}, DType::f64, 1e-12);
  EXPECT_LT(r.S.select(0, 2).item().as<double>(), 1e-12 * r.S.select(0, 0).item().as<double>());
}

TEST(RandomizedSvd, FindsTheTopOfAFallingSpectrum) {
  for (DType t : dtypes) {
    const i64 n = 60;
    const NamedLinop Q = matrix(80, n, t, 9), P = matrix(n, n, t, 10);
    const Array d = ops::power(full({n}, Value(0.5), DType::f64),
                               arange(Value(0), Value(n), Value(1), DType::f64));
    const NamedLinop D(Diagonal(d.to(test_device()).astype(real_of(t)), dims("M")));
    const NamedLinop A = Q.rename({{ND("N"), ND("M")}, {ND("M"), ND("L")}}) * D * P;
    const SvdResult full = svd(A, space_of({n}, t), {.k = 5}, {.rtol = 1e-6, .maxiter = 300});
    const SvdResult r =
        randomized_svd(A, space_of({n}, t), {.k = 5}, {.rtol = 1e-5, .maxiter = 10});
    EXPECT_TRUE(r.converged) << r.reason;
    EXPECT_LT(relative(r.S, full.S), is_wide(t) ? 1e-6 : 1e-4) << name(t);
    EXPECT_EQ(r.U.shape(), (Shape{80, 5}));
    EXPECT_EQ(r.Vh.shape(), (Shape{5, n}));
    const Array v = ops::conj(r.Vh.select(0, 0));
    const Array su = ops::multiply(r.U.select(1, 0), Value(r.S.select(0, 0).item().as<double>()));
    EXPECT_LT(relative(A(v), su), 1e-3);
  }
  const NamedLinop A = matrix(5, 4, DType::f64);
  EXPECT_THROW((void)randomized_svd(A, space_of({4}, DType::f64), {.k = 5}), ArgumentError);
  EXPECT_THROW((void)svd(A, space_of({4}, DType::f64), {.k = 0}), ArgumentError);
}

}  // namespace
}  // namespace tessera
