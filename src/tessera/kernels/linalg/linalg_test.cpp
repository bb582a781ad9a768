// SPDX-License-Identifier: Apache-2.0
// Against the equations that define them, and NumPy's answers where signs and orders are fixed.
#include "tessera/kernels/linalg/linalg.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/arrays.hpp"
#include "support/distances.hpp"
#include "tessera/array/index.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/eager.hpp"
#include "tessera/kernels/linalg/decompositions.hpp"

namespace tessera {
namespace {

constexpr DType dtypes[] = {DType::f32, DType::f64, DType::c64, DType::c128};

Array turned(const Array& a) { return a.swap_axes(a.ndim() - 2, a.ndim() - 1); }
Array adjoint(const Array& a) { return turned(ops::conj(a)); }

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

TEST(Linalg, HasSchursForm) {
  if (test_device().kind == Kind::cuda)
    GTEST_SKIP() << "LAPACK's alone, on the host; the refusal is a test of its own";
  for (const DType t : dtypes)
    for (const bool complex : {false, true}) {
      const Array a = random({2, 7, 7}, t, 5);
      const auto [upper, z] = linalg::schur(a, complex);
      expect_near(matmul(matmul(z, upper), adjoint(z)), a.astype(z.dtype()), 10);
      expect_near(matmul(z, adjoint(z)), eye_like(z), 10);
      const Array below = linalg::triangle(upper, true, is_complex(z.dtype()) ? -1 : -2);
      expect_near(below, zeros(a.shape(), z.dtype(), a.device()));
    }
  EXPECT_EQ(linalg::schur(zeros({3, 0, 0}, DType::f32)).t.shape(), (Shape{3, 0, 0}));
}

TEST(Linalg, FactorsIndefiniteMatrices) {
  if (test_device().kind == Kind::cuda)
    GTEST_SKIP() << "LAPACK's alone, on the host; the refusal is a test of its own";
  for (const DType t : dtypes)
    for (const bool lower : {false, true})
      for (const bool hermitian : {false, true}) {
        const Array g = random({2, 9, 9}, t, 6);
        Array a = ops::add(g, hermitian ? adjoint(g) : turned(g));
        a = ops::subtract(a, ops::multiply(a, eye_like(a)));  // a zero diagonal: blocks of two
        const auto [l, d, order] = linalg::ldl(a, lower, hermitian);
        expect_near(matmul(matmul(l, d), hermitian ? adjoint(l) : turned(l)), a, 30);
      }
}

TEST(Linalg, SolvesBandsAndPairs) {
  if (test_device().kind == Kind::cuda)
    GTEST_SKIP() << "LAPACK's alone, on the host; the refusal is a test of its own";
  for (const DType t : dtypes) {
    const Array bands = random({4, 11}, t, 7), b = random({11, 3}, t, 8);
    const Array x = linalg::solve_banded(1, 2, bands, b);
    Array a = zeros({11, 11}, t, bands.device());
    for (i64 row = 0; row < 4; ++row)
      for (i64 j = 0; j < 11; ++j)
        if (const i64 i = j + row - 2; i >= 0 && i < 11)
          a.select(0, i).select(0, j).copy_from(bands.select(0, row).select(0, j));
    expect_near(matmul(a, x), b, 300);
    const Array m = random({2, 6, 6}, t, 9), n = random({2, 6, 6}, t, 10);
    const auto [alpha, beta, v, left] = linalg::eig_pair(m, n);
    const DType c = v.dtype();
    expect_near(ops::multiply(matmul(m.astype(c), v), beta.expand_dims(1)),
                ops::multiply(matmul(n.astype(c), v), alpha.expand_dims(1)), 30);
  }
  EXPECT_THROW(linalg::solve_banded(1, 0, zeros({2, 3}, DType::f64), zeros({3}, DType::f64)),
               LinAlgError);
}

TEST(Linalg, SaysWhereDecompositionsOfTheHostAreNot) {
  if (test_device().kind != Kind::cuda) GTEST_SKIP() << "there is a kernel here";
  const Array a = random({3, 3}, DType::f64, 5);
  EXPECT_THROW(linalg::schur(a), NotAvailable);
  EXPECT_THROW(linalg::ldl(a), NotAvailable);
  EXPECT_THROW(linalg::solve_banded(1, 1, a, random({3}, DType::f64, 6)), NotAvailable);
  EXPECT_THROW(linalg::eig_pair(a, a), NotAvailable);
}

TEST(Linalg, FactorsRectangles) {
  for (const DType t : dtypes)
    for (const Shape& shape : {Shape{3, 7, 4}, {4, 7}, {5, 5}, {3, 1}}) {
      const Array a = random(shape, t, 5);
      const auto [q, r, order] = linalg::qr(a);
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

Array far(const Array& a) { return a.to(test_device()); }

TEST(Linalg, SolvesTriangles) {
  for (const DType t : dtypes)
    for (const bool lower : {false, true})
      for (const bool unit : {false, true})
        for (const Turn turn : {Turn::none, Turn::transposed, Turn::adjoint}) {
          const Array a = ops::add(random({2, 6, 6}, t, 20), eye(6, 6, 0, t, test_device()));
          const Array b = random({2, 6, 3}, t, 21);
          Array m = linalg::triangle(a, lower, unit ? (lower ? -1 : 1) : 0);
          if (unit) m = ops::add(m, eye(6, 6, 0, t, test_device()));
          if (turn == Turn::transposed) m = turned(m);
          if (turn == Turn::adjoint) m = adjoint(m);
          expect_near(matmul(m, linalg::solve_triangular(a, b, {lower, turn, unit})), b, 1000);
          const Array rows = turned(turned(a).copy());  // columns lie together
          expect_near(matmul(m, linalg::solve_triangular(rows, b, {lower, turn, unit})), b, 1000);
        }
  const std::string text = thrown_text<ArgumentError>(
      [] { linalg::solve_triangular(far(eye(4, 4, 1, DType::f64)), far(ones({4}, DType::f64))); });
  EXPECT_NE(text.find("row 1"), std::string::npos) << text;
}

TEST(Linalg, FactorsOnceAndSolvesOften) {
  for (const DType t : dtypes) {
    const Array a = random({3, 20, 20}, t, 22), b = random({3, 20, 2}, t, 23),
                v = random({20}, t, 24);
    const linalg::Lu f = linalg::lu_factor(a);
    expect_near(matmul(f.p().astype(t), matmul(f.l(), f.u())), a, 20);
    expect_near(matmul(a, f.solve(b)), b, 500);
    expect_near(matmul(turned(a), f.solve(b, Turn::transposed)), b, 500);
    expect_near(matmul(adjoint(a), f.solve(b, Turn::adjoint)), b, 500);
    expect_near(matmul(a, f.solve(v).expand_dims(2)).squeeze(2), v.broadcast_to({3, 20}), 500);
    const linalg::Lu one = linalg::lu_factor(a.select(0, 1));
    expect_near(matmul(a.select(0, 1), one.solve(b)), b, 500);
    const Array g = matmul(a, adjoint(a));
    expect_near(matmul(g, linalg::cholesky_factor(g).solve(b)), b, 20000);
    const Array u = linalg::cholesky(g, true);
    expect_near(matmul(adjoint(u), u), g, 20);
  }
  for (const Shape& shape : {Shape{5, 3}, {3, 5}, {2, 4, 4}}) {
    const Array a = random(shape, DType::f64, 25);
    const linalg::Lu f = linalg::lu_factor(a);
    expect_near(matmul(f.p(), matmul(f.l(), f.u())), a, 20);
  }
  EXPECT_THROW(linalg::lu_factor(zeros({2, 2}, DType::f64)).solve(ones({2}, DType::f64)),
               ArgumentError);
}

TEST(Linalg, FactorsCompletelyAndWithExchanges) {
  for (const DType t : dtypes)
    for (const Shape& shape : {Shape{3, 7, 4}, {4, 7}, {5, 5}}) {
      const Array a = random(shape, t, 26);
      const auto [q, r, none] = linalg::qr(a, linalg::QrMode::complete);
      expect_near(matmul(q, r), a, 10);
      expect_near(matmul(adjoint(q), q), eye_like(q), 10);
      EXPECT_EQ(q.shape(q.ndim() - 1), q.shape(q.ndim() - 2));
      expect_near(linalg::qr(a, linalg::QrMode::r).r, linalg::qr(a).r, 10);
    }
  if (test_device().kind == Kind::cuda) return;  // cuSOLVER exchanges no columns
  const Array a = random({6, 4}, DType::f64, 27);
  const auto [q, r, order] = linalg::qr(a, linalg::QrMode::reduced, true);
  expect_near(matmul(q, r), a[Index{Slice{}, order}], 10);
  const std::vector<double> d = values_of<double>(linalg::diagonal(r));
  for (std::size_t i = 1; i < d.size(); ++i)
    EXPECT_LE(std::abs(d[i]), std::abs(d[i - 1]) * (1 + 1e-12));
}

TEST(Linalg, FindsEigenvaluesOfAnyMatrix) {
  for (const DType t : dtypes) {
    const Array a = random({2, 9, 9}, t, 28);
    const bool has_left = test_device().kind != Kind::cuda;  // cuSOLVER finds none
    const auto [w, v, left] = linalg::eig(a, has_left);
    const DType c = complex_of(t);
    const Array m = a.astype(c), wc = w.astype(c), vc = v.astype(c);
    expect_near(matmul(m, vc), ops::multiply(vc, wc.expand_dims(1)), 50);
    if (has_left) {
      const Array lh = adjoint(left.astype(c));
      expect_near(matmul(lh, m), ops::multiply(wc.expand_dims(2), lh), 50);
    }
    expect_near(reduce(ReduceOp::sum, wc, Axes{1}), linalg::trace(m), 50);
  }
  const Array real = far(laid_out<double>({2, 2}, {1, 2, 0, 3}));
  for (const Array& a :
       {real, ops::add(real, real.transpose()), real.slice(0, 0, 0).slice(1, 0, 0)}) {
    const auto [w, v, left] = linalg::eig(a, test_device().kind != Kind::cuda);
    EXPECT_EQ(w.dtype(), DType::c128);
    EXPECT_EQ(v.dtype(), DType::c128);
    if (left) {
      EXPECT_EQ(left.dtype(), DType::c128);
    }
    EXPECT_EQ(size(w.imag()), 0);
    EXPECT_EQ(linalg::eigvals(a).dtype(), DType::c128);
  }
  Array nan = ones({2, 2}, DType::f64, test_device());
  nan.select(0, 0).fill(Value(std::nan("")));
  EXPECT_THROW(linalg::eig(nan), ArgumentError);
}

TEST(Linalg, SkewMatricesHaveImaginaryEigenvalues) {
  for (const DType t : dtypes) {
    const Array g = random({7, 7}, t, 29), a = ops::subtract(g, adjoint(g));
    const auto [w, v, left] = linalg::eig(a);
    EXPECT_EQ(w.dtype(), complex_of(t));
    EXPECT_EQ(size(w.real()), 0);
    expect_near(matmul(a.astype(w.dtype()), v), ops::multiply(v, w.expand_dims(0)), 20);
    const Array h = ops::add(g, adjoint(g));
    const Array values = linalg::eigvals(h);
    EXPECT_EQ(values.dtype(), complex_of(t));
    EXPECT_EQ(size(values.imag()), 0);
    expect_near(values, linalg::eigvalsh(h).astype(values.dtype()), 20);
    expect_near(linalg::eigvalsh(linalg::triangle(h, false), false), linalg::eigvalsh(h), 20);
  }
}

TEST(Linalg, InvertsWhatHasNoInverse) {
  for (const DType t : dtypes) {
    const Array a = matmul(random({2, 6, 3}, t, 30), random({2, 3, 5}, t, 31)), x = linalg::pinv(a);
    expect_near(matmul(a, matmul(x, a)), a, 200);
    expect_near(matmul(x, matmul(a, x)), x, 2000);
    EXPECT_EQ(values_of<i64>(linalg::matrix_rank(a).to(cpu)), (std::vector<i64>{3, 3}));
    expect_near(linalg::svdvals(a), linalg::svd(a).s, 20);
  }
}

TEST(Linalg, DeterminantsStayInRange) {
  const Array ten = ops::multiply(eye(400, 400, 0, DType::f64, test_device()), 10.0);
  EXPECT_NEAR(linalg::slogdet(ten).logabsdet.item().as<double>(), 400 * std::log(10.0), 1e-9);
  EXPECT_TRUE(std::isinf(linalg::det(ten).item().as<double>()));
  const Array d = zeros({4, 4}, DType::f64, test_device());
  linalg::diagonal(d).copy_from(far(laid_out<double>({4}, {1e200, 1e200, 1e-200, -3e-200})));
  EXPECT_NEAR(linalg::det(d).item().as<double>(), -3, 1e-14);
}

TEST(Linalg, MeasuresSizes) {
  using linalg::NormOrder;
  const Array a = far(laid_out<double>({2, 2}, {1, -2, 3, 4}));
  const auto value = [&](NormOrder o) { return linalg::norm(a, o).item().as<double>(); };
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_NEAR(value({}), std::sqrt(30), 1e-14);
  EXPECT_EQ(value({NormOrder::number, 1}), 6);
  EXPECT_EQ(value({NormOrder::number, -1}), 4);
  EXPECT_EQ(value({NormOrder::number, inf}), 7);
  EXPECT_EQ(value({NormOrder::number, -inf}), 3);
  const double most = value({NormOrder::number, 2}), least = value({NormOrder::number, -2});
  EXPECT_NEAR(most * least, 10, 1e-13);
  EXPECT_NEAR(value({NormOrder::nuclear}), most + least, 1e-13);
  EXPECT_NEAR(linalg::cond(a).item().as<double>(), most / least, 1e-12);
  EXPECT_NEAR(linalg::cond(a, {NormOrder::frobenius}).item().as<double>(), 3, 1e-13);
  EXPECT_TRUE(
      std::isinf(linalg::cond(ones({2, 2}, DType::f64, test_device()), {NormOrder::number, 1})
                     .item()
                     .as<double>()));
  EXPECT_EQ(linalg::norm(a, {NormOrder::number, 1}, Shape{0}, true).shape(), (Shape{1, 2}));
  EXPECT_EQ(linalg::trace(a).item().as<double>(), 5);
  EXPECT_EQ(linalg::trace(a, 1).item().as<double>(), -2);
  EXPECT_THROW(linalg::norm(ones({2, 2, 2}, DType::f64), {NormOrder::frobenius}), ArgumentError);
}

TEST(Linalg, NamesTheMatrixAndThePivot) {
  for (const i64 n : {4, 40}) {
    const Array a = eye(n, n, 0, DType::f64, test_device()).broadcast_to({2, 3, n, n}).copy();
    a.select(0, 1).select(0, 2).select(0, 3).fill(Value(0));
    for (const std::string& text : {thrown_text<ArgumentError>([&] { linalg::inverse(a); }),
                                    thrown_text<ArgumentError>([&] { linalg::solve(a, a); })}) {
      EXPECT_NE(text.find("(1, 2)"), std::string::npos) << text;
      EXPECT_NE(text.find("pivot 4"), std::string::npos) << text;
    }
  }
}

TEST(Linalg, NothingIsMoved) {
  const Array a = ops::add(random({40, 40}, DType::f64, 32),
                           ops::multiply(eye(40, 40, 0, DType::f64, test_device()), 40.0));
  for (const Array& x :
       {linalg::solve(a, a), linalg::inverse(a), linalg::det(a), linalg::qr(a).q, linalg::svd(a).u,
        linalg::eig(a).values, linalg::lstsq(a, a).x, linalg::pinv(a)})
    EXPECT_EQ(x.device(), test_device());
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
