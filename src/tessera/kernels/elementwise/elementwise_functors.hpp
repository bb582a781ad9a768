// SPDX-License-Identifier: Apache-2.0
#pragma once
// What each element-wise operation does to one element: a small function object per ElementOp,
// named as the op, for g++ and nvcc alike. They take and give the types that a kernel computes in:
// bool, the eight integer types, float, double, Complex<float>, Complex<double>. Half and BFloat16
// are converted to float before (see Work). An op accepts a type T when is_invocable<element::op,
// T...>; kernels use that to know what exists.
//   element::add{}(2, 3) == 5;   convert<Half>(1.5)

#include <type_traits>

#include "tessera/kernels/elementwise/math/complex_math.hpp"

namespace tessera {

// Half and BFloat16 are storage: kernels load them as float and round once when they store.
template <class T>
using Work = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;

// A double on its way to a shorter type than float: what float cannot hold is cut off, and then the
// last bit is set, so that rounding a second time rounds as if the first had not been.
TESSERA_HOST_DEVICE inline float rounded_to_odd(double x) {
  const float near = static_cast<float>(x);
  const double back = near, size = x < 0 ? -x : x, size_back = back < 0 ? -back : back;
  const std::uint32_t beyond = size_back > size ? 1u : 0u, inexact = size_back < size ? 1u : 0u;
  return bits_float((float_bits(near) - beyond) | beyond | inexact);
}

// NumPy's astype of one element. Floats beyond an integer's range wrap through a wider integer
// where they fit it; complex to real drops the imaginary part; anything but zero is true.
template <class To, class From>
TESSERA_HOST_DEVICE inline To convert(From x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>) {
    return convert<To>(static_cast<float>(x));
  } else if constexpr (is_complex_v<From>) {
    if constexpr (is_complex_v<To>)
      return To(x);
    else if constexpr (std::is_same_v<To, bool>)
      return x.re != 0 || x.im != 0;
    else
      return convert<To>(x.re);
  } else if constexpr (is_complex_v<To>) {
    return To(static_cast<decltype(To::re)>(x));
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != 0;
  } else if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>) {
    if constexpr (std::is_same_v<From, double>)
      return To(rounded_to_odd(x));
    else
      return To(static_cast<float>(x));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if constexpr (sizeof(To) < 4)
      return static_cast<To>(static_cast<std::int32_t>(x));
    else if constexpr (std::is_same_v<To, std::uint32_t>)
      return static_cast<To>(static_cast<std::int64_t>(x));
    else if constexpr (std::is_same_v<To, std::uint64_t>)
      return x < 0 ? static_cast<To>(static_cast<std::int64_t>(x)) : static_cast<To>(x);
    else
      return static_cast<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

namespace element {

template <class T>
concept Boolean = std::is_same_v<T, bool>;
template <class T>
concept Integer = std::is_integral_v<T> && !Boolean<T>;
template <class T>
concept Float = std::is_same_v<T, float> || std::is_same_v<T, double>;
template <class T>
concept ComplexNumber = is_complex_v<T>;
template <class T>
concept Real = Integer<T> || Float<T>;
template <class T>
concept Inexact = Float<T> || ComplexNumber<T>;
template <class T>
concept Number = Real<T> || ComplexNumber<T>;
template <class T>
concept Element = Number<T> || Boolean<T>;

// Integers wrap: they are computed in an unsigned type that no promotion turns into int.
template <Integer T>
using Wrapping = std::common_type_t<std::make_unsigned_t<T>, unsigned>;

template <class T>
TESSERA_HOST_DEVICE inline bool has_nan(T x) {
  if constexpr (is_complex_v<T>)
    return x.re != x.re || x.im != x.im;
  else
    return x != x;
}

// A product by itself: g++ 12 fuses those of complex numbers with the sum that follows wherever a
// host has instructions for it, also when it is told not to.
template <class T>
TESSERA_HOST_DEVICE inline T apart(T product) {
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
  return __builtin_assoc_barrier(product);
#else
  return product;
#endif
}

#define TESSERA_OP(Accepts) \
  template <Accepts T>      \
  TESSERA_HOST_DEVICE inline

struct copy {
  TESSERA_OP(Element) T operator()(T a) const { return a; }
};
struct positive {
  TESSERA_OP(Number) T operator()(T a) const { return a; }
};
struct negative {
  TESSERA_OP(Inexact) T operator()(T a) const { return -a; }
  TESSERA_OP(Integer) T operator()(T a) const {
    return static_cast<T>(Wrapping<T>{0} - static_cast<Wrapping<T>>(a));
  }
};
struct add {
  TESSERA_OP(Boolean) T operator()(T a, T b) const { return a | b; }
  TESSERA_OP(Inexact) T operator()(T a, T b) const { return a + b; }
  TESSERA_OP(Integer) T operator()(T a, T b) const {
    return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
  }
};
struct subtract {
  TESSERA_OP(Inexact) T operator()(T a, T b) const { return a - b; }
  TESSERA_OP(Integer) T operator()(T a, T b) const {
    return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
  }
};
struct multiply {
  TESSERA_OP(Boolean) T operator()(T a, T b) const { return a & b; }
  TESSERA_OP(Float) T operator()(T a, T b) const { return a * b; }
  TESSERA_OP(ComplexNumber) T operator()(T a, T b) const {
    return {apart(a.re * b.re) - apart(a.im * b.im), apart(a.re * b.im) + apart(a.im * b.re)};
  }
  TESSERA_OP(Integer) T operator()(T a, T b) const {
    return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
  }
};
struct multiply_add {
  TESSERA_OP(Element) T operator()(T a, T b, T c) const { return add{}(multiply{}(a, b), c); }
};
struct conj {
  TESSERA_OP(Real) T operator()(T a) const { return a; }
  TESSERA_OP(ComplexNumber) T operator()(T a) const { return {a.re, -a.im}; }
};
struct conj_multiply {
  TESSERA_OP(Element) T operator()(T a, T b) const {
    if constexpr (is_complex_v<T>)
      return {apart(a.re * b.re) + apart(a.im * b.im), apart(a.re * b.im) - apart(a.im * b.re)};
    else
      return multiply{}(a, b);
  }
};
struct square {
  TESSERA_OP(Number) T operator()(T a) const { return multiply{}(a, a); }
};
struct sign {
  TESSERA_OP(Real) T operator()(T a) const {
    // Choices between numbers, which vectors have; numbers of choices they would have to convert.
    T s = a > T(0) ? static_cast<T>(1) : static_cast<T>(0);
    if constexpr (!std::is_unsigned_v<T>) s = a < T(0) ? static_cast<T>(-1) : s;
    return has_nan(a) ? a : s;
  }
  TESSERA_OP(ComplexNumber) T operator()(T a) const {
    const auto r = math::absolute(a);
    if (r == 0) return {0, 0};
    if (math::is_inf(a.re) && !math::is_inf(a.im)) return {sign{}(a.re), 0};
    if (math::is_inf(a.im) && !math::is_inf(a.re)) return {0, sign{}(a.im)};
    return {a.re / r, a.im / r};
  }
};

// Python's rules: the quotient rounds down, the remainder has the sign of b; integers by zero give
// 0.
struct floor_divide {
  TESSERA_OP(Integer) T operator()(T a, T b) const {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return negative{}(a);
      return static_cast<T>(a / b - (a % b != 0 && (a < 0) != (b < 0)));
    } else {
      return static_cast<T>(a / b);
    }
  }
  TESSERA_OP(Float) T operator()(T a, T b) const {
    if (b == 0) return a / b;
    const T rest = math::fmod(a, b);
    T quotient = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
    if (quotient == 0) return math::copysign(T(0), a / b);
    const T down = math::floor(quotient);
    return quotient - down > T(0.5) ? down + 1 : down;
  }
};
struct remainder {
  TESSERA_OP(Integer) T operator()(T a, T b) const {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return 0;
      const T rest = static_cast<T>(a % b);
      return rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
    } else {
      return static_cast<T>(a % b);
    }
  }
  TESSERA_OP(Float) T operator()(T a, T b) const {
    const T rest = math::fmod(a, b);
    if (rest == 0) return math::copysign(T(0), b);
    return (rest < 0) != (b < 0) && !has_nan(rest) ? rest + b : rest;
  }
};
struct power {
  TESSERA_OP(Inexact) T operator()(T a, T b) const { return math::pow(a, b); }
  // Negative exponents are refused before a launch; here they give the truncated quotient.
  TESSERA_OP(Integer) T operator()(T a, T b) const {
    using W = Wrapping<T>;
    if constexpr (std::is_signed_v<T>)
      if (b < 0) return a == 1 ? T(1) : a == -1 ? T(b % 2 == 0 ? 1 : -1) : T(0);
    W base = static_cast<W>(a), result = 1;
    for (W n = static_cast<W>(b); n > 0; n >>= 1, base *= base)
      if (n & 1) result *= base;
    return static_cast<T>(result);
  }
};
struct reciprocal {
  TESSERA_OP(Float) T operator()(T a) const { return T(1) / a; }
  TESSERA_OP(ComplexNumber) T operator()(T a) const { return math::reciprocal(a); }
  TESSERA_OP(Integer) T operator()(T a) const {
    if (a == 0) return 0;
    return static_cast<T>(T(1) / a);
  }
};

// Complex numbers are ordered by the real, then by the imaginary part; a NaN compares false.
#define TESSERA_COMPARE(name, sign, strict)                                                      \
  struct name {                                                                                  \
    template <class T>                                                                           \
    requires(Real<T> || Boolean<T>) TESSERA_HOST_DEVICE inline bool operator()(T a, T b) const { \
      return a sign b;                                                                           \
    }                                                                                            \
    TESSERA_OP(ComplexNumber) bool operator()(T a, T b) const {                                  \
      return (a.re strict b.re && a.im == a.im && b.im == b.im) ||                               \
             (a.re == b.re && a.im sign b.im);                                                   \
    }                                                                                            \
  };
TESSERA_COMPARE(less, <, <)
TESSERA_COMPARE(less_equal, <=, <)
TESSERA_COMPARE(greater, >, >)
TESSERA_COMPARE(greater_equal, >=, >)
#undef TESSERA_COMPARE
struct equal {
  TESSERA_OP(Element) bool operator()(T a, T b) const { return a == b; }
};
struct not_equal {
  TESSERA_OP(Element) bool operator()(T a, T b) const { return a != b; }
};

// maximum and minimum pass a NaN on; fmax and fmin prefer the number.
struct maximum {
  TESSERA_OP(Element) T operator()(T a, T b) const {
    return greater_equal{}(a, b) || has_nan(a) ? a : b;
  }
};
struct minimum {
  TESSERA_OP(Element) T operator()(T a, T b) const {
    return less_equal{}(a, b) || has_nan(a) ? a : b;
  }
};
struct fmax {
  TESSERA_OP(Element) T operator()(T a, T b) const {
    return greater_equal{}(a, b) || has_nan(b) ? a : b;
  }
};
struct fmin {
  TESSERA_OP(Element) T operator()(T a, T b) const {
    return less_equal{}(a, b) || has_nan(b) ? a : b;
  }
};
struct where {
  TESSERA_OP(Element) T operator()(bool condition, T a, T b) const { return condition ? a : b; }
};

struct logical_and {
  TESSERA_OP(Boolean) bool operator()(T a, T b) const { return a & b; }
};
struct logical_or {
  TESSERA_OP(Boolean) bool operator()(T a, T b) const { return a | b; }
};
struct logical_xor {
  TESSERA_OP(Boolean) bool operator()(T a, T b) const { return a != b; }
};
struct logical_not {
  TESSERA_OP(Boolean) bool operator()(T a) const { return !a; }
};

template <class T>
concept Bits = Integer<T> || Boolean<T>;
struct bitwise_and {
  TESSERA_OP(Bits) T operator()(T a, T b) const { return static_cast<T>(a & b); }
};
struct bitwise_or {
  TESSERA_OP(Bits) T operator()(T a, T b) const { return static_cast<T>(a | b); }
};
struct bitwise_xor {
  TESSERA_OP(Bits) T operator()(T a, T b) const { return static_cast<T>(a ^ b); }
};
struct invert {
  TESSERA_OP(Integer) T operator()(T a) const { return static_cast<T>(~a); }
  TESSERA_OP(Boolean) T operator()(T a) const { return !a; }
};
// Shifts by less than zero or by the width and more push every bit out.
struct left_shift {
  TESSERA_OP(Integer) T operator()(T a, T b) const {
    using W = Wrapping<T>;
    return static_cast<std::make_unsigned_t<T>>(b) < 8 * sizeof(T)
               ? static_cast<T>(static_cast<W>(a) << static_cast<W>(b))
               : T(0);
  }
};
struct right_shift {
  TESSERA_OP(Integer) T operator()(T a, T b) const {
    if (static_cast<std::make_unsigned_t<T>>(b) < 8 * sizeof(T)) return static_cast<T>(a >> b);
    if constexpr (std::is_signed_v<T>)
      return a < 0 ? T(-1) : T(0);
    else
      return 0;
  }
};

struct divide {
  TESSERA_OP(Float) T operator()(T a, T b) const { return a / b; }
  TESSERA_OP(ComplexNumber) T operator()(T a, T b) const { return math::divide(a, b); }
};

#define TESSERA_MATH(name, Accepts)                                       \
  struct name {                                                           \
    TESSERA_OP(Accepts) T operator()(T a) const { return math::name(a); } \
  };
TESSERA_MATH(sqrt, Inexact)
TESSERA_MATH(exp, Inexact)
TESSERA_MATH(expm1, Inexact)
TESSERA_MATH(log, Inexact)
TESSERA_MATH(log2, Inexact)
TESSERA_MATH(log10, Inexact)
TESSERA_MATH(log1p, Inexact)
TESSERA_MATH(sin, Inexact)
TESSERA_MATH(cos, Inexact)
TESSERA_MATH(tan, Inexact)
TESSERA_MATH(arcsin, Inexact)
TESSERA_MATH(arccos, Inexact)
TESSERA_MATH(arctan, Inexact)
TESSERA_MATH(sinh, Inexact)
TESSERA_MATH(cosh, Inexact)
TESSERA_MATH(tanh, Inexact)
TESSERA_MATH(arcsinh, Inexact)
TESSERA_MATH(arccosh, Inexact)
TESSERA_MATH(arctanh, Inexact)
TESSERA_MATH(cbrt, Float)
TESSERA_MATH(exp2, Inexact)
#undef TESSERA_MATH
#define TESSERA_ROUND(name)                                             \
  struct name {                                                         \
    TESSERA_OP(Float) T operator()(T a) const { return math::name(a); } \
    TESSERA_OP(Bits) T operator()(T a) const { return a; }              \
  };
TESSERA_ROUND(floor)
TESSERA_ROUND(ceil)
TESSERA_ROUND(trunc)
#undef TESSERA_ROUND
struct rint {
  TESSERA_OP(Float) T operator()(T a) const { return math::rint(a); }
  TESSERA_OP(ComplexNumber) T operator()(T a) const { return {math::rint(a.re), math::rint(a.im)}; }
};
struct arctan2 {
  TESSERA_OP(Float) T operator()(T a, T b) const { return math::arctan2(a, b); }
};
struct hypot {
  TESSERA_OP(Float) T operator()(T a, T b) const { return math::hypot(a, b); }
};
struct copysign {
  TESSERA_OP(Float) T operator()(T a, T b) const { return math::copysign(a, b); }
};

struct isnan {
  TESSERA_OP(Inexact) bool operator()(T a) const { return has_nan(a); }
};
struct isinf {
  TESSERA_OP(Float) bool operator()(T a) const { return math::is_inf(a); }
  TESSERA_OP(ComplexNumber) bool operator()(T a) const {
    return math::is_inf(a.re) || math::is_inf(a.im);
  }
};
struct isfinite {
  TESSERA_OP(Float) bool operator()(T a) const { return math::is_finite(a); }
  TESSERA_OP(ComplexNumber) bool operator()(T a) const {
    return math::is_finite(a.re) && math::is_finite(a.im);
  }
};
struct signbit {
  TESSERA_OP(Float) bool operator()(T a) const { return math::copysign(T(1), a) < 0; }
};

struct absolute {
  TESSERA_OP(Boolean) T operator()(T a) const { return a; }
  TESSERA_OP(Integer) T operator()(T a) const {
    if constexpr (std::is_signed_v<T>)
      return a < 0 ? negative{}(a) : a;
    else
      return a;
  }
  TESSERA_OP(Float) T operator()(T a) const { return math::fabs(a); }
  TESSERA_OP(ComplexNumber) auto operator()(T a) const { return math::absolute(a); }
};
struct abs2 {
  TESSERA_OP(Real) T operator()(T a) const { return multiply{}(a, a); }
  TESSERA_OP(Boolean) T operator()(T a) const { return a; }
  TESSERA_OP(ComplexNumber) auto operator()(T a) const { return a.re * a.re + a.im * a.im; }
};
struct real {
  TESSERA_OP(Element) auto operator()(T a) const {
    if constexpr (is_complex_v<T>)
      return a.re;
    else
      return a;
  }
};
struct imag {
  TESSERA_OP(Element) auto operator()(T a) const {
    if constexpr (is_complex_v<T>)
      return a.im;
    else
      return T(0);
  }
};
struct angle {
  TESSERA_OP(Float) T operator()(T a) const { return math::arctan2(T(0), a); }
  TESSERA_OP(ComplexNumber) auto operator()(T a) const { return math::arctan2(a.im, a.re); }
};
#undef TESSERA_OP

}  // namespace element
}  // namespace tessera
