// SPDX-License-Identifier: Apache-2.0
// Products of every form with every form, in many dtypes and views, against three plain loops.
#include "tessera/matrix/products/multiply.hpp"

#include <cmath>
#include <limits>

#include "support/matrices.hpp"
#include "tessera/base/tags.hpp"
#include "tessera/base/warn.hpp"
#include "tessera/compute/promotion.hpp"

namespace tessera {
namespace {

using Z = std::complex<double>;

struct Expected {
  Grid product, sizes;  // sums of the terms and of their absolute values
};

Expected product_of_grids(const Grid& a, const Grid& b) {
  Expected e{grid_of(a.rows, b.cols), grid_of(a.rows, b.cols)};
  for (i64 i = 0; i < a.rows; ++i)
    for (i64 k = 0; k < a.cols; ++k) {
      const Z x = a.at(i, k);
      if (x == 0.0) continue;
      for (i64 j = 0; j < b.cols; ++j) {
        e.product.at(i, j) += x * b.at(k, j);
        e.sizes.at(i, j) += std::abs(x) * std::abs(b.at(k, j));
      }
    }
  return e;
}

void expect_elements(const Array& got, const Expected& e, double eps, const std::string& text) {
  ASSERT_EQ(got.shape(), (Shape{e.product.rows, e.product.cols})) << text;
  const std::vector<Z> v = numbers_of(got);
  for (std::size_t i = 0; i < v.size(); ++i) {
    const double bound = 16 * eps * std::abs(e.sizes.v[i]);
    ASSERT_TRUE(std::abs(v[i] - e.product.v[i]) <= bound)
        << text << ": element " << i << " is " << v[i] << " for " << e.product.v[i];
  }
}

double roundoff(DType a, DType b, DType out) {
  return std::max({epsilon_of(out), is_inexact(out) ? epsilon_of(a) : 0.0,
                   is_inexact(out) ? epsilon_of(b) : 0.0});
}

// Counts of bits are int64 where int32 is too short; here they are int32.
void check_product(const MatrixSample& a, const MatrixSample& b) {
  const std::string text = cat(a.text, " @ ", b.text);
  const Expected e = product_of_grids(a.g, b.g);
  const DType dtype = resolve(MatrixOp::matmul, a.m.dtype(), b.m.dtype()).dtype;
  if (!fits(e.product, dtype)) {
    // Of an identity the other operand is the result; its elements are looked at when read.
    EXPECT_THROW(matmul(a.m, b.m).array(), OverflowError) << text;
    return;
  }
  const AnyMatrix c = matmul(a.m, b.m);
  EXPECT_EQ(c.dtype(), dtype) << text;
  EXPECT_EQ(c.device(), test_device()) << text;
  expect_elements(c.array(), e, roundoff(a.m.dtype(), b.m.dtype(), dtype), text);
}

// Every form, and where it can have that dtype; bits are always there.
std::vector<MatrixSample> samples_of(DType t, unsigned seed, i64 n) {
  std::vector<MatrixSample> all;
  for (Make make : all_makes) {
    const DType own = has_dtype(make, t) ? t : DType::b1;
    if (has_dtype(make, own)) all.push_back(sample(make, own, n, n, seed++));
  }
  return all;
}

void check_products(DType ta, DType tb, i64 n) {
  for (const MatrixSample& a : samples_of(ta, 1, n))
    for (const MatrixSample& b : samples_of(tb, 100, n))
      for (const MatrixViews& views : pairs_of_views) {
        check_product(viewed(a, views.left), viewed(b, views.right));
        if (testing::Test::HasFatalFailure()) return;
      }
}

constexpr i64 side = 37;  // two strips, and a part of a word

TEST(MatrixProduct, EveryFormInFloat64) { check_products(DType::f64, DType::f64, side); }
TEST(MatrixProduct, EveryFormInComplex128) { check_products(DType::c128, DType::c128, side); }
TEST(MatrixProduct, EveryFormInInt32) { check_products(DType::i32, DType::i32, side); }
TEST(MatrixProduct, EveryFormInFloat16) { check_products(DType::f16, DType::f16, side); }

int shortened = 0;  // warnings of floats that were shortened

TEST(MatrixProduct, EveryPairOfDtypes) {
  forget_warnings();
  shortened = 0;
  set_warning_hook([](WarningKind kind, const std::string&) {
    if (kind == WarningKind::precision) ++shortened;
  });
  const auto digits = [](DType t) { return is_inexact(t) ? size_of(real_of(t)) : i64{0}; };
  int pairs = 0;  // whose product is shorter than that of arrays
  for (int x = 0; x < dtype_count; ++x)
    for (int y = 0; y < dtype_count; ++y) {
      const DType ta = static_cast<DType>(x), tb = static_cast<DType>(y);
      try {
        pairs += digits(resolve(MatrixOp::matmul, ta, tb).dtype) < digits(promote(ta, tb));
      } catch (const ArgumentError&) {
      }
      for (Make make : {Make::dense, Make::symmetric, Make::upper, Make::diagonal}) {
        const MatrixSample a = sample(make, ta, 9, 9, 3), b = sample(Make::dense, tb, 9, 9, 4);
        bool resolves = true;
        try {
          resolve(MatrixOp::matmul, ta, tb);
        } catch (const ArgumentError&) {
          resolves = false;
        }
        if (!resolves) {
          EXPECT_THROW(matmul(a.m, b.m), ArgumentError) << a.text << b.text;
          continue;
        }
        check_product(a, b);
        check_product(b, a);
      }
    }
  set_warning_hook(nullptr);
  EXPECT_EQ(shortened, pairs);  // each once, however many products it was in
}

TEST(MatrixProduct, RectanglesAndNothing) {
  struct Sizes {
    i64 m, k, n;
  };
  for (const Sizes s : {Sizes{3, 7, 5}, {7, 3, 70}, {1, 9, 1}, {4, 2, 4}, {0, 3, 2}, {3, 0, 2}})
    for (Make x : rectangular_makes)
      for (Make y : rectangular_makes)
        for (DType t : {DType::f32, DType::i64}) {
          const MatrixSample a = sample(x, has_dtype(x, t) ? t : DType::b1, s.m, s.k, 5),
                             b = sample(y, has_dtype(y, t) ? t : DType::b1, s.k, s.n, 6);
          check_product(a, b);
          check_product(viewed(b, MatrixView::turned), viewed(a, MatrixView::turned));
          if (testing::Test::HasFatalFailure()) return;
        }
}

TEST(MatrixProduct, ManyStripsAndManyColumns) {
  const i64 n = 301;
  for (Make make :
       {Make::upper, Make::lower, Make::symmetric, Make::antisymmetric, Make::triangular_bit})
    for (DType t : {DType::f64, DType::c64}) {
      const MatrixSample a = sample(make, has_dtype(make, t) ? t : DType::b1, n, n, 7);
      for (i64 columns : {i64{3}, i64{70}}) {
        const MatrixSample b = sample(Make::dense, t, n, columns, 8);
        check_product(a, b);
        check_product(viewed(a, MatrixView::turned), b);
        check_product(viewed(b, MatrixView::turned), a);
      }
      check_product(a, a);
      if (testing::Test::HasFatalFailure()) return;
    }
}

// Bits of 512 columns to a strip: more than one of them.
TEST(MatrixProduct, TriangularBitsOfManyStrips) {
  const MatrixSample a = sample(Make::triangular_bit, DType::b1, 1100, 1100, 9);
  const MatrixSample x = sample(Make::dense, DType::i32, 1100, 2, 10);
  check_product(a, x);
  check_product(viewed(x, MatrixView::turned), a);
  const AnyMatrix c = matmul(a.m, a.m);
  EXPECT_EQ(c.form(), Form::triangular);
  EXPECT_EQ(c.dtype(), DType::i32);
  expect_elements(c.array(), product_of_grids(a.g, a.g), 0, "triangular bits");
  expect_elements(matmul(a.m.transpose(), a.m.transpose()).array(),
                  product_of_grids(turned(a.g), turned(a.g)), 0, "lower triangular bits");
}

void check_array(const MatrixSample& a, DType t) {
  const DType dtype = resolve(MatrixOp::matvec, a.m.dtype(), t).dtype;
  const double eps = roundoff(a.m.dtype(), t, dtype);
  for (i64 columns : {i64{1}, i64{3}}) {
    const MatrixSample right = sample(Make::dense, t, a.g.cols, columns, 21),
                       left = sample(Make::dense, t, columns, a.g.rows, 22);
    const Array x = right.m.array(), y = left.m.array();
    const Expected e = product_of_grids(a.g, right.g), f = product_of_grids(left.g, a.g);
    if (!fits(e.product, dtype) || !fits(f.product, dtype)) continue;
    expect_elements(matmul(a.m, x), e, eps, a.text + " @ array");
    expect_elements(matmul(y, a.m), f, eps, "array @ " + a.text);
    if (columns > 1) continue;
    const Array u = matmul(a.m, x.select(1, 0)), v = matmul(y.select(0, 0), a.m);
    ASSERT_EQ(u.ndim(), 1);
    ASSERT_EQ(v.ndim(), 1);
    EXPECT_EQ(u.device(), x.device());
    expect_elements(u.expand_dims(1), e, eps, a.text + " @ vector");
    expect_elements(v.expand_dims(0), f, eps, "vector @ " + a.text);
  }
}

TEST(MatrixProduct, WithArrays) {
  for (DType t : {DType::f64, DType::c64, DType::i32, DType::f16, DType::u64})
    for (const MatrixSample& a : samples_of(t, 31, side))
      for (MatrixView view : all_views) {
        // Bits times a number are int64, which has no dtype in common with uint64.
        if (t == DType::u64 && view == MatrixView::scaled && a.m.dtype() == DType::b1) continue;
        check_array(viewed(a, view), t);
        if (testing::Test::HasFatalFailure()) return;
      }
}

TEST(MatrixProduct, ArraysAreNotShared) {
  const Array x = laid_out<double>({2, 2}, {1, 2, 3, 4});
  const Array y = matmul(AnyMatrix::identity(2, 2, DType::f64, test_device()), x);
  EXPECT_FALSE(may_share_memory(x, y));
  EXPECT_EQ(values_of<double>(y), (std::vector<double>{1, 2, 3, 4}));
}

Form form_of_product(Make a, Make b, DType t = DType::f64) {
  const auto one = [&](Make make, unsigned seed) {
    return sample(make, has_dtype(make, t) ? t : DType::b1, 5, 5, seed).m;
  };
  return matmul(one(a, 1), one(b, 2)).form();
}

TEST(MatrixProduct, FormsOfResults) {
  EXPECT_EQ(form_of_product(Make::identity, Make::symmetric), Form::symmetric);
  EXPECT_EQ(form_of_product(Make::upper, Make::identity), Form::triangular);
  EXPECT_EQ(form_of_product(Make::identity, Make::identity), Form::identity);
  EXPECT_EQ(form_of_product(Make::diagonal, Make::diagonal), Form::diagonal);
  EXPECT_EQ(form_of_product(Make::diagonal, Make::upper), Form::triangular);
  EXPECT_EQ(form_of_product(Make::lower, Make::diagonal), Form::triangular);
  EXPECT_EQ(form_of_product(Make::diagonal, Make::symmetric), Form::dense);
  EXPECT_EQ(form_of_product(Make::upper, Make::strict_upper), Form::triangular);
  EXPECT_EQ(form_of_product(Make::upper, Make::lower), Form::dense);
  EXPECT_EQ(form_of_product(Make::upper, Make::upper, DType::i32), Form::triangular);
  EXPECT_EQ(form_of_product(Make::triangular_bit, Make::triangular_bit), Form::triangular);
  EXPECT_EQ(form_of_product(Make::bit, Make::bit), Form::dense);
  EXPECT_TRUE(
      matmul(sample(Make::lower, DType::f64, 5, 5, 1).m, sample(Make::lower, DType::f64, 5, 5, 2).m)
          .lower());
}

// The word before the first dot is the kind of the device.
std::string route() {
  const std::string tag = last_tag(Channel::kernel);
  EXPECT_EQ(tag.substr(0, tag.find('.')), name(test_device().kind));
  return tag.substr(tag.find('.') + 1);
}

std::string route_of(Make a, Make b, DType t) {
  const auto one = [&](Make make, unsigned seed) {
    return sample(make, has_dtype(make, t) ? t : DType::b1, 5, 5, seed).m;
  };
  matmul(one(a, 1), one(b, 2));
  return route();
}

TEST(MatrixProduct, Tags) {
  EXPECT_EQ(route_of(Make::dense, Make::dense, DType::f64), "matmul.f64");
  EXPECT_EQ(route_of(Make::bit, Make::bit, DType::b1), "matmul.bitbit_popcount");
  EXPECT_EQ(route_of(Make::bit, Make::dense, DType::f32), "matmul.bit_x_f32");
  EXPECT_EQ(route_of(Make::bit, Make::dense, DType::i16), "matmul.bit_x_i16");
  EXPECT_EQ(route_of(Make::dense, Make::bit, DType::c64), "matmul.c64_x_bit");
  EXPECT_EQ(route_of(Make::upper, Make::upper, DType::f64), "matmul.tri_f64");
  EXPECT_EQ(route_of(Make::diagonal, Make::dense, DType::f64), "matmul.diag_x_dense_f64");
  EXPECT_EQ(route_of(Make::dense, Make::diagonal, DType::f64), "matmul.dense_x_diag_f64");
  EXPECT_EQ(route_of(Make::symmetric, Make::dense, DType::f32), "matmul.sym_f32");
  const AnyMatrix bits = sample(Make::bit, DType::b1, 5, 5, 1).m;
  matmul(bits, laid_out<std::int32_t>({5}, {1, 2, 3, 4, 5}));
  EXPECT_EQ(route(), "matvec.bit_x_i32");
}

// Cases 71 and 72: what is declared is trusted.
TEST(MatrixProduct, DeclaredPropertiesAreTrusted) {
  AnyMatrix a = AnyMatrix::dense(laid_out<double>({2, 2}, {1, 100, 200, 4}));
  const AnyMatrix b = AnyMatrix::dense(laid_out<double>({2, 2}, {5, 6, 7, 8}));
  a.properties().declare(Property::is_diagonal, true);
  EXPECT_EQ(values_of<double>(matmul(a, b).array()), (std::vector<double>{5, 6, 28, 32}));
  EXPECT_EQ(route(), "matmul.diag_x_dense_f64");
  AnyMatrix c = AnyMatrix::dense(laid_out<double>({2, 2}, {1, 2, 30, 4})),
            d = AnyMatrix::dense(laid_out<double>({2, 2}, {5, 6, 70, 8}));
  c.properties().declare(Property::is_upper_triangular, true);
  d.properties().declare(Property::is_upper_triangular, true);
  EXPECT_EQ(values_of<double>(matmul(c, d).array()), (std::vector<double>{5, 22, 0, 32}));
  EXPECT_EQ(route(), "matmul.tri_f64");
}

TEST(MatrixProduct, Outer) {
  const AnyMatrix bits =
      outer(laid_out<bool>({3}, {true, false, true}), laid_out<bool>({3}, {false, true, true}));
  EXPECT_EQ(bits.form(), Form::bit);
  EXPECT_EQ(values_of<bool>(bits.array()),
            (std::vector<bool>{false, true, true, false, false, false, false, true, true}));
  const AnyMatrix m =
      outer(laid_out<std::int8_t>({2}, {2, -3}), laid_out<std::uint8_t>({1}, {200}));
  EXPECT_EQ(values_of<std::int16_t>(m.array()), (std::vector<std::int16_t>{400, -600}));
  const Array big = laid_out<std::int32_t>({1}, {1 << 20});
  EXPECT_THROW(outer(big, big), OverflowError);
  EXPECT_THROW(outer(m.array(), big), ShapeError);
}

TEST(MatrixProduct, BooleanProductAndClosure) {
  for (Make make : {Make::bit, Make::triangular_bit})
    for (MatrixView view : {MatrixView::plain, MatrixView::turned}) {
      const MatrixSample a = viewed(sample(make, DType::b1, 67, 67, 11), view);
      const Grid p = product_of_grids(a.g, a.g).product;
      std::vector<bool> want;
      for (const Z z : p.v) want.push_back(z != 0.0);
      const AnyMatrix c = boolean_product(a.m, a.m);
      EXPECT_EQ(c.form(), a.m.form());
      EXPECT_EQ(values_of<bool>(c.array()), want) << a.text;
    }
  // 0 -> 1 -> 2 and a loop of 3 and 4.
  Grid g = grid_of(5, 5);
  g.at(0, 1) = g.at(1, 2) = g.at(3, 4) = g.at(4, 3) = 1;
  Grid want = g;
  want.at(0, 2) = want.at(3, 3) = want.at(4, 4) = 1;
  const AnyMatrix edges = AnyMatrix::dense(array_of(g, DType::f32));
  EXPECT_EQ(numbers_of(transitive_closure(edges).array()), want.v);
  EXPECT_EQ(numbers_of(transitive_closure(edges.transpose()).array()), turned(want).v);
  const MatrixSample t = sample(Make::triangular_bit, DType::b1, 67, 67, 12);
  const AnyMatrix closed = transitive_closure(t.m.transpose());
  EXPECT_EQ(closed.form(), Form::triangular_bit);
  EXPECT_EQ(numbers_of(closed.array()), turned([&] {
                                          Grid r = t.g;
                                          for (i64 k = 0; k < 67; ++k)
                                            for (i64 i = 0; i < 67; ++i)
                                              for (i64 j = 0; j < 67; ++j)
                                                if (r.at(i, k) != 0.0 && r.at(k, j) != 0.0)
                                                  r.at(i, j) = 1;
                                          return r;
                                        }())
                                            .v);
}

TEST(MatrixProduct, SentencesNameShapesAndForms) {
  const AnyMatrix a = sample(Make::dense, DType::f64, 2, 3, 1).m,
                  b = sample(Make::bit, DType::b1, 2, 3, 1).m;
  const std::string text = thrown_text<ShapeError>([&] { matmul(a, b); });
  for (const char* part : {"Dense", "Bit", "(2, 3)", "3 columns", "2 rows"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
  EXPECT_THROW(matmul(a, laid_out<double>({2}, {1, 2})), ShapeError);
  EXPECT_THROW(matmul(laid_out<double>({3}, {1, 2, 3}), a), ShapeError);
  EXPECT_THROW(matmul(a, Array::scalar(Value(1.0), DType::f64)), ShapeError);
  EXPECT_THROW(transitive_closure(a), ShapeError);
}

}  // namespace
}  // namespace tessera
