// SPDX-License-Identifier: Apache-2.0
// Integers at the edges of their dtypes: exact, or OverflowError.
#include "tessera/matrix/forms/checked.hpp"

#include <limits>
#include <random>

#include "support/matrices.hpp"
#include "tessera/base/warn.hpp"
#include "tessera/matrix/functions/elementwise.hpp"
#include "tessera/matrix/functions/reductions.hpp"
#include "tessera/matrix/products/multiply.hpp"

namespace tessera {
namespace {

__extension__ using Wide = __int128;
using U64 = std::uint64_t;

template <class T>
AnyMatrix dense(const Shape& shape, const std::vector<T>& v) {
  return AnyMatrix::dense(laid_out<T>(shape, v));
}

std::vector<std::string> said;

TEST(CheckedIntegers, Case16To19Products) {
  const std::int32_t most = std::numeric_limits<std::int32_t>::max();
  EXPECT_THROW(matmul(dense<std::int32_t>({2, 2}, {most, 0, 0, 0}),
                      dense<std::int32_t>({2, 2}, {2, 0, 0, 0})),
               OverflowError);
  std::vector<std::int32_t> v(256 * 256, 0);
  v[0] = 46340;
  forget_warnings();
  said.clear();
  set_warning_hook([](WarningKind, const std::string& text) { said.push_back(text); });
  const AnyMatrix a = dense<std::int32_t>({256, 256}, v);
  EXPECT_EQ(values_of<std::int32_t>(matmul(a, a).array())[0], 2147395600);
  matmul(a, a);
  set_warning_hook(nullptr);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("may overflow int32 output"), std::string::npos) << said[0];
  EXPECT_THROW(matmul(dense<std::int8_t>({2, 2}, {100, 0, 0, 0}),
                      dense<std::int8_t>({2, 2}, {100, 0, 0, 0})),
               OverflowError);
}

TEST(CheckedIntegers, Case20To23) {
  EXPECT_THROW(add(dense<std::int8_t>({1, 1}, {120}), dense<std::int8_t>({1, 1}, {100})),
               OverflowError);
  EXPECT_THROW(matmul(dense<i64>({1, 1}, {i64{1} << 62}), dense<i64>({1, 1}, {4})), OverflowError);
  const U64 large = (U64{1} << 63) + 5;
  EXPECT_EQ(values_of<U64>(matmul(dense<U64>({1, 1}, {large}), dense<U64>({1, 1}, {1})).array()),
            (std::vector<U64>{large}));
  const i64 odd = (i64{1} << 53) + 1;
  EXPECT_EQ(values_of<i64>(add(dense<i64>({1, 1}, {odd}), dense<i64>({1, 1}, {0})).array()),
            (std::vector<i64>{odd}));
}

// Terms beyond 127 bits that cancel, and sums one off the edge.
TEST(CheckedIntegers, SumsWiderThanTheirTerms) {
  const i64 most = std::numeric_limits<i64>::max(), least = std::numeric_limits<i64>::min();
  const Array a = laid_out<i64>({1, 4}, {least, least, least, 1}),
              b = laid_out<i64>({4, 1}, {least, least, most, 7});
  EXPECT_THROW(checked_matmul(a, b, DType::i64), OverflowError);
  const Array c = laid_out<i64>({1, 5}, {least, most, 1, -1, 1}),
              d = laid_out<i64>({5, 1}, {1, 1, most, -1, 0});
  EXPECT_THROW(checked_matmul(c, laid_out<i64>({5, 1}, {-1, 0, 0, 0, 0}), DType::i64),
               OverflowError);
  EXPECT_EQ(values_of<i64>(checked_matmul(c, d, DType::i64)), (std::vector<i64>{most}));
  const Array e = laid_out<i64>({1, 6}, {least, least, least, least, 3, 5}),
              f = laid_out<i64>({6, 1}, {least, least, most, most, -2, 1});
  // 2 * 2^126 - 2 * 2^63 (2^63 - 1) = 2^64: too large; with -2^64 again it is not.
  EXPECT_THROW(checked_matmul(e, f, DType::i64), OverflowError);
  const Array g = laid_out<i64>({1, 8}, {least, least, least, least, 3, 5, least, least}),
              h = laid_out<i64>({8, 1}, {least, least, most, most, -2, 1, 1, 1});
  EXPECT_EQ(values_of<i64>(checked_matmul(g, h, DType::i64)), (std::vector<i64>{-1}));
  const U64 top = ~U64{0};
  EXPECT_EQ(values_of<U64>(checked_matmul(laid_out<U64>({1, 2}, {top, 0}),
                                          laid_out<U64>({2, 1}, {1, top}), DType::u64)),
            (std::vector<U64>{top}));
  EXPECT_THROW(checked_matmul(laid_out<U64>({1, 2}, {top, top}), laid_out<U64>({2, 1}, {top, top}),
                              DType::u64),
               OverflowError);
}

template <class T>
std::vector<T> edge_values(i64 n, unsigned seed) {
  std::mt19937_64 engine(seed);
  std::vector<T> v;
  for (i64 i = 0; i < n; ++i) {
    const int bits = std::uniform_int_distribution<int>(0, 8 * sizeof(T) - 1)(engine);
    v.push_back(static_cast<T>(static_cast<T>(engine()) >> bits));
  }
  return v;
}

template <class T>
bool holds(Wide v) {
  return v >= Wide{std::numeric_limits<T>::min()} && v <= Wide{std::numeric_limits<T>::max()};
}

template <class T>
void check_elementwise(MatrixOp op, T x, T y) {
  const Wide exact = op == MatrixOp::add        ? Wide{x} + Wide{y}
                     : op == MatrixOp::subtract ? Wide{x} - Wide{y}
                                                : Wide{x} * Wide{y};
  const Array a = laid_out<T>({1}, {x}), b = laid_out<T>({1}, {y});
  if (holds<T>(exact)) {
    EXPECT_EQ(values_of<T>(checked_elementwise(op, a, b, dtype_of<T>))[0], static_cast<T>(exact));
  } else {
    EXPECT_THROW(checked_elementwise(op, a, b, dtype_of<T>), OverflowError)
        << name(op) << " " << +x << " " << +y << " " << name(dtype_of<T>);
  }
}

template <class T>
void check_random(unsigned seed) {
  const std::vector<T> x = edge_values<T>(150, seed), y = edge_values<T>(150, seed + 1);
  for (std::size_t i = 0; i < x.size(); ++i)
    for (MatrixOp op : {MatrixOp::add, MatrixOp::subtract, MatrixOp::multiply})
      check_elementwise<T>(op, x[i], y[i]);
  for (std::size_t i = 0; i + 3 < x.size(); i += 3) {  // rows of three: some fit, some do not
    bool fits = true;
    Wide sum = 0;
    for (std::size_t k = 0; k < 3; ++k)
      fits = fits && !__builtin_add_overflow(sum, Wide{x[i + k]} * Wide{y[i + k]}, &sum);
    if (!fits) continue;
    const Array a = laid_out<T>({1, 3}, {x[i], x[i + 1], x[i + 2]}),
                b = laid_out<T>({3, 1}, {y[i], y[i + 1], y[i + 2]});
    if (holds<T>(sum)) {
      EXPECT_EQ(values_of<T>(checked_matmul(a, b, dtype_of<T>))[0], static_cast<T>(sum));
    } else {
      EXPECT_THROW(checked_matmul(a, b, dtype_of<T>), OverflowError) << name(dtype_of<T>);
    }
  }
}

TEST(CheckedIntegers, RandomNumbersOfEveryLength) {
  check_random<std::int8_t>(1);
  check_random<std::int16_t>(2);
  check_random<std::int32_t>(3);
  check_random<i64>(4);
  check_random<std::uint8_t>(5);
  check_random<std::uint16_t>(6);
  check_random<std::uint32_t>(7);
  check_random<U64>(8);
}

// Through the float kernels: every sum is exact.
TEST(CheckedIntegers, LargeProductsAreExact) {
  const i64 m = 40, k = 70, n = 33;
  for (i64 limit : {i64{100}, i64{400}, i64{3000000}, i64{300000000}}) {
    std::mt19937 engine(9);
    std::uniform_int_distribution<i64> number(-limit, limit);
    std::vector<i64> x, y, want;
    for (i64 i = 0; i < m * k; ++i) x.push_back(number(engine));
    for (i64 i = 0; i < k * n; ++i) y.push_back(number(engine));
    for (i64 i = 0; i < m; ++i)
      for (i64 j = 0; j < n; ++j) {
        i64 sum = 0;
        for (i64 p = 0; p < k; ++p)
          sum += x[static_cast<std::size_t>(i * k + p)] * y[static_cast<std::size_t>(p * n + j)];
        want.push_back(sum);
      }
    for (Lay lay : all_lays)
      EXPECT_EQ(values_of<i64>(checked_matmul(laid_out<i64>({m, k}, x, lay),
                                              laid_out<i64>({k, n}, y, lay), DType::i64)),
                want)
          << limit;
  }
}

TEST(CheckedIntegers, Powers) {
  using S = std::int8_t;
  const auto power = []<class T>(T x, T n) {
    return checked_elementwise(MatrixOp::power, laid_out<T>({1}, {x}), laid_out<T>({1}, {n}),
                               dtype_of<T>)
        .item();
  };
  EXPECT_EQ(power(S{-2}, S{7}).as<i64>(), -128);
  EXPECT_THROW(power(S{2}, S{7}), OverflowError);
  EXPECT_EQ(power(i64{-2}, i64{63}).as<i64>(), std::numeric_limits<i64>::min());
  EXPECT_THROW(power(i64{2}, i64{63}), OverflowError);
  EXPECT_EQ(power(U64{2}, U64{63}).as<U64>(), U64{1} << 63);
  EXPECT_THROW(power(U64{2}, ~U64{0}), OverflowError);
  EXPECT_EQ(power(i64{-1}, std::numeric_limits<i64>::max()).as<i64>(), -1);
  EXPECT_EQ(power(i64{0}, i64{0}).as<i64>(), 1);
  EXPECT_THROW(power(i64{1}, i64{-1}), ArgumentError);
}

TEST(CheckedIntegers, SumsOfAllElements) {
  const i64 most = std::numeric_limits<i64>::max();
  EXPECT_EQ(checked_sum(laid_out<i64>({3}, {most, most, -most})).as<i64>(), most);
  EXPECT_THROW(checked_sum(laid_out<i64>({2}, {most, 1})), OverflowError);
  EXPECT_EQ(checked_sum(laid_out<U64>({2}, {~U64{0} - 1, 1})).as<U64>(), ~U64{0});
  EXPECT_THROW(checked_sum(laid_out<U64>({2}, {~U64{0}, 1})), OverflowError);
  EXPECT_EQ(checked_sum(laid_out<std::int8_t>({2}, {-128, -128})).as<i64>(), -256);
  EXPECT_EQ(checked_sum(laid_out<bool>({3}, {true, false, true})).as<i64>(), 2);
  EXPECT_EQ(checked_sum(laid_out<i64>({0}, {})).as<i64>(), 0);
}

TEST(CheckedIntegers, Magnitudes) {
  EXPECT_EQ(magnitude(laid_out<std::int8_t>({2}, {-128, 127})), 128u);
  EXPECT_EQ(magnitude(laid_out<i64>({1}, {std::numeric_limits<i64>::min()})), U64{1} << 63);
  EXPECT_EQ(magnitude(laid_out<U64>({1}, {~U64{0}})), ~U64{0});
  EXPECT_EQ(magnitude(laid_out<std::int16_t>({1}, {-5})), 5u);
  EXPECT_EQ(magnitude(laid_out<std::int16_t>({0}, {})), 0u);
}

}  // namespace
}  // namespace tessera
