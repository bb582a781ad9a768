// SPDX-License-Identifier: Apache-2.0
// Every form against the same numbers as a full array, and against the equations.
#include "tessera/matrix/functions/solving.hpp"

#include <cmath>

#include "support/arrays.hpp"
#include "support/distances.hpp"
#include "tessera/device/memory.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/matmul/matmul.hpp"
#include "tessera/kernels/random/random.hpp"
#include "tessera/kernels/reduce/reduce.hpp"

namespace tessera {
namespace {

Array one(i64 n, DType t) { return eye(n, n, 0, t, test_device()); }

struct Named {
  const char* name;
  AnyMatrix matrix;
};

// None of them near to singular; n even.
std::vector<Named> regular_forms(i64 n, DType t) {
  const Array a = random({n, n}, t, 1);
  const Array heavy = ops::add(a, ops::multiply(one(n, t), Value(3.0 * static_cast<double>(n))));
  return {{"dense", AnyMatrix::dense(heavy)},
          {"upper", AnyMatrix::triangular(heavy, false, false, false)},
          {"lower", AnyMatrix::triangular(heavy, true, false, false)},
          {"symmetric", AnyMatrix::symmetric(heavy, false)},
          {"antisymmetric", AnyMatrix::antisymmetric(a, false)},
          {"diagonal", AnyMatrix::diagonal(linalg::diagonal(heavy).copy())},
          {"identity", AnyMatrix::identity(n, n, t, test_device())}};
}

template <class F>
void for_each_form(i64 n, DType t, F&& f) {
  for (const Named& form : regular_forms(n, t))
    for (int view = 0; view < 4; ++view) {
      AnyMatrix m = form.matrix;
      if (view % 2 == 1) m = m.adjoint();
      if (view >= 2) m = m.scaled(is_complex(t) ? Value(c128(0.5, -1.5)) : Value(-2.5));
      SCOPED_TRACE(cat(form.name, " view ", view, " ", t));
      f(m, m.array());
    }
}

constexpr DType wide_dtypes[] = {DType::f64, DType::c128};

TEST(MatrixSolving, SolvesAndInverts) {
  const i64 n = 70;  // three strips
  for (const DType t : wide_dtypes)
    for_each_form(n, t, [&](const AnyMatrix& m, const Array& a) {
      const Array v = random({n}, t, 2), b = random({n, 3}, t, 3);
      EXPECT_LT(distance(matmul(a, solve(m, v)), v), 1e-9);
      EXPECT_LT(distance(matmul(a, solve(m, b)), b), 1e-9);
      const AnyMatrix x = inverse(m);
      EXPECT_EQ(x.form(), m.form());
      EXPECT_LT(distance(matmul(a, x.array()), one(n, t)), 1e-9);
    });
}

TEST(MatrixSolving, TrianglesAreInvertedWhereTheyLie) {
  const i64 n = 700;
  const Array a = ops::add(random({n, n}, DType::f32, 4), ops::multiply(one(n, DType::f32), 40.0));
  for (const bool lower : {false, true}) {
    const AnyMatrix m = AnyMatrix::triangular(a, lower, false, /*check=*/false);
    reset_peak(test_device());
    const i64 before = memory_stats(test_device()).in_use;
    const AnyMatrix x = inverse(m);
    const i64 more = memory_stats(test_device()).peak - before;
    EXPECT_LT(more, n * n * 4 * 7 / 10);  // all elements would take n * n * 4
    EXPECT_LT(distance(matmul(m.array(), x.array()), one(n, DType::f32)), 1e-3);
    EXPECT_EQ(x.lower(), lower);
  }
}

TEST(MatrixSolving, DeclaredTrianglesAreInverted) {
  const Array a = random({70, 70}, DType::c128, 5);
  AnyMatrix m = AnyMatrix::dense(a);
  m.properties().declare(Property::is_lower_triangular, true);
  m.properties().declare(Property::has_unit_diagonal, true);  // nothing else is read
  const AnyMatrix x = inverse(m.conj());
  const Array strict = linalg::triangle(ops::conj(a), /*lower=*/true, -1);
  EXPECT_LT(
      distance(matmul(ops::add(strict, one(70, DType::c128)), x.array()), one(70, DType::c128)),
      1e-7 * norm(x.array().to(cpu)).item().as<double>());
  EXPECT_EQ(x.form(), Form::triangular);
}

TEST(MatrixSolving, ShortNumbersAreTakenAsFloats) {
  const AnyMatrix m = AnyMatrix::diagonal(Array::of<std::int32_t>({2, 4}).to(test_device()));
  EXPECT_EQ(values_of<double>(solve(m, ones({2}, DType::i8, test_device()))),
            (std::vector<double>{0.5, 0.25}));
  EXPECT_EQ(inverse(m).dtype(), DType::f64);
}

TEST(MatrixSolving, DeterminantsAgree) {
  for (const DType t : wide_dtypes)
    for_each_form(6, t, [&](const AnyMatrix& m, const Array& a) {
      const c128 found = determinant(m).as<c128>(), expected = linalg::det(a).item().as<c128>();
      const double scale = std::hypot(expected.re, expected.im);
      EXPECT_NEAR(found.re, expected.re, 1e-10 * (1 + scale));
      EXPECT_NEAR(found.im, expected.im, 1e-10 * (1 + scale));
      const LogDeterminant d = slogdet(m);
      EXPECT_NEAR(d.logabsdet, std::log(scale), 1e-10);
      EXPECT_NEAR(d.sign.as<c128>().re * scale, expected.re, 1e-10 * (1 + scale));
      EXPECT_NEAR(d.sign.as<c128>().im * scale, expected.im, 1e-10 * (1 + scale));
    });
}

TEST(MatrixSolving, DeterminantsDoNotOverflow) {
  const AnyMatrix ten = AnyMatrix::identity(400).scaled(Value(10));
  EXPECT_NEAR(slogdet(ten).logabsdet, 400 * std::log(10.0), 1e-9);
  EXPECT_EQ(slogdet(ten).sign.as<double>(), 1);
  EXPECT_EQ(slogdet(ten.scaled(Value(-1))).sign.as<double>(), 1);
  EXPECT_EQ(slogdet(AnyMatrix::identity(401).scaled(Value(-3))).sign.as<double>(), -1);
  EXPECT_EQ(determinant(AnyMatrix::identity(3).scaled(Value(5))).as<double>(), 125);
  // The product of the numbers overflows on the way, the determinant does not.
  const Array far = Array::of<double>({1e200, 1e200, 1e-200, -1e-199}).to(test_device());
  EXPECT_NEAR(determinant(AnyMatrix::diagonal(far)).as<double>(), -10, 1e-9);
  const AnyMatrix small =
      AnyMatrix::dense(ops::multiply(one(300, DType::f64), 1e3)).scaled(Value(1e-3));
  EXPECT_NEAR(determinant(small).as<double>(), 1, 1e-9);
  // Factored once: on the way out of the range, beyond it, below it, and singular.
  const Array q = linalg::qr(random({40, 40}, DType::f64, 3)).q,
              turned = matmul(q, ops::multiply(q.transpose().contiguous(), 1e30));
  EXPECT_TRUE(std::isinf(determinant(AnyMatrix::dense(turned)).as<double>()));
  EXPECT_EQ(determinant(AnyMatrix::dense(ops::multiply(turned, 1e-60))).as<double>(), 0);
  EXPECT_EQ(determinant(AnyMatrix::dense(ones({4, 4}, DType::f64, test_device()))).as<double>(), 0);
  EXPECT_NEAR(std::abs(determinant(AnyMatrix::dense(ops::multiply(turned, 1e-30))).as<double>()), 1,
              1e-9);
}

TEST(MatrixSolving, SpectraAgree) {
  for (const DType t : wide_dtypes)
    for_each_form(34, t, [&](const AnyMatrix& m, const Array& a) {
      const DType c = DType::c128;
      const auto [w, v, left] = eig(m);
      EXPECT_EQ(w.dtype(), c);
      const Array wide = a.astype(c);
      EXPECT_LT(distance(matmul(wide, v), ops::multiply(v, w.expand_dims(0))),
                1e-8 * (1 + size(a)));
      EXPECT_LT(distance(reduce(ReduceOp::sum, eigvals(m)), linalg::trace(wide)),
                1e-9 * (1 + size(a)));
      EXPECT_LT(distance(svdvals(m), linalg::svdvals(a)), 1e-10 * (1 + size(a)));
      EXPECT_LT(distance(norm(m), linalg::norm(a)), 1e-10 * (1 + size(a)));
      EXPECT_LT(distance(cond(m), linalg::cond(a)), 1e-8 * linalg::cond(a).item().as<double>());
      EXPECT_LT(distance(pinv(m).array(), linalg::pinv(a)), 1e-9);
      EXPECT_LT(distance(eigvalsh(m), linalg::eigvalsh(a)), 1e-9 * (1 + size(a)));
      const auto [values, vectors] = eigh(m);
      EXPECT_LT(distance(values, linalg::eigvalsh(a)), 1e-9 * (1 + size(a)));
      const Array b = random({34}, t, 4);
      EXPECT_LT(distance(matmul(a, lstsq(m, b).x), b), 1e-8);
    });
}

TEST(MatrixSolving, SkewValuesComeInPairs) {
  const AnyMatrix m = AnyMatrix::antisymmetric(random({33, 33}, DType::f64, 5), false);
  const Array w = eigvals(m);
  EXPECT_EQ(size(w.real()), 0);
  EXPECT_EQ(size(ops::add(w, flip(w, {0}))), 0);
  const AnyMatrix h = m.scaled(Value(c128(0, 1)));
  EXPECT_EQ(size(eigvals(h).imag()), 0);
}

TEST(MatrixSolving, FactorsAgree) {
  const Array g = random({20, 20}, DType::f64, 6);
  const Array a = ops::add(matmul(g, g.transpose()), one(20, DType::f64));
  const AnyMatrix m = AnyMatrix::symmetric(a, false);
  const AnyMatrix l = cholesky(m);
  EXPECT_TRUE(l.lower());
  EXPECT_LT(distance(matmul(l.array(), l.transpose().array()), a), 1e-10);
  const linalg::Lu f = lu(m);
  EXPECT_LT(distance(matmul(f.p(), matmul(f.l(), f.u())), a), 1e-10);
  const linalg::Qr q = qr(m);
  EXPECT_LT(distance(matmul(q.q, q.r), a), 1e-10);
  const linalg::Svd s = svd(m, false);
  EXPECT_LT(distance(matmul(ops::multiply(s.u, s.s), s.vh), a), 1e-10);
  EXPECT_EQ(matrix_rank(m).item().as<i64>(), 20);
  EXPECT_THROW(cholesky(AnyMatrix::identity(3).scaled(Value(-1))), ArgumentError);
}

TEST(MatrixSolving, SingularMatricesAreNamed) {
  const Device d = test_device();
  const Array b = ones({3}, DType::f64, d);
  const AnyMatrix odd = AnyMatrix::antisymmetric(random({3, 3}, DType::f64, 7), false);
  const AnyMatrix strict = AnyMatrix::triangular(random({3, 3}, DType::f64, 8), false, true, false);
  AnyMatrix zero = AnyMatrix::dense(ones({3, 3}, DType::f64, d));
  zero.properties().declare(Property::is_zero, true);
  const AnyMatrix hole = AnyMatrix::diagonal(Array::of<double>({1, 0, 2}).to(d));
  const AnyMatrix flat = AnyMatrix::dense(ones({3, 3}, DType::f64, d));
  for (const AnyMatrix& m : {odd, strict, zero, hole, flat, flat.scaled(Value(0))}) {
    for (const auto& f : {+[](const AnyMatrix&x, const Array&) { inverse(x); },
                          +[](const AnyMatrix&x, const Array&y) { solve(x, y); }}) {
      EXPECT_NE(thrown_text<ArgumentError>([&] { f(m, b); }).find("Singular"), std::string::npos)
          << m.str();
    }
    EXPECT_EQ(determinant(m).as<double>(), 0) << m.str();
  }
  EXPECT_NE(thrown_text<ArgumentError>([&] { solve(hole, b); }).find("row 2"), std::string::npos);
  EXPECT_THROW(inverse(AnyMatrix::dense(ones({2, 3}, DType::f64, d))), ShapeError);
  EXPECT_THROW(solve(flat, ones({4}, DType::f64, d)), ShapeError);
}

TEST(MatrixSolving, TrustsWhatIsDeclared) {
  const Array a = random({5, 5}, DType::f64, 9), b = random({5}, DType::f64, 10);
  const auto marked = [&](Property p) {
    AnyMatrix m = AnyMatrix::dense(a);
    m.properties().declare(p, true);
    return m;
  };
  EXPECT_EQ(distance(solve(marked(Property::is_identity), b), b), 0);
  EXPECT_LT(distance(solve(marked(Property::is_diagonal), b), ops::divide(b, linalg::diagonal(a))),
            1e-12);
  for (const bool lower : {false, true}) {
    const AnyMatrix m =
        marked(lower ? Property::is_lower_triangular : Property::is_upper_triangular);
    const Array expected = linalg::solve_triangular(a, b, {.lower = lower});
    EXPECT_LT(distance(solve(m, b), expected), 1e-9 * (1 + size(expected)));
    EXPECT_EQ(inverse(m).form(), Form::triangular);
  }
  EXPECT_LT(distance(solve(marked(Property::is_unitary), b), matmul(a.transpose(), b)), 1e-12);
}

TEST(MatrixSolving, PermutationsAreTurned) {
  const Array p = laid_out<double>({3, 3}, {0, 1, 0, 0, 0, 1, 1, 0, 0});
  AnyMatrix m = AnyMatrix::dense(p);
  m.properties().declare(Property::is_permutation, true);
  const Array b = laid_out<double>({3}, {1, 2, 3});
  EXPECT_EQ(values_of<double>(solve(m, b)), (std::vector<double>{3, 1, 2}));
  EXPECT_TRUE(inverse(m).transposed());
  EXPECT_EQ(values_of<double>(svdvals(m)), (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(cond(m).item().as<double>(), 1);
}

TEST(MatrixSolving, SolutionsLieWhereTheRightSideDoes) {
  const Device there = Device::parse("sim:1");
  for (const Named& form : regular_forms(40, DType::f64)) {
    const Array b = random({40, 2}, DType::f64, 12), x = solve(form.matrix.to(there), b);
    EXPECT_EQ(x.device(), b.device()) << form.name;
    EXPECT_LT(distance(matmul(form.matrix.array(), x), b), 1e-9) << form.name;
    EXPECT_EQ(svdvals(form.matrix.to(there)).device(), there) << form.name;
  }
}

TEST(MatrixSolving, ResultsAreKept) {
  AnyMatrix m = AnyMatrix::dense(random({6, 6}, DType::f64, 11));
  determinant(std::as_const(m));
  EXPECT_FALSE(m.properties().derived().determinant);
  const double d = determinant(m).as<double>();
  EXPECT_EQ(m.properties().derived().determinant->as<double>(), d);
  EXPECT_EQ(determinant(m.scaled(Value(2))).as<double>(), 64 * d);
  const Array w = eigvals(m);
  w.fill(Value(0));  // a copy: what is kept stays
  const Array kept = m.properties().derived().eigenvalues;
  ASSERT_TRUE(kept);
  EXPECT_EQ(distance(eigvals(m), kept), 0);
  EXPECT_GT(norm(kept.to(cpu)).item().as<double>(), 0);
}

}  // namespace
}  // namespace tessera
