// SPDX-License-Identifier: Apache-2.0
#include "tessera/matrix/functions/reductions.hpp"

#include <atomic>
#include <cmath>
#include <limits>
#include <thread>

#include "support/matrices.hpp"
#include "tessera/base/tags.hpp"

namespace tessera {
namespace {

using Z = std::complex<double>;

void expect_value(const Value& got, Z want, double bound, const std::string& text) {
  EXPECT_TRUE(std::abs(Z(got.as<c128>()) - want) <= bound)
      << text << ": " << got.str() << " for " << want;
}

void check_reductions(const MatrixSample& a) {
  Z sum = 0, trace = 0;
  double squares = 0, size = 0;
  for (i64 i = 0; i < a.g.rows; ++i)
    for (i64 j = 0; j < a.g.cols; ++j) {
      const Z z = a.g.at(i, j);
      sum += z;
      squares += std::norm(z);
      size += std::abs(z);
      if (i == j) trace += z;
    }
  const double eps = epsilon_of(a.m.dtype()) * 16;
  expect_value(tessera::sum(a.m), sum, eps * size, "sum of " + a.text);
  EXPECT_TRUE(std::abs(frobenius_norm(a.m) - std::sqrt(squares)) <= 1e-13 * std::sqrt(squares))
      << a.text;
  if (a.g.rows == a.g.cols)
    expect_value(tessera::trace(a.m), trace, eps * size, "trace of " + a.text);
}

TEST(MatrixReductions, EveryFormDtypeAndView) {
  for (int x = 0; x < dtype_count; ++x)
    for (Make make : all_makes) {
      const DType t = static_cast<DType>(x);
      if (!has_dtype(make, t)) continue;
      for (MatrixView view : all_views) check_reductions(viewed(sample(make, t, 37, 37, 5), view));
    }
  for (Make make : rectangular_makes)
    check_reductions(sample(make, has_dtype(make, DType::f64) ? DType::f64 : DType::b1, 3, 70, 6));
}

TEST(MatrixReductions, Case57And58) {
  const AnyMatrix m = AnyMatrix::dense(laid_out<double>({2, 2}, {3, 4, 0, 0}));
  EXPECT_EQ(frobenius_norm(m), 5);
  EXPECT_EQ(frobenius_norm(m.scaled(Value(2))), 10);
  EXPECT_EQ(sum(AnyMatrix::dense(laid_out<double>({2, 2}, {1, 2, 3, 4}))).as<double>(), 10);
  const AnyMatrix z = sample(Make::dense, DType::c128, 1, 9, 3).m;
  const c128 s = sum(z).as<c128>(), t = sum(z.conj()).as<c128>();
  EXPECT_EQ(t, c128(s.re, -s.im));
}

TEST(MatrixReductions, IntegersAreExact) {
  const i64 odd = (i64{1} << 53) + 1;
  const Value v = sum(AnyMatrix::dense(laid_out<i64>({1, 2}, {odd, 0})));
  EXPECT_TRUE(v.is_integer());
  EXPECT_EQ(v.as<i64>(), odd);
  const i64 most = std::numeric_limits<i64>::max();
  EXPECT_THROW(sum(AnyMatrix::dense(laid_out<i64>({1, 2}, {most, 1}))), OverflowError);
  EXPECT_THROW(sum(AnyMatrix::dense(laid_out<i64>({1, 1}, {most})).scaled(Value(4))),
               OverflowError);
}

TEST(MatrixReductions, ValuesAreKeptAndForgotten) {
  AnyMatrix m = AnyMatrix::dense(laid_out<double>({2, 2}, {1, 2, 3, 4}));
  EXPECT_EQ(trace(m).as<double>(), 5);
  ASSERT_TRUE(m.properties().derived().trace.has_value());
  m.properties().keep(&Derived::trace, Value(7.0));  // what is known is not computed again
  EXPECT_EQ(trace(m).as<double>(), 7);
  m.set(0, 0, Value(10.0));
  EXPECT_EQ(trace(m).as<double>(), 14);
  EXPECT_EQ(sum(m).as<double>(), 19);
  EXPECT_EQ(sum(m.scaled(Value(2))).as<double>(), 38);
  EXPECT_EQ(frobenius_norm(m), std::sqrt(129.0));
  EXPECT_THROW(trace(sample(Make::dense, DType::f64, 2, 3, 1).m), ShapeError);
}

TEST(MatrixReductions, ThreadsMayAskAtOnce) {
  AnyMatrix m = sample(Make::dense, DType::f64, 9, 9, 1).m;
  const AnyMatrix same = m.copy();
  const double total = sum(same).as<double>(), norm = frobenius_norm(same);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 50; ++k) {
        if (sum(m).as<double>() != total || frobenius_norm(m) != norm) ++wrong;
        const auto kept = m.transpose().properties().derived().sum;
        if (kept && kept->as<double>() != total) ++wrong;
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST(MatrixReductions, IdentitiesCountWithoutElements) {
  const AnyMatrix one = AnyMatrix::identity(i64{1} << 30, i64{1} << 30, DType::f32, cpu);
  EXPECT_EQ(trace(one.scaled(Value(3))).as<double>(), 3.0 * (i64{1} << 30));
  EXPECT_FALSE(trace(one).is_integer());
  EXPECT_FALSE(sum(one).is_integer());
  EXPECT_TRUE(sum(AnyMatrix::identity(3, 3, DType::i8, cpu)).is_integer());
}

TEST(MatrixReductions, Case28And59And62Dot) {
  std::vector<bool> flags(100, false);
  flags[0] = flags[63] = true;
  const Array bits = laid_out<bool>({100}, flags);
  EXPECT_EQ(dot(bits, bits).as<i64>(), 2);
  EXPECT_EQ(last_tag(Channel::kernel), cat(name(test_device().kind), ".dot.bitbit_popcount"));
  const AnyMatrix row = AnyMatrix::bit(bits.expand_dims(0));
  EXPECT_EQ(dot(row, row.transpose()).as<i64>(), 2);
  const Array v = laid_out<i64>({3}, {1, 2, 3}), w = laid_out<i64>({3}, {4, 5, 6});
  EXPECT_TRUE(dot(v, w).is_integer());
  EXPECT_EQ(dot(v, w).as<i64>(), 32);
  EXPECT_EQ(dot(v, laid_out<double>({3}, {0.5, 1, 5})).as<double>(), 17.5);
  const Array z = laid_out<c128>({1}, {c128(0, 1)});
  EXPECT_EQ(dot(z, z).as<c128>(), c128(-1, 0));
  EXPECT_THROW(dot(v, z), ShapeError);
  const i64 most = std::numeric_limits<i64>::max();
  EXPECT_THROW(dot(laid_out<i64>({2}, {most, most}), laid_out<i64>({2}, {1, 1})), OverflowError);
}

TEST(MatrixReductions, Case60Cross) {
  const Array x = laid_out<double>({3}, {1, 2, 3}, Lay::reversed),
              y = laid_out<double>({3}, {4, 5, 7}, Lay::gaps);
  EXPECT_EQ(values_of<double>(cross(x, y)), (std::vector<double>{-1, 5, -3}));
  const Array i = laid_out<std::int8_t>({3}, {100, 2, 3}),
              j = laid_out<std::int8_t>({3}, {4, 5, 7});
  EXPECT_THROW(cross(i, j), OverflowError);
  EXPECT_EQ(values_of<std::int32_t>(cross(laid_out<bool>({3}, {true, false, false}),
                                          laid_out<bool>({3}, {false, false, true}))),
            (std::vector<std::int32_t>{0, -1, 0}));
  EXPECT_THROW(cross(x, laid_out<double>({2}, {1, 2})), ShapeError);
}

}  // namespace
}  // namespace tessera
