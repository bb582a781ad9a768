// SPDX-License-Identifier: Apache-2.0
// Against the equations that define them, and NumPy's answers where signs and orders are fixed.
#include "tessera/kernels/linalg/linalg.hpp"

#include <gtest/gtest.h>

#include "support/arrays.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/eager.hpp"

namespace tessera {
namespace {

constexpr DType dtypes[] = {DType::f32, DType::f64, DType::c64, DType::c128};

Array random(const Shape& shape, DType t, std::uint64_t seed) {
  return Random(seed).normal(shape, t, test_device());
}
Array turned(const Array& a) { return a.swap_axes(a.ndim() - 2, a.ndim() - 1); }
Array adjoint(const Array& a) { return turned(ops::conj(a)); }
double size(const Array& a) { return norm(a.to(cpu)).item().as<double>(); }

void expect_near(const Array& a, const Array& b, double scale = 1) {
  ASSERT_EQ(a.shape(), b.shape());
  EXPECT_EQ(a.dtype(), b.dtype());
  const double tolerance = 64 * epsilon_of(a.dtype()) * scale * (1 + size(b));
  if (const double d = size(ops::subtract(a, b)); !(d < tolerance))
    ADD_FAILURE() << "difference " << d << ", expected less than " << tolerance;
}

Array eye_like(const Array& a) {
  return eye(a.shape(a.ndim() - 1), a.shape(a.ndim() - 1), 0, a.dtype(), a.device())
      .broadcast_to(a.shape());
}

TEST(Linalg, SolvesAndInverts) {
  for (const DType t : dtypes) {
    const Array a = turned(random({2, 5, 5}, t, 1)), b = random({5, 3}, t, 2),
                v = random({5}, t, 3);
    expect_near(matmul(a, linalg::solve(a, b)), b.broadcast_to({2, 5, 3}), 30);
    expect_near(matmul(a, linalg::solve(a, v).expand_dims(2)).squeeze(2), v.broadcast_to({2, 5}),
                30);
    expect_near(matmul(a, linalg::inverse(a)), eye_like(a), 30);
  }
  const Array whole = Array::of<i64>({2, 0, 0, 4}).reshape({2, 2}).to(test_device());
  EXPECT_EQ(values_of<double>(linalg::inverse(whole)), (std::vector<double>{0.5, 0, 0, 0.25}));
  EXPECT_EQ(linalg::inverse(zeros({0, 3, 3}, DType::f32)).shape(), (Shape{0, 3, 3}));
  EXPECT_EQ(linalg::solve(zeros({0, 0}, DType::f32), zeros({0, 2}, DType::f32)).shape(),
            (Shape{0, 2}));
}

TEST(Linalg, FactorsPositiveMatrices) {
  for (const DType t : dtypes) {
    const Array g = random({2, 4, 6}, t, 4), a = matmul(g, adjoint(g));
    const Array l = linalg::cholesky(a);
    expect_near(matmul(l, adjoint(l)), a, 10);
    EXPECT_EQ(l.select(0, 1).select(0, 0).select(0, 3).item().as<c128>().re, 0);
  }
}

TEST(Linalg, FactorsRectangles) {
  for (const DType t : dtypes)
    for (const Shape& shape : {Shape{3, 7, 4}, {4, 7}, {5, 5}, {3, 1}}) {
      const Array a = random(shape, t, 5);
      const auto [q, r] = linalg::qr(a);
      expect_near(matmul(q, r), a, 10);
      expect_near(matmul(adjoint(q), q), eye_like(matmul(adjoint(q), q)), 10);
      EXPECT_EQ(r.shape(r.ndim() - 2), std::min(a.shape(a.ndim() - 2), a.shape(a.ndim() - 1)));
      if (r.shape(r.ndim() - 2) > 1) {
        const Array below = r.reshape({-1, r.shape(r.ndim() - 2), r.shape(r.ndim() - 1)})
                                .select(0, 0)
                                .select(0, 1)
                                .select(0, 0);
        EXPECT_EQ(below.item().as<c128>().re, 0);
      }
    }
}

TEST(Linalg, FindsEigenvaluesInOrder) {
  for (const DType t : dtypes) {
    const Array g = random({3, 6, 6}, t, 6), a = ops::add(g, adjoint(g));
    const auto [w, v] = linalg::eigh(a);
    EXPECT_EQ(w.dtype(), real_of(t));
    expect_near(matmul(a, v), ops::multiply(v, w.expand_dims(1).astype(t)), 20);
    expect_near(matmul(adjoint(v), v), eye_like(a), 20);
    const std::vector<std::complex<double>> values = numbers_of(w.select(0, 0));
    for (std::size_t i = 1; i < values.size(); ++i)
      EXPECT_LE(values[i - 1].real(), values[i].real());
  }
}

TEST(Linalg, FindsSingularValuesInOrder) {
  for (const DType t : dtypes)
    for (const Shape& shape : {Shape{2, 5, 3}, {3, 6}, {4, 4}, {1, 3}})
      for (const bool full : {false, true}) {
        const Array a = random(shape, t, 7);
        const auto [u, s, vh] = linalg::svd(a, full);
        const i64 k = s.shape(s.ndim() - 1), last = u.ndim() - 1;
        expect_near(
            matmul(ops::multiply(u.slice(last, 0, k), s.expand_dims(s.ndim() - 1).astype(t)),
                   vh.slice(last - 1, 0, k)),
            a, 20);
        expect_near(matmul(adjoint(u), u), eye_like(matmul(adjoint(u), u)), 20);
        expect_near(matmul(vh, adjoint(vh)), eye_like(matmul(vh, adjoint(vh))), 20);
        EXPECT_EQ(u.shape(last), full ? shape[shape.size() - 2] : k);
      }
  const auto [u, s, vh] = linalg::svd(zeros({2, 0}, DType::f64));
  EXPECT_EQ(values_of<double>(u), (std::vector<double>{1, 0, 0, 1}));
  EXPECT_EQ(vh.shape(), (Shape{0, 0}));
}

TEST(Linalg, MeasuresVolumes) {
  const Array a = laid_out<double>({2, 2, 2}, {1, 2, 3, 4, 0, 1, 1, 0});
  const std::vector<double> d = values_of<double>(linalg::det(a));
  EXPECT_NEAR(d[0], -2, 1e-14);
  EXPECT_NEAR(d[1], -1, 1e-14);
  const linalg::SlogDet s = linalg::slogdet(zeros({2, 2}, DType::f32));
  EXPECT_EQ(s.sign.item().as<double>(), 0);
  EXPECT_EQ(s.logabsdet.item().as<double>(), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(linalg::det(zeros({0, 0}, DType::f64)).item().as<double>(), 1);
  const Array turn = laid_out<c128>({1, 1}, {c128(0, 3)});
  EXPECT_NEAR(linalg::det(turn).item().as<c128>().im, 3, 1e-14);
}

TEST(Linalg, FitsLeastSquares) {
  for (const DType t : dtypes) {
    const Array a = random({9, 4}, t, 8), x = random({4, 2}, t, 9), b = matmul(a, x);
    const linalg::Lstsq fit = linalg::lstsq(a, b);
    expect_near(fit.x, x, 20);
    EXPECT_EQ(fit.rank, 4);
    EXPECT_EQ(fit.residuals.shape(), (Shape{2}));
    const Array wide = random({3, 5}, t, 10), y = random({3}, t, 11);
    const linalg::Lstsq least = linalg::lstsq(wide, y);
    expect_near(matmul(wide, least.x.expand_dims(1)).squeeze(1), y, 20);
    EXPECT_EQ(least.residuals.shape(), (Shape{0}));
  }
}

TEST(Linalg, RefusesWhatCannotBeDone) {
  const Array singular = ones({3, 3}, DType::f64, test_device());
  EXPECT_NE(thrown_text<ArgumentError>([&] { linalg::inverse(singular); }).find("Singular matrix"),
            std::string::npos);
  EXPECT_THROW(linalg::solve(singular, ones({3}, DType::f64, test_device())), ArgumentError);
  EXPECT_THROW(linalg::cholesky(ops::negative(singular)), ArgumentError);
  const Array odd = ones({3, 3}, DType::f64, test_device());
  odd.select(0, 1).fill(Value(std::nan("")));
  EXPECT_THROW(linalg::svd(odd), ArgumentError);
  EXPECT_THROW(linalg::inverse(ones({2, 3}, DType::f64)), ShapeError);
  EXPECT_THROW(linalg::qr(ones({3}, DType::f64)), ShapeError);
  EXPECT_THROW(linalg::solve(singular, ones({4}, DType::f64, test_device())), ShapeError);
}

}  // namespace
}  // namespace tessera
