// SPDX-License-Identifier: Apache-2.0
// The mathematical functions of the cpu against the C library in long double: the error over all
// numbers in units in the last place, special values, exact results, and that a value depends on
// its arguments alone. TESSERA_INSTRUCTIONS=base and avx2 measure what other hosts run.
#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "support/arrays.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/elementwise/math/complex_math.hpp"

namespace tessera {
namespace {

using Long = long double;

struct Function {
  ElementOp op;
  Long (*of_one)(Long);
  Long (*of_two)(Long, Long);
  bool takes_two() const { return of_two != nullptr; }
};
const Function functions[] = {
    {ElementOp::exp, expl, nullptr},       {ElementOp::exp2, exp2l, nullptr},
    {ElementOp::expm1, expm1l, nullptr},   {ElementOp::log, logl, nullptr},
    {ElementOp::log2, log2l, nullptr},     {ElementOp::log10, log10l, nullptr},
    {ElementOp::log1p, log1pl, nullptr},   {ElementOp::sin, sinl, nullptr},
    {ElementOp::cos, cosl, nullptr},       {ElementOp::tan, tanl, nullptr},
    {ElementOp::arctan, atanl, nullptr},   {ElementOp::sinh, sinhl, nullptr},
    {ElementOp::cosh, coshl, nullptr},     {ElementOp::tanh, tanhl, nullptr},
    {ElementOp::arcsin, asinl, nullptr},   {ElementOp::arccos, acosl, nullptr},
    {ElementOp::arcsinh, asinhl, nullptr}, {ElementOp::arccosh, acoshl, nullptr},
    {ElementOp::arctanh, atanhl, nullptr}, {ElementOp::cbrt, cbrtl, nullptr},
    {ElementOp::arctan2, nullptr, atan2l}, {ElementOp::hypot, nullptr, hypotl},
    {ElementOp::power, nullptr, powl}};

template <class T>
using Pairs = std::vector<std::pair<T, T>>;

template <class T>
Array column(const Pairs<T>& arguments, T std::pair<T, T>::*side, Lay lay = Lay::dense) {
  std::vector<T> values;
  for (const auto& pair : arguments) values.push_back(pair.*side);
  return laid_out<T>({static_cast<i64>(values.size())}, values, lay, cpu);
}

template <class T>
Array result(const Function& f, const Pairs<T>& arguments, Lay lay = Lay::dense) {
  std::vector<ArrayOrValue> in{column(arguments, &std::pair<T, T>::first, lay)};
  if (f.takes_two()) in.push_back(column(arguments, &std::pair<T, T>::second, lay));
  return elementwise(f.op, in);
}
template <class T>
std::vector<T> results(const Function& f, const Pairs<T>& arguments) {
  return values_of<T>(result(f, arguments));
}

template <class T>
Long reference(const Function& f, const std::pair<T, T>& at) {
  return f.takes_two() ? f.of_two(at.first, at.second) : f.of_one(at.first);
}

// In units in the last place of the reference; infinite where one is NaN or has another sign.
template <class T>
double error_of(T got, Long expected) {
  using Limits = std::numeric_limits<T>;
  constexpr double wrong = std::numeric_limits<double>::infinity();
  if (std::isnan(expected)) return std::isnan(got) ? 0 : wrong;
  if (std::isnan(got) || std::signbit(got) != std::signbit(expected)) return wrong;
  const T rounded = static_cast<T>(expected);
  if (got == rounded) return 0;
  if (std::isinf(rounded) || std::isinf(got))  // at the largest number either may be
    return std::abs(expected) < Limits::max() * (1 - Long(8) * Limits::epsilon()) ||
                   std::abs(expected) > Limits::max() * (1 + Long(8) * Limits::epsilon())
               ? wrong
               : 1;
  int exponent = 0;
  std::frexp(expected, &exponent);
  const int digits = std::max(exponent, Limits::min_exponent) - Limits::digits;
  return static_cast<double>(std::abs(Long(got) - expected) / std::ldexp(Long(1), digits));
}

// Numbers of all sizes, those near where a function bends, and pairs whose powers and ratios are
// not extreme.
template <class T>
Pairs<T> arguments_over_the_range(int n) {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  std::mt19937_64 random(7);
  auto between = [&](double low, double high) {
    return static_cast<T>(std::uniform_real_distribution<double>(low, high)(random));
  };
  auto any = [&] { return std::bit_cast<T>(static_cast<Bits>(random())); };
  auto spread = [&](double low, double high) {  // evenly in the exponent, either sign
    const T size = static_cast<T>(std::exp2(between(std::log2(low), std::log2(high))));
    return random() % 2 ? size : -size;
  };
  Pairs<T> made;
  for (int i = 0; i < n; ++i) {
    const T a = any(), b = between(0, 10);
    made.insert(made.end(), {{a, any()},
                             {between(-2, 2), between(-2, 2)},
                             {between(-1, 1), between(-50, 50)},
                             {between(-50, 50), between(-50, 50)},
                             {between(-800, 800), between(-3, 3)},
                             {spread(1e-12, 1e5), spread(1e-3, 1e3)},
                             {1 + spread(1e-17, 0.9), spread(1, 1e15)},
                             {a, a * between(0, 3)},
                             {b, b * (1 + spread(1e-7, 1))},
                             {between(-9, 9), static_cast<T>(int(random() % 41) - 20)},
                             {std::abs(a), between(-1075, 1025) / std::log2(std::abs(a))}});
  }
  return made;
}

template <class T>
void check_errors(const Function& f) {
  const Pairs<T> arguments = arguments_over_the_range<T>(1501);
  const std::vector<T> got = results(f, arguments);
  double worst = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < got.size(); ++i)
    if (const double error = error_of(got[i], reference(f, arguments[i])); error > worst)
      worst = error, at = i;
  EXPECT_FALSE(!(worst < 3)) << name(f.op) << " of " << arguments[at].first << ", "
                             << arguments[at].second << " gave " << got[at] << ", expected "
                             << reference(f, arguments[at]) << ": " << worst << " units";
}
TEST(ElementwiseAccuracy, WithinThreeUnitsInTheLastPlace) {
  for (const Function& f : functions) {
    check_errors<float>(f);
    check_errors<double>(f);
  }
}

template <class T>
std::vector<T> special_values() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values{0,
                        1,
                        2,
                        3,
                        0.5,
                        1.5,
                        10,
                        100,
                        T(0x1p24),
                        T(0x1p24) + 2,
                        T(0x1p31),
                        T(0x1.8p52),
                        T(0x1p53),
                        T(1e30),
                        Limits::max(),
                        Limits::max() / 2,
                        Limits::min(),
                        Limits::min() / 2,
                        Limits::denorm_min(),
                        Limits::epsilon(),
                        1 - Limits::epsilon() / 2,
                        1 + Limits::epsilon(),
                        Limits::infinity(),
                        Limits::quiet_NaN()};
  const std::size_t positive = values.size();
  for (std::size_t i = 0; i < positive; ++i) values.push_back(-values[i]);
  return values;
}

// In the C library's own type: what Annex F says, and what is rounded to zero or infinity.
template <class T>
void check_special(const Function& f) {
  Pairs<T> arguments;
  for (T x : special_values<T>())
    for (T y : special_values<T>()) arguments.push_back({x, y});
  const std::vector<T> got = results(f, arguments);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto [x, y] = arguments[i];
    const Long expected = reference(f, arguments[i]);
    ASSERT_FALSE(!(error_of(got[i], expected) < 3))
        << name(f.op) << " of " << x << ", " << y << " gave " << got[i] << ", expected "
        << expected;
  }
}
TEST(ElementwiseAccuracy, SpecialValues) {
  for (const Function& f : functions) {
    check_special<float>(f);
    check_special<double>(f);
  }
}

template <class T>
void check_exact(ElementOp op, const Pairs<T>& arguments, const std::vector<T>& expected) {
  const Function& f = *std::find_if(std::begin(functions), std::end(functions),
                                    [&](const Function& g) { return g.op == op; });
  const std::vector<T> got = results(f, arguments);
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_EQ(got[i], expected[i])
        << name(op) << " of " << arguments[i].first << ", " << arguments[i].second;
}

template <class T>
void check_exact_results() {
  using Limits = std::numeric_limits<T>;
  Pairs<T> twos, integers, tens, cubes, powers, sides;
  std::vector<T> power_of_two, exponent, ten, cube_root, power, length;
  for (int k = Limits::min_exponent - Limits::digits; k < Limits::max_exponent; ++k) {
    twos.push_back({std::ldexp(T(1), k), 0});
    power_of_two.push_back(std::ldexp(T(1), k));
    integers.push_back({T(k), 0});
    exponent.push_back(T(k));
  }
  T power_of_ten = 1;
  for (int k = 0; k <= (sizeof(T) == 8 ? 22 : 10); ++k, power_of_ten *= 10) {
    tens.push_back({power_of_ten, 0});
    ten.push_back(T(k));
  }
  constexpr std::int64_t largest = std::int64_t(1) << Limits::digits;
  for (std::int64_t i = 1; i * i * i < largest && i < 3000; ++i) {
    cubes.push_back({T(-i * i * i), 0});
    cube_root.push_back(T(-i));
  }
  for (std::int64_t i = 2; i < 1000; ++i) {
    sides.push_back({T(3 * i), T(-4 * i)});
    length.push_back(T(5 * i));
    for (std::int64_t k = 1, product = i; product < largest; ++k, product *= i) {
      powers.insert(powers.end(), {{T(i), T(k)}, {T(-i), T(k)}});
      power.insert(power.end(), {T(product), T(k % 2 ? -product : product)});
    }
  }
  check_exact(ElementOp::log2, twos, exponent);
  check_exact(ElementOp::exp2, integers, power_of_two);
  check_exact(ElementOp::log10, tens, ten);
  check_exact(ElementOp::cbrt, cubes, cube_root);
  check_exact(ElementOp::hypot, sides, length);
  check_exact(ElementOp::power, powers, power);
}
TEST(ElementwiseAccuracy, ExactWhereTheResultIs) {
  check_exact_results<float>();
  check_exact_results<double>();
}

// One by one, with other strides, in place and as a number for a whole array: the same bits.
template <class T>
void check_alone(const Function& f) {
  Pairs<T> arguments = arguments_over_the_range<T>(55);
  for (T x : special_values<T>()) arguments.push_back({x, T(2.5)});
  const Array whole = result(f, arguments);
  EXPECT_TRUE(same_bits(whole, result(f, arguments, Lay::reversed))) << name(f.op);
  const Array x = column(arguments, &std::pair<T, T>::first);
  const Array y = column(arguments, &std::pair<T, T>::second);
  std::vector<ArrayOrValue> in{x};
  if (f.takes_two()) in.push_back(y);
  elementwise(f.op, in, x);
  EXPECT_TRUE(same_bits(whole, x)) << name(f.op) << " in place";
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const i64 at = static_cast<i64>(i);
    const Array one = whole.slice(0, at, at + 1);
    EXPECT_TRUE(same_bits(one, result<T>(f, {arguments[i]})))
        << name(f.op) << " of " << arguments[i].first << ", " << arguments[i].second << " alone";
    if (!f.takes_two()) continue;
    const Array first = laid_out<T>({1}, {arguments[i].first}, Lay::dense, cpu);
    const std::array<ArrayOrValue, 2> with_number{first, double(arguments[i].second)};
    EXPECT_TRUE(same_bits(one, elementwise(f.op, with_number))) << name(f.op) << " and a number";
  }
}
TEST(ElementwiseAccuracy, AValueDependsOnItsArgumentsAlone) {
  for (const Function& f : functions) {
    check_alone<float>(f);
    check_alone<double>(f);
  }
}

// Bit by bit, but for the sign and the payload of NaNs, which nobody promises.
template <class T>
bool same_but_for_nans(const T& a, const T& b) {
  if constexpr (is_complex_v<T>)
    return same_but_for_nans(a.re, b.re) && same_but_for_nans(a.im, b.im);
  else
    return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

// Of complex numbers: beside each other as one by one, and as their formulas for one number.
template <class T>
void check_complex(ElementOp op, auto formula) {
  using R = decltype(T::re);
  std::vector<T> numbers;
  for (R re : special_values<R>())
    for (R im : special_values<R>()) numbers.push_back(T(re, im));
  for (const auto& [re, im] : arguments_over_the_range<R>(101)) numbers.push_back(T(re, im));
  const i64 n = static_cast<i64>(numbers.size());
  const Array z = laid_out<T>({n}, numbers, Lay::dense, cpu);
  const Array whole = elementwise(op, std::array<ArrayOrValue, 1>{z});
  using Result = decltype(formula(T()));
  const std::vector<Result> got = values_of<Result>(whole);
  for (i64 i = 0; i < n; ++i) {
    const T at = numbers[static_cast<std::size_t>(i)];
    const Array one = elementwise(op, std::array<ArrayOrValue, 1>{z.slice(0, i, i + 1)});
    ASSERT_TRUE(same_but_for_nans(got[static_cast<std::size_t>(i)], values_of<Result>(one).front()))
        << name(op) << " of " << at.re << ", " << at.im << " alone";
    auto close = [&](R a, R b, R scale) {
      if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
      if (std::isinf(b)) return a == b;
      return std::signbit(a) == std::signbit(b) &&
             std::abs(a - b) <= 8 * std::numeric_limits<R>::epsilon() * scale +
                                    std::numeric_limits<R>::denorm_min();
    };
    const Result a = got[static_cast<std::size_t>(i)], b = formula(at);
    bool same = false;
    if constexpr (is_complex_v<Result>)
      same = close(a.re, b.re, std::abs(b.re)) && close(a.im, b.im, std::abs(b.im));
    else
      same = close(a, b, std::abs(b));
    ASSERT_TRUE(same) << name(op) << " of " << at.re << ", " << at.im;
  }
}
TEST(ElementwiseAccuracy, ComplexNumbersOneByOne) {
  check_complex<c64>(ElementOp::exp, [](c64 z) { return math::exp(z); });
  check_complex<c128>(ElementOp::exp, [](c128 z) { return math::exp(z); });
  check_complex<c64>(ElementOp::angle, [](c64 z) { return math::arctan2(z.im, z.re); });
  check_complex<c128>(ElementOp::angle, [](c128 z) { return math::arctan2(z.im, z.re); });
  check_complex<c64>(ElementOp::absolute, [](c64 z) { return math::absolute(z); });
  check_complex<c128>(ElementOp::absolute, [](c128 z) { return math::absolute(z); });
}

}  // namespace
}  // namespace tessera
