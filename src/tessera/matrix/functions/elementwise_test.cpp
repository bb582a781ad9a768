// SPDX-License-Identifier: Apache-2.0
// Sums, differences, products and quotients of every form with every form, against plain loops.
#include "tessera/matrix/functions/elementwise.hpp"

#include <cmath>

#include "support/matrices.hpp"
#include "tessera/base/tags.hpp"
#include "tessera/compute/promotion.hpp"

namespace tessera {
namespace {

using Z = std::complex<double>;
constexpr MatrixOp all_ops[] = {MatrixOp::add, MatrixOp::subtract, MatrixOp::multiply,
                                MatrixOp::divide};

Z apply(MatrixOp op, Z x, Z y) {
  return op == MatrixOp::add        ? x + y
         : op == MatrixOp::subtract ? x - y
         : op == MatrixOp::multiply ? x * y
                                    : x / y;
}

AnyMatrix apply(MatrixOp op, const AnyMatrix& a, const AnyMatrix& b) {
  return op == MatrixOp::add        ? add(a, b)
         : op == MatrixOp::subtract ? subtract(a, b)
         : op == MatrixOp::multiply ? multiply(a, b)
                                    : divide(a, b);
}

Grid combined(MatrixOp op, const Grid& a, const Grid& b) {
  Grid g = grid_of(std::max(a.rows, b.rows), std::max(a.cols, b.cols));
  const auto at = [](const Grid& x, i64 i, i64 j) {
    return x.at(x.rows == 1 ? 0 : i, x.cols == 1 ? 0 : j);
  };
  for (i64 i = 0; i < g.rows; ++i)
    for (i64 j = 0; j < g.cols; ++j) g.at(i, j) = apply(op, at(a, i, j), at(b, i, j));
  return g;
}

void expect_near(const Array& got, const Grid& want, double eps, const std::string& text) {
  ASSERT_EQ(got.shape(), (Shape{want.rows, want.cols})) << text;
  const std::vector<Z> v = numbers_of(got);
  for (std::size_t i = 0; i < v.size(); ++i) {
    const Z w = want.v[i];
    if (!std::isfinite(std::abs(w))) {  // divided by zero
      ASSERT_FALSE(std::isfinite(std::abs(v[i]))) << text << ": element " << i;
      continue;
    }
    ASSERT_TRUE(std::abs(v[i] - w) <= 8 * eps * (std::abs(w) + 1))
        << text << ": element " << i << " is " << v[i] << " for " << w;
  }
}

void check(MatrixOp op, const MatrixSample& a, const MatrixSample& b) {
  const std::string text = cat(a.text, " ", name(op), " ", b.text);
  const Grid want = combined(op, a.g, b.g);
  const DType dtype = resolve(op, a.m.dtype(), b.m.dtype()).dtype;
  if (!fits(want, dtype)) {
    EXPECT_THROW(apply(op, a.m, b.m), OverflowError) << text;
    return;
  }
  const AnyMatrix c = apply(op, a.m, b.m);
  EXPECT_EQ(c.dtype(), dtype) << text;
  EXPECT_EQ(c.device(), test_device()) << text;
  const double eps = std::max({epsilon_of(dtype), is_inexact(dtype) ? epsilon_of(a.m.dtype()) : 0.0,
                               is_inexact(dtype) ? epsilon_of(b.m.dtype()) : 0.0});
  expect_near(c.array(), want, eps, text);
}

void check_pairs(DType ta, DType tb) {
  constexpr i64 n = 37;
  const auto samples = [&](DType t, unsigned seed) {
    std::vector<MatrixSample> all;
    for (Make make : all_makes) {
      const DType own = has_dtype(make, t) ? t : DType::b1;
      if (has_dtype(make, own)) all.push_back(sample(make, own, n, n, seed++));
    }
    return all;
  };
  for (const MatrixSample& a : samples(ta, 1))
    for (const MatrixSample& b : samples(tb, 50))
      for (const MatrixViews& views : pairs_of_views)
        for (MatrixOp op : all_ops) {
          check(op, viewed(a, views.left), viewed(b, views.right));
          if (testing::Test::HasFatalFailure()) return;
        }
}

TEST(MatrixElementwise, EveryFormInFloat64) { check_pairs(DType::f64, DType::f64); }
TEST(MatrixElementwise, EveryFormInComplex64) { check_pairs(DType::c64, DType::c64); }
TEST(MatrixElementwise, EveryFormInInt16) { check_pairs(DType::i16, DType::i16); }
TEST(MatrixElementwise, EveryFormInUint8) { check_pairs(DType::u8, DType::u8); }

TEST(MatrixElementwise, EveryPairOfDtypes) {
  for (int x = 0; x < dtype_count; ++x)
    for (int y = 0; y < dtype_count; ++y) {
      const DType ta = static_cast<DType>(x), tb = static_cast<DType>(y);
      const MatrixSample a = sample(Make::upper, ta, 9, 9, 3),
                         b = sample(Make::symmetric, tb, 9, 9, 4),
                         c = sample(Make::dense, tb, 9, 9, 5);
      for (MatrixOp op : all_ops) {
        bool resolves = true;
        try {
          resolve(op, ta, tb);
        } catch (const ArgumentError&) {
          resolves = false;
        }
        if (!resolves) {
          EXPECT_THROW(apply(op, a.m, b.m), ArgumentError) << a.text << b.text;
          continue;
        }
        check(op, a, b);
        check(op, c, a);
      }
    }
}

// Case 65: axes of size 1 are repeated, other sizes are refused with both shapes.
TEST(MatrixElementwise, Broadcasting) {
  const MatrixSample a = sample(Make::dense, DType::f64, 2, 3, 1),
                     row = sample(Make::dense, DType::f64, 1, 3, 2),
                     column = sample(Make::dense, DType::f64, 2, 1, 3),
                     one = sample(Make::identity, DType::f64, 1, 1, 4);
  for (MatrixOp op : all_ops) {
    check(op, a, row);
    check(op, column, a);
    check(op, row, column);
    check(op, a, one);
  }
  EXPECT_EQ(add(one.m, a.m).form(), Form::dense);
  const AnyMatrix tall = sample(Make::bit, DType::b1, 4, 3, 1).m;
  const std::string text = thrown_text<ShapeError>([&] { add(a.m, tall); });
  for (const char* part : {"Dense", "Bit", "(2, 3)", "(4, 3)", "add"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

Form form_of(MatrixOp op, Make a, Make b, DType t = DType::f64) {
  const auto one = [&](Make make, unsigned seed) {
    return sample(make, has_dtype(make, t) ? t : DType::b1, 5, 5, seed).m;
  };
  return apply(op, one(a, 1), one(b, 2)).form();
}

TEST(MatrixElementwise, FormsOfResults) {
  const MatrixOp plus = MatrixOp::add, times = MatrixOp::multiply;
  EXPECT_EQ(form_of(plus, Make::symmetric, Make::symmetric), Form::symmetric);
  EXPECT_EQ(form_of(plus, Make::antisymmetric, Make::antisymmetric), Form::antisymmetric);
  EXPECT_EQ(form_of(plus, Make::upper, Make::strict_upper), Form::triangular);
  EXPECT_EQ(form_of(plus, Make::upper, Make::lower), Form::dense);
  EXPECT_EQ(form_of(plus, Make::diagonal, Make::identity), Form::diagonal);
  EXPECT_EQ(form_of(plus, Make::identity, Make::lower), Form::triangular);
  EXPECT_EQ(form_of(plus, Make::symmetric, Make::diagonal), Form::symmetric);
  EXPECT_EQ(form_of(plus, Make::bit, Make::bit), Form::dense);
  EXPECT_EQ(form_of(plus, Make::antisymmetric, Make::identity), Form::dense);
  EXPECT_EQ(form_of(times, Make::bit, Make::bit), Form::bit);
  EXPECT_EQ(form_of(times, Make::triangular_bit, Make::bit), Form::triangular_bit);
  EXPECT_EQ(form_of(times, Make::dense, Make::upper), Form::triangular);
  EXPECT_EQ(form_of(times, Make::upper, Make::diagonal), Form::diagonal);
  EXPECT_EQ(form_of(times, Make::symmetric, Make::symmetric), Form::symmetric);
  EXPECT_EQ(form_of(times, Make::antisymmetric, Make::antisymmetric), Form::symmetric);
  EXPECT_EQ(form_of(times, Make::symmetric, Make::antisymmetric), Form::antisymmetric);
  EXPECT_EQ(form_of(MatrixOp::divide, Make::symmetric, Make::symmetric), Form::dense);
  EXPECT_TRUE(add(sample(Make::lower, DType::f32, 5, 5, 1).m,
                  AnyMatrix::identity(5, 5, DType::f32, test_device()))
                  .lower());
}

TEST(MatrixElementwise, Numbers) {
  for (Make make : all_makes)
    for (DType t : {DType::f64, DType::c64, DType::i32}) {
      if (!has_dtype(make, t)) continue;
      for (MatrixView view : all_views) {
        const MatrixSample a = viewed(sample(make, t, 37, 37, 8), view);
        Grid two = grid_of(1, 1);
        two.at(0, 0) = 2;
        const Value v(i64{2});
        const double eps = std::max(epsilon_of(t), epsilon_of(DType::f64));
        expect_near(add(a.m, v).array(), combined(MatrixOp::add, a.g, two), eps, a.text);
        expect_near(subtract(a.m, v).array(), combined(MatrixOp::subtract, a.g, two), eps, a.text);
        expect_near(subtract(v, a.m).array(), combined(MatrixOp::subtract, two, a.g), eps, a.text);
        expect_near(divide(a.m, v).array(), combined(MatrixOp::divide, a.g, two), eps, a.text);
        expect_near(divide(v, a.m).array(), combined(MatrixOp::divide, two, a.g), eps, a.text);
        if (make != Make::dense && make != Make::identity) {
          EXPECT_EQ(divide(a.m, v).form(), a.m.form()) << a.text;
        }
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  const AnyMatrix bits = sample(Make::bit, DType::b1, 3, 3, 1).m;
  EXPECT_EQ(add(bits, Value(1)).dtype(), DType::i32);
  EXPECT_EQ(add(bits, Value(1.5)).dtype(), DType::f64);
  const AnyMatrix small = AnyMatrix::dense(laid_out<std::int8_t>({1, 1}, {100}));
  EXPECT_THROW(add(small, Value(100)), OverflowError);
  EXPECT_THROW(add(small, Value(1000)), OverflowError);
  EXPECT_EQ(divide(small, Value(8)).dtype(), DType::f64);
  EXPECT_EQ(divide(small, small).dtype(), DType::f32);
  const UsingPromotion longer(Promotion::highest);
  EXPECT_EQ(divide(small, small).dtype(), DType::f64);
}

TEST(MatrixElementwise, DivisionByZeroIsAsNumPy) {
  const MatrixSample a = sample(Make::upper, DType::f64, 5, 5, 1);
  const AnyMatrix q = divide(a.m, Value(0.0));
  EXPECT_EQ(q.form(), Form::dense);
  EXPECT_TRUE(std::isnan(q.at(4, 0).as<double>()));
}

TEST(MatrixElementwise, PowersAreDenseAndOfBitsBits) {
  const MatrixSample a = sample(Make::upper, DType::f64, 5, 5, 1);
  const AnyMatrix p = power(a.m, AnyMatrix::identity(5, 5, DType::f64, test_device()));
  EXPECT_EQ(p.form(), Form::dense);
  EXPECT_EQ(last_tag(Channel::kernel), cat(name(test_device().kind), ".power.f64"));
  for (i64 i = 0; i < 5; ++i)
    for (i64 j = 0; j < 5; ++j) EXPECT_EQ(p.at(i, j).as<Z>(), i == j ? a.g.at(i, j) : Z(1));
  const AnyMatrix twos = power(Value(2.0), AnyMatrix::identity(5, 5, DType::f64, test_device()));
  EXPECT_EQ(twos.at(3, 3).as<double>(), 2);
  EXPECT_EQ(twos.at(3, 4).as<double>(), 1);
  const AnyMatrix bits = sample(Make::bit, DType::b1, 3, 3, 1).m;
  EXPECT_EQ(power(bits, bits).form(), Form::bit);
  for (i64 i = 0; i < 9; ++i) EXPECT_TRUE(power(bits, bits).at(i / 3, i % 3).as<bool>());
}

TEST(MatrixElementwise, Tags) {
  const AnyMatrix a = sample(Make::dense, DType::f64, 3, 3, 1).m;
  add(a, a);
  EXPECT_EQ(last_tag(Channel::kernel), cat(name(test_device().kind), ".add.f64"));
  const AnyMatrix b = sample(Make::bit, DType::b1, 3, 3, 1).m;
  multiply(b, b);
  EXPECT_EQ(last_tag(Channel::kernel), cat(name(test_device().kind), ".multiply.bit"));
}

}  // namespace
}  // namespace tessera
