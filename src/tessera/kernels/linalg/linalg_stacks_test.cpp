// SPDX-License-Identifier: Apache-2.0
// Stacks of matrices, which devices factor side by side: against the equations that define the
// factors, and against the host, whose LAPACK takes matrices one by one.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/arrays.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/eager.hpp"
#include "tessera/kernels/linalg/linalg.hpp"
#include "tessera/kernels/reduce/reduce.hpp"

namespace tessera {
namespace {

constexpr DType dtypes[] = {DType::f32, DType::f64, DType::c64, DType::c128};

Array adjoint(const Array& a) { return ops::conj(a).swap_axes(a.ndim() - 2, a.ndim() - 1); }
i64 rows(const Array& a) { return a.shape(a.ndim() - 2); }
i64 columns(const Array& a) { return a.shape(a.ndim() - 1); }
double largest(const Array& a) {
  return reduce(ReduceOp::max, ops::absolute(a)).to(cpu).item().as<double>();
}

// No number differs by more than `ulps` roundings of the largest one, or of one.
void expect_close(const Array& a, const Array& b, double ulps) {
  ASSERT_EQ(a.shape(), b.shape());
  ASSERT_EQ(a.dtype(), b.dtype());
  const double most = ulps * epsilon_of(a.dtype()) * std::max(1.0, largest(b));
  const double d = largest(ops::subtract(a.to(cpu), b.to(cpu)));
  EXPECT_LE(d, most) << cat(a.shape(), " ", a.dtype());
  EXPECT_FALSE(std::isnan(d)) << cat(a.shape(), " ", a.dtype());
}

void expect_orthonormal(const Array& q, double ulps) {
  const i64 n = columns(q);
  const Array g = matmul(adjoint(q), q);
  expect_close(g, eye(n, n, 0, q.dtype(), q.device()).broadcast_to(g.shape()), ulps);
}

void expect_qr(const Array& a, double ulps) {
  for (const linalg::QrMode mode : {linalg::QrMode::reduced, linalg::QrMode::complete}) {
    const auto [q, r, order] = linalg::qr(a, mode);
    EXPECT_EQ(q.device(), test_device());
    expect_close(matmul(q, r), a, ulps);
    expect_orthonormal(q, ulps);
    expect_close(linalg::triangle(r, false), r, 0);
    EXPECT_EQ(columns(q),
              mode == linalg::QrMode::complete ? rows(a) : std::min(rows(a), columns(a)));
  }
  expect_close(linalg::qr(a, linalg::QrMode::r).r, linalg::qr(a).r, ulps);
}

void expect_svd(const Array& a, double ulps) {
  const i64 k = std::min(rows(a), columns(a)), last = a.ndim() - 1;
  const Array values = linalg::svdvals(a.to(cpu));
  for (const bool full : {false, true}) {
    const auto [u, s, vh] = linalg::svd(a, full);
    EXPECT_EQ(u.device(), test_device());
    expect_close(
        matmul(ops::multiply(u.slice(last, 0, k), s.expand_dims(last - 1).astype(u.dtype())),
               vh.slice(last - 1, 0, k)),
        a, ulps);
    expect_orthonormal(u, ulps);
    expect_orthonormal(adjoint(vh), ulps);
    expect_close(s, values, ulps);
    EXPECT_EQ(columns(u), full ? rows(a) : k);
    EXPECT_EQ(rows(vh), full ? columns(a) : k);
    if (k > 1) {
      EXPECT_TRUE(reduce(ReduceOp::all,
                         ops::greater_equal(s.slice(last - 1, 0, k - 1), s.slice(last - 1, 1, k)))
                      .item()
                      .as<bool>());
    }
  }
  expect_close(linalg::svdvals(a), values, ulps);
}

// A view of the same numbers in which no axis lies as it is counted.
Array strided(const Array& a) {
  return a.swap_axes(0, 1).swap_axes(0, 2).copy().swap_axes(0, 2).swap_axes(0, 1);
}

TEST(LinalgStacks, FactorsOfEverySize) {
  std::uint64_t seed = 1;
  for (const DType t : dtypes)
    for (const i64 n : {1, 2, 7, 31, 32, 33, 64})
      for (const Shape& shape : {Shape{5, n, n}, {5, 2 * n + 1, n}, {5, n, n + 3}}) {
        const Array a = strided(Random(seed++).normal(shape, t, test_device()));
        const double ulps = 40 * static_cast<double>(shape[1] + shape[2]);
        expect_qr(a, ulps);
        expect_svd(a, ulps);
        // Signs are LAPACK's, which makes R one and the same.
        expect_close(linalg::qr(a).r, linalg::qr(a.to(cpu)).r, 20 * ulps);
      }
}

TEST(LinalgStacks, FewAndLargeMatrices) {
  for (const DType t : dtypes)
    for (const Shape& shape :
         {Shape{1, 64, 64}, {2, 70, 70}, {4, 90, 80}, {5, 400, 3}, {5, 3, 400}}) {
      const Array a = Random(2).normal(shape, t, test_device());
      expect_qr(a, 40 * static_cast<double>(shape[1] + shape[2]));
      expect_svd(a, 40 * static_cast<double>(shape[1] + shape[2]));
    }
}

TEST(LinalgStacks, SystemsOfEverySize) {
  std::uint64_t seed = 40;
  for (const DType t : dtypes)
    for (const i64 n : {1, 2, 7, 31, 32, 33, 64, 100}) {
      const Array one = eye(n, n, 0, t, test_device());
      const Array a = strided(ops::add(Random(seed++).normal({5, n, n}, t, test_device()),
                                       ops::multiply(one, static_cast<double>(n))));
      const Array b = Random(seed++).normal({5, n, 3}, t, test_device());
      const double ulps = 200 * static_cast<double>(n);
      const linalg::Lu f = linalg::lu_factor(a);
      expect_close(matmul(f.p().astype(t), matmul(f.l(), f.u())), a, ulps);
      expect_close(f.u(), linalg::lu_factor(a.to(cpu)).u(), ulps);  // pivots are LAPACK's
      expect_close(matmul(a, linalg::solve(a, b)), b, ulps);
      expect_close(matmul(a.swap_axes(1, 2), f.solve(b, Turn::transposed)), b, ulps);
      expect_close(matmul(adjoint(a), f.solve(b, Turn::adjoint)), b, ulps);
      expect_close(matmul(a, linalg::inverse(a)), one.broadcast_to(a.shape()), ulps);
      const auto [sign, logs] = linalg::slogdet(a);
      const auto [sign_here, logs_here] = linalg::slogdet(a.to(cpu));
      expect_close(sign, sign_here, ulps);
      expect_close(logs, logs_here, ulps);
      const Array many = Random(seed++).normal({n, 3000}, t, test_device());
      expect_close(matmul(a.select(0, 1), linalg::solve(a.select(0, 1), many)), many, ulps);
    }
}

TEST(LinalgStacks, SingularOnesAreNamed) {
  for (const DType t : dtypes)
    for (const i64 n : {5, 33, 64}) {
      const Array a = Random(50).normal({6, n, n}, t, test_device());
      a.select(0, 4).select(1, 2).fill(Value(0));
      const std::string text = thrown_text<ArgumentError>([&] { linalg::inverse(a); });
      EXPECT_NE(text.find("(4,)"), std::string::npos) << text;
      EXPECT_THROW(linalg::solve(a, a), ArgumentError);
      EXPECT_EQ(linalg::det(a).select(0, 4).item().as<c128>(), c128(0, 0));
      EXPECT_TRUE(std::isinf(linalg::slogdet(a).logabsdet.select(0, 4).item().as<double>()));
    }
}

TEST(LinalgStacks, MatricesWithoutFullRank) {
  for (const DType t : dtypes)
    for (const i64 n : {2, 7, 32, 33, 64}) {
      const i64 rank = n / 2;
      const Array left = Random(3).normal({6, n + 2, rank}, t, test_device()),
                  right = Random(4).normal({6, rank, n}, t, test_device());
      const Array a = matmul(left, right);
      a.select(0, 1).fill(Value(0));
      a.select(0, 2).fill(Value(1));
      a.select(0, 3).select(1, 0).fill(Value(0));
      a.select(0, 4).select(1, n - 1).copy_from(a.select(0, 4).select(1, 0));
      a.select(0, 5).copy_from(eye(n + 2, n, 0, t, test_device()));
      const double ulps = 40 * static_cast<double>(n);
      for (const Array& x : {a, strided(adjoint(a))}) {
        expect_qr(x, ulps);
        expect_svd(x, ulps);
      }
      const std::vector<i64> ranks = values_of<i64>(linalg::matrix_rank(a).to(cpu));
      EXPECT_EQ(ranks[0], rank);
      EXPECT_EQ(ranks[1], 0);
      EXPECT_EQ(ranks[2], 1);
      EXPECT_EQ(ranks[5], n);
    }
}

TEST(LinalgStacks, NumbersNearTheEndsOfTheRange) {
  for (const DType t : dtypes) {
    const bool single = real_of(t) == DType::f32;
    for (const double size : {single ? 1e-30 : 1e-250, single ? 1e34 : 1e300}) {
      const Array a = Random(5).normal({4, 9, 6}, t, test_device());
      const Array scaled = ops::multiply(a, size);
      ASSERT_EQ(scaled.dtype(), t);
      const Array r = linalg::qr(scaled).r, s = linalg::svd(scaled).s;
      expect_close(ops::multiply(r, 1 / size), linalg::qr(a).r, 2000);
      expect_close(ops::multiply(s, 1 / size), linalg::svd(a).s, 2000);
      expect_orthonormal(linalg::qr(scaled).q, 500);
      expect_orthonormal(linalg::svd(scaled).u, 500);
    }
  }
}

TEST(LinalgStacks, WhatIsNotFinite) {
  for (const DType t : dtypes)
    for (const i64 n : {3, 33})
      for (const double odd : {std::nan(""), std::numeric_limits<double>::infinity()}) {
        const Array a = Random(6).normal({5, n, n}, t, test_device());
        a.select(0, 3).select(0, 1).select(0, 0).fill(Value(odd));
        if (std::isnan(odd) || test_device().kind == Kind::cuda) {  // LAPACK takes infinities
          EXPECT_THROW(linalg::svd(a), ArgumentError);
          EXPECT_THROW(linalg::svdvals(a), ArgumentError);
        }
        const Array r = linalg::qr(a).r;
        const Array sound = reduce(ReduceOp::all, ops::isfinite(r), Axes{1, 2}).to(cpu);
        for (i64 i = 0; i < 5; ++i) EXPECT_EQ(sound.select(0, i).item().as<bool>(), i != 3);
      }
}

TEST(LinalgStacks, WithoutMatricesOrNumbers) {
  for (const DType t : dtypes)
    for (const Shape& shape : {Shape{0, 4, 3}, {2, 0, 3}, {2, 3, 0}}) {
      const Array a = zeros(shape, t, test_device());
      const i64 k = std::min(shape[1], shape[2]);
      EXPECT_EQ(linalg::qr(a).r.shape(), (Shape{shape[0], k, shape[2]}));
      EXPECT_EQ(linalg::svd(a).s.shape(), (Shape{shape[0], k}));
      EXPECT_EQ(linalg::svd(a, true).u.shape(), (Shape{shape[0], shape[1], shape[1]}));
    }
}

TEST(LinalgStacks, WhatFollowsFromFactors) {
  for (const DType t : dtypes)
    for (const i64 n : {3, 20, 40}) {
      const Array a = Random(7).normal({6, n + 4, n}, t, test_device()),
                  b = Random(8).normal({6, n + 4, 2}, t, test_device()),
                  square = a.slice(1, 0, n).copy();
      const double ulps = 4000 * static_cast<double>(n);
      expect_close(linalg::lstsq(a, b).x, linalg::lstsq(a.to(cpu), b.to(cpu)).x, ulps);
      expect_close(linalg::pinv(a), linalg::pinv(a.to(cpu)), ulps);
      const auto [sign, logs] = linalg::slogdet(square);
      const auto [sign_here, logs_here] = linalg::slogdet(square.to(cpu));
      expect_close(sign, sign_here, ulps);
      expect_close(logs, logs_here, ulps);
      expect_close(matmul(square, linalg::inverse(square)),
                   eye(n, n, 0, t, test_device()).broadcast_to(square.shape()), ulps);
      const auto [w, v, left] = linalg::eig(square);
      expect_close(matmul(square.astype(v.dtype()), v), ops::multiply(v, w.expand_dims(1)), ulps);
    }
}

// A matrix for each thread, where a single one would have all of them.
TEST(LinalgStacks, EigenvaluesOfLargerMatrices) {
  const Array a = Random(9).normal({3, 261, 261}, DType::f64, test_device());
  const auto [w, v, left] = linalg::eig(a);
  expect_close(matmul(a.astype(v.dtype()), v), ops::multiply(v, w.expand_dims(1)), 1e6);
  const Array traces = reduce(ReduceOp::sum, w, Axes{1});
  for (i64 i = 0; i < 3; ++i) {
    double trace = 0;
    for (i64 j = 0; j < 261; ++j)
      trace += a.select(0, i).select(0, j).select(0, j).item().as<double>();
    EXPECT_NEAR(traces.select(0, i).item().as<c128>().re, trace, 1e-9);
  }
}

}  // namespace
}  // namespace tessera
