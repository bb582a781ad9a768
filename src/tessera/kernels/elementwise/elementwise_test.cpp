// SPDX-License-Identifier: Apache-2.0
// Every op in every dtype against the standard library.
#include "tessera/kernels/elementwise/elementwise.hpp"

#include <cmath>
#include <random>

#include "support/arrays.hpp"
#include "tessera/kernels/elementwise/elementwise_functors.hpp"

namespace tessera {
namespace {

using Z = std::complex<double>;
using ZL = std::complex<long double>;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

bool before(Z a, Z b) {
  return a.real() < b.real() || (a.real() == b.real() && a.imag() < b.imag());
}

// What the op gives for numbers that the compute dtype holds exactly: everything but integers that
// wrap.
Z common_reference(ElementOp op, Z a, Z b, Z c) {
  switch (op) {
    case ElementOp::copy:
    case ElementOp::positive: return a;
    case ElementOp::negative: return -a;
    case ElementOp::square: return a * a;
    case ElementOp::conj: return std::conj(a);
    case ElementOp::add: return a + b;
    case ElementOp::subtract: return a - b;
    case ElementOp::multiply: return a * b;
    case ElementOp::conj_multiply: return std::conj(a) * b;
    case ElementOp::multiply_add: return a * b + c;
    case ElementOp::where: return a != 0.0 ? b : c;
    case ElementOp::maximum:
    case ElementOp::fmax: return before(a, b) ? b : a;
    case ElementOp::minimum:
    case ElementOp::fmin: return before(b, a) ? b : a;
    case ElementOp::equal: return a == b;
    case ElementOp::not_equal: return a != b;
    case ElementOp::less: return before(a, b);
    case ElementOp::less_equal: return !before(b, a);
    case ElementOp::greater: return before(b, a);
    case ElementOp::greater_equal: return !before(a, b);
    case ElementOp::logical_and: return a != 0.0 && b != 0.0;
    case ElementOp::logical_or: return a != 0.0 || b != 0.0;
    case ElementOp::logical_xor: return (a != 0.0) != (b != 0.0);
    case ElementOp::logical_not: return a == 0.0;
    case ElementOp::isnan: return std::isnan(a.real()) || std::isnan(a.imag());
    case ElementOp::isinf: return std::isinf(a.real()) || std::isinf(a.imag());
    case ElementOp::isfinite: return std::isfinite(a.real()) && std::isfinite(a.imag());
    case ElementOp::absolute: return std::abs(a);
    case ElementOp::abs2: return std::norm(a);
    case ElementOp::real: return a.real();
    case ElementOp::imag: return a.imag();
    case ElementOp::angle: return std::arg(a);
    default: return nan;
  }
}

Z complex_reference(ElementOp op, Z a, Z b, Z c) {
  const ZL x(a);
  switch (op) {
    case ElementOp::sign: return a == 0.0 ? a : a / std::abs(a);
    case ElementOp::reciprocal: return 1.0 / a;
    case ElementOp::power: return Z(std::exp(ZL(b) * std::log(x)));
    case ElementOp::divide: return Z(x / ZL(b));
    case ElementOp::sqrt: return Z(std::sqrt(x));
    case ElementOp::exp: return Z(std::exp(x));
    case ElementOp::exp2: return Z(std::exp(x * std::log(2.0L)));
    case ElementOp::expm1: return Z(std::exp(x) - 1.0L);
    case ElementOp::log: return Z(std::log(x));
    case ElementOp::log2: return Z(std::log(x) / std::log(2.0L));
    case ElementOp::log10: return Z(std::log10(x));
    case ElementOp::log1p: return Z(std::log(1.0L + x));
    case ElementOp::sin: return Z(std::sin(x));
    case ElementOp::cos: return Z(std::cos(x));
    case ElementOp::tan: return Z(std::tan(x));
    case ElementOp::arcsin: return Z(std::asin(x));
    case ElementOp::arccos: return Z(std::acos(x));
    case ElementOp::arctan: return Z(std::atan(x));
    case ElementOp::sinh: return Z(std::sinh(x));
    case ElementOp::cosh: return Z(std::cosh(x));
    case ElementOp::tanh: return Z(std::tanh(x));
    case ElementOp::arcsinh: return Z(std::asinh(x));
    case ElementOp::arccosh: return Z(std::acosh(x));
    case ElementOp::arctanh: return Z(std::atanh(x));
    case ElementOp::rint: return {std::rint(a.real()), std::rint(a.imag())};
    default: return common_reference(op, a, b, c);
  }
}

double real_reference(ElementOp op, double a, double b, double c) {
  const long double x = a, y = b;
  switch (op) {
    case ElementOp::sign: return (a > 0) - (a < 0);
    case ElementOp::reciprocal: return 1 / a;
    case ElementOp::floor_divide: return static_cast<double>(std::floor(x / y));
    case ElementOp::remainder: return static_cast<double>(x - y * std::floor(x / y));
    case ElementOp::power: return static_cast<double>(std::pow(x, y));
    case ElementOp::divide: return a / b;
    case ElementOp::sqrt: return static_cast<double>(std::sqrt(x));
    case ElementOp::exp: return static_cast<double>(std::exp(x));
    case ElementOp::exp2: return static_cast<double>(std::exp2(x));
    case ElementOp::expm1: return static_cast<double>(std::expm1(x));
    case ElementOp::log: return static_cast<double>(std::log(x));
    case ElementOp::log2: return static_cast<double>(std::log2(x));
    case ElementOp::log10: return static_cast<double>(std::log10(x));
    case ElementOp::log1p: return static_cast<double>(std::log1p(x));
    case ElementOp::sin: return static_cast<double>(std::sin(x));
    case ElementOp::cos: return static_cast<double>(std::cos(x));
    case ElementOp::tan: return static_cast<double>(std::tan(x));
    case ElementOp::arcsin: return static_cast<double>(std::asin(x));
    case ElementOp::arccos: return static_cast<double>(std::acos(x));
    case ElementOp::arctan: return static_cast<double>(std::atan(x));
    case ElementOp::sinh: return static_cast<double>(std::sinh(x));
    case ElementOp::cosh: return static_cast<double>(std::cosh(x));
    case ElementOp::tanh: return static_cast<double>(std::tanh(x));
    case ElementOp::arcsinh: return static_cast<double>(std::asinh(x));
    case ElementOp::arccosh: return static_cast<double>(std::acosh(x));
    case ElementOp::arctanh: return static_cast<double>(std::atanh(x));
    case ElementOp::cbrt: return static_cast<double>(std::cbrt(x));
    case ElementOp::arctan2: return static_cast<double>(std::atan2(x, y));
    case ElementOp::hypot: return static_cast<double>(std::hypot(x, y));
    case ElementOp::copysign: return std::copysign(a, b);
    case ElementOp::floor: return std::floor(a);
    case ElementOp::ceil: return std::ceil(a);
    case ElementOp::trunc: return std::trunc(a);
    case ElementOp::rint: return std::rint(a);
    case ElementOp::signbit: return std::signbit(a);
    default: return common_reference(op, a, b, c).real();
  }
}

// Integers: computed without bounds, then wrapped into T.
template <class T>
T integer_reference(ElementOp op, T a, T b, T c) {
  __extension__ using Wide = __int128;
  // Products may leave 128 bits signed: their low bits are all that is kept.
  __extension__ const auto wrapped = [](Wide v) { return static_cast<unsigned __int128>(v); };
  const Wide x = a, y = b, bits = 8 * sizeof(T);
  const Wide quotient = y == 0 ? 0 : x / y - ((x % y != 0) && ((x < 0) != (y < 0)) ? 1 : 0);
  switch (op) {
    case ElementOp::floor_divide: return static_cast<T>(quotient);
    case ElementOp::remainder: return static_cast<T>(y == 0 ? 0 : x - quotient * y);
    case ElementOp::reciprocal: return static_cast<T>(x == 0 ? 0 : 1 / x);
    case ElementOp::sign: return static_cast<T>((x > 0) - (x < 0));
    case ElementOp::power: {
      T r = 1;
      for (T i = 0; i < b; ++i) r = static_cast<T>(wrapped(r) * wrapped(x));
      return r;
    }
    case ElementOp::bitwise_and: return static_cast<T>(a & b);
    case ElementOp::bitwise_or: return static_cast<T>(a | b);
    case ElementOp::bitwise_xor: return static_cast<T>(a ^ b);
    case ElementOp::invert: return static_cast<T>(~a);
    case ElementOp::left_shift:
      return y < 0 || y >= bits ? T(0) : static_cast<T>(wrapped(x) << static_cast<int>(y));
    case ElementOp::right_shift:
      return static_cast<T>(y < 0 || y >= bits ? (x < 0 ? -1 : 0) : x >> y);
    case ElementOp::add: return static_cast<T>(x + y);
    case ElementOp::subtract: return static_cast<T>(x - y);
    case ElementOp::multiply:
    case ElementOp::conj_multiply: return static_cast<T>(wrapped(x) * wrapped(y));
    case ElementOp::multiply_add: return static_cast<T>(wrapped(x) * wrapped(y) + wrapped(c));
    case ElementOp::square:
    case ElementOp::abs2: return static_cast<T>(wrapped(x) * wrapped(x));
    case ElementOp::negative: return static_cast<T>(-x);
    case ElementOp::absolute: return static_cast<T>(x < 0 ? -x : x);
    case ElementOp::floor:
    case ElementOp::ceil:
    case ElementOp::trunc: return a;
    default:
      return static_cast<T>(common_reference(op, static_cast<double>(a), static_cast<double>(b),
                                             static_cast<double>(c))
                                .real());
  }
}

// Truth values: some ops work in int8, the others saturate at true.
double bool_reference(ElementOp op, DType result, bool a, bool b, bool c) {
  if (result == DType::i8) return integer_reference<std::int8_t>(op, a, b, c);
  switch (op) {
    case ElementOp::bitwise_and: return a && b;
    case ElementOp::bitwise_or: return a || b;
    case ElementOp::bitwise_xor: return a != b;
    case ElementOp::invert: return !a;
    case ElementOp::add: return a || b;
    case ElementOp::multiply_add: return (a && b) || c;
    default: return real_reference(op, a, b, c);
  }
}

const std::vector<ElementOp>& all_ops() {
  static const std::vector<ElementOp> ops{
#define ELEMENT(name, arity, family) ElementOp::name,
      TESSERA_ELEMENT_OPS(ELEMENT)
#undef ELEMENT
  };
  return ops;
}

// Sample numbers that the op accepts in most places, a few edges among them.
template <class T>
std::vector<T> samples(ElementOp op, int operand, i64 n) {
  std::mt19937 random(static_cast<unsigned>(17 * static_cast<int>(op) + operand));
  std::vector<T> v;
  for (i64 i = 0; i < n; ++i) {
    const double u = static_cast<double>(random() % 2001) / 1000 - 1,
                 w = static_cast<double>(random() % 2001) / 1000 - 1;
    if constexpr (is_complex_v<T>) {
      v.push_back(T(convert<decltype(T::re)>(2 * u), convert<decltype(T::re)>(2 * w)));
    } else if constexpr (std::is_same_v<T, bool>) {
      v.push_back(u > 0);
    } else if constexpr (std::is_integral_v<T>) {
      const T any = static_cast<T>((static_cast<std::uint64_t>(random()) << 32) | random());
      const T small =
          static_cast<T>(std::is_signed_v<T> ? std::floor(6 * u) : std::floor(6 + 6 * u));
      const bool exponent = operand == 1 && op == ElementOp::power;
      const bool to_float = family(op) >= ElementFamily::math;  // float16 ends at 65504
      v.push_back(exponent                  ? static_cast<T>(std::floor(4 + 4 * u))
                  : i % 3 == 0 && !to_float ? any
                                            : small);
    } else {
      const bool positive = op == ElementOp::power && operand == 0;
      const double x = op == ElementOp::arccosh   ? 2 + u
                       : positive                 ? 1.01 + u
                       : op == ElementOp::arctanh ? 0.9 * u
                                                  : u;
      v.push_back(convert<T>(std::abs(x) < 1e-3 ? 0.5 : x));
    }
  }
  return v;
}

template <class T>
Z number(T v) {
  if constexpr (is_complex_v<T>)
    return {v.re, v.im};
  else
    return static_cast<double>(static_cast<Work<T>>(v));
}

template <class T>
void check_op(ElementOp op, Lay lay) {
  const Shape shape{3, 5, 7};
  const i64 n = count_of(shape);
  const int inputs = arity(op);
  std::vector<std::vector<T>> v;
  std::vector<ArrayOrValue> arrays;
  for (int k = 0; k < 3; ++k) v.push_back(samples<T>(op, k, n));
  for (int k = 0; k < inputs; ++k)
    arrays.emplace_back(laid_out<T>(shape, v[static_cast<std::size_t>(k)], lay));
  const Array y = elementwise(op, arrays);
  const std::vector<Z> got = numbers_of(y);
  const double eps = epsilon_of(dtype_of<T>);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const T a = v[0][i], b = v[1][i], c = v[2][i];
    Z expected;
    if constexpr (is_complex_v<T>)
      expected = complex_reference(op, number(a), number(b), number(c));
    else if constexpr (std::is_same_v<T, bool>)
      expected = bool_reference(op, y.dtype(), a, b, c);
    else if constexpr (std::is_integral_v<T>)
      expected = is_inexact(y.dtype()) || y.dtype() == DType::b1
                     ? Z(real_reference(op, static_cast<double>(a), static_cast<double>(b),
                                        static_cast<double>(c)))
                     : number(integer_reference<T>(op, a, b, c));
    else
      expected = real_reference(op, number(a).real(), number(b).real(), number(c).real());
    if (std::isnan(std::abs(expected))) {
      EXPECT_TRUE(std::isnan(std::abs(got[i])))
          << name(op) << " " << to_text(dtype_of<T>) << " " << number(a);
      continue;
    }
    if (std::isinf(std::abs(expected)) || expected == got[i]) {
      EXPECT_EQ(got[i], expected) << name(op) << " " << to_text(dtype_of<T>);
      continue;
    }
    // A few roundings of inputs and result; products and powers move more than one.
    const double scale =
        std::abs(expected) + (inputs > 1 ? std::abs(number(a)) + std::abs(number(b)) : 0.05);
    const double tolerance = 16 * std::max(eps, epsilon_of(y.dtype())) * scale;
    ASSERT_FALSE(!(std::abs(got[i] - expected) < tolerance))
        << name(op) << " of " << to_text(dtype_of<T>) << ": " << number(a) << ", " << number(b)
        << " gave " << got[i] << ", expected " << expected;
  }
}

TEST(Elementwise, EveryOpInEveryTypeAgainstTheStandardLibrary) {
  for (ElementOp op : all_ops()) {
    int accepted = 0;
    auto check = [&]<class T>() {
      const std::vector<DType> types(static_cast<std::size_t>(arity(op)), dtype_of<T>);
      try {
        (void)element_types(op, types);
      } catch (const DTypeError&) {
        return;
      }
      ++accepted;
      for (Lay lay : all_lays) check_op<T>(op, lay);
    };
    auto all = [&]<class... Ts>() { (check.template operator()<Ts>(), ...); };
    all.template operator()<TESSERA_ALL_TYPES>();
    EXPECT_GT(accepted, 0) << name(op);
  }
}

TEST(Elementwise, NanAndInfinityAsNumPy) {
  const Array a = Array::of<double>({nan, 1, nan, inf, -inf, -0.0}).to(test_device());
  const Array b = Array::of<double>({1, nan, nan, 1, 1, 0.0}).to(test_device());
  auto is = [](const Array& y, std::vector<double> expected) {
    const std::vector<double> got = values_of<double>(y);
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_TRUE(got[i] == expected[i] || (std::isnan(got[i]) && std::isnan(expected[i])))
          << i << ": " << got[i];
  };
  is(ops::maximum(a, b), {nan, nan, nan, inf, 1, 0});
  is(ops::minimum(a, b), {nan, nan, nan, 1, -inf, 0});
  is(ops::fmax(a, b), {1, 1, nan, inf, 1, 0});
  is(ops::fmin(a, b), {1, 1, nan, 1, -inf, 0});
  is(ops::sign(a), {nan, 1, nan, 1, -1, 0});
  const Array d = Array::of<double>({-7, 7, -7, 7.5, -1, 1, 0}).to(test_device());
  const Array e = Array::of<double>({2, -2, 0, inf, inf, 0, -3}).to(test_device());
  is(ops::floor_divide(d, e), {-4, -4, -inf, 0, -1, inf, -0.0});
  is(ops::remainder(d, e), {1, -1, nan, 7.5, inf, nan, -0.0});
  EXPECT_TRUE(std::signbit(values_of<double>(ops::remainder(d, e))[6]));
  const Array z = laid_out<c128>({3}, {c128(-inf, 2), c128(1, inf), c128(0, -3)});
  EXPECT_EQ(values_of<c128>(ops::sign(z)),
            (std::vector<c128>{c128(-1, 0), c128(0, 1), c128(0, -1)}));
  const std::vector<bool> signs{false, false, false, false, true, true};
  const std::vector<bool> found = values_of<bool>(ops::signbit(a));
  for (std::size_t i : {1u, 3u, 4u, 5u}) EXPECT_EQ(found[i], signs[i]);
}

TEST(Elementwise, IntegerEdgesDoNotTrap) {
  const auto low = std::numeric_limits<i64>::min();
  const Array a = Array::of<i64>({low, low, 5, -1, 1}).to(test_device());
  const Array b = Array::of<i64>({-1, 0, 0, 64, -1}).to(test_device());
  EXPECT_EQ(values_of<i64>(ops::floor_divide(a, b)), (std::vector<i64>{low, 0, 0, -1, -1}));
  EXPECT_EQ(values_of<i64>(ops::remainder(a, b)), (std::vector<i64>{0, 0, 0, 63, 0}));
  EXPECT_EQ(values_of<i64>(ops::right_shift(a, b)), (std::vector<i64>{-1, low, 5, -1, 0}));
  EXPECT_EQ(values_of<i64>(ops::left_shift(a, b)), (std::vector<i64>{0, low, 5, 0, 0}));
  EXPECT_EQ(values_of<i64>(ops::absolute(a))[0], low);
}

}  // namespace
}  // namespace tessera
