// SPDX-License-Identifier: Apache-2.0
#include "tessera/matrix/forms/checked.hpp"

#include <algorithm>
#include <atomic>
#include <limits>

#include "tessera/base/warn.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/matmul/matmul.hpp"
#include "tessera/kernels/reduce/reduce.hpp"

namespace tessera {
namespace {

__extension__ using Wide = __int128;
__extension__ using Natural = unsigned __int128;
using U64 = std::uint64_t;

constexpr Natural exact_in_float = Natural{1} << 24, exact_in_double = Natural{1} << 53;
constexpr Natural most_i64 = 0x7fffffffffffffff, most_u64 = ~U64{0};
constexpr double worth_a_float = 16.0 * 16 * 16;  // m n k from which conversions pay

Natural most_of(DType t) {
  const i64 bits = 8 * size_of(t) - (is_signed_int(t) ? 1 : 0);
  return (Natural{1} << bits) - 1;
}

// The largest number there is where a * b is larger.
Natural times(Natural a, Natural b) {
  Natural r;
  return __builtin_mul_overflow(a, b, &r) ? ~Natural{0} : r;
}

Value extreme(ReduceOp op, const Array& x) { return reduce(op, x).item(); }

// x in an integer dtype; x is of integers, or of floats that are whole numbers below 2^53.
Array narrowed(std::string_view who, const Array& x, DType dtype) {
  if (x.dtype() == dtype || x.size() == 0) return x.astype(dtype);
  const Value least = extreme(ReduceOp::min, x), most = extreme(ReduceOp::max, x);
  bool fits = false;
  if (x.dtype() == DType::u64) {
    fits = Natural{most.as<U64>()} <= most_of(dtype);
  } else {
    const Wide low = least.as<i64>(), high = most.as<i64>(),
               limit = static_cast<Wide>(most_of(dtype));
    fits = high <= limit && low >= (is_signed_int(dtype) ? -limit - 1 : Wide{0});
  }
  if (!fits) {
    const bool natural = x.dtype() == DType::u64;
    const auto text = [&](const Value& v) { return natural ? cat(v.as<U64>()) : cat(v.as<i64>()); };
    throw OverflowError(cat(who, ": results from ", text(least), " to ", text(most), " do not fit ",
                            name(dtype),
                            "; convert the operands to a longer integer or a float with astype()"));
  }
  return x.astype(dtype);
}

// The sum of one row times one column in 192 bits: the halves of the products apart.
template <class T>
bool exact_dot(const T* a, const T* b, i64 n, T* out) {
  using Product = std::conditional_t<std::is_signed_v<T>, Wide, Natural>;
  Natural low = 0;
  Product high = 0;
  for (i64 i = 0; i < n; ++i) {
    const Product p = static_cast<Product>(a[i]) * static_cast<Product>(b[i]);
    low += static_cast<U64>(p);
    high += p >> 64;
  }
  high += static_cast<Product>(low >> 64);
  *out = static_cast<T>(static_cast<U64>(low));
  return high == (std::is_signed_v<T> && *out < 0 ? static_cast<Product>(-1) : Product{0});
}

template <class T>
Array exact_matmul(const Array& a, const Array& b) {
  const i64 m = a.shape(0), k = a.shape(1), n = b.shape(1);
  const Array left = a.to(cpu).astype(dtype_of<T>).contiguous(),
              right = b.to(cpu).astype(dtype_of<T>).transpose().contiguous(),
              out = empty_dense({m, n}, dtype_of<T>);
  const T *x = left.host<T>(), *y = right.host<T>();
  T* const z = out.host<T>();
  std::atomic<bool> fits = true;
  parallel_for(m * n, std::max<i64>(1, 16384 / std::max<i64>(k, 1)), [&](i64 begin, i64 end) {
    for (i64 i = begin; i < end; ++i)
      if (!exact_dot(x + i / n * k, y + i % n * k, k, z + i)) fits.store(false);
  });
  require<OverflowError>(fits.load(), "matmul: a sum of ", k, " products does not fit ",
                         name(dtype_of<T>), "; convert an operand to a float with astype()");
  return out.to(a.device());
}

Array product_in(const Array& a, const Array& b, DType work) {
  return matmul(a.astype(work), b.astype(work));
}

// The float dtype in which sums up to `bound` are exact; nothing where integers are as quick.
std::optional<DType> exact_float(const Array& a, const Array& b, Natural bound) {
  const double work = static_cast<double>(a.shape(0)) * static_cast<double>(a.shape(1)) *
                      static_cast<double>(b.shape(1));
  if (bound >= exact_in_double || work < worth_a_float) return {};
  // A GPU may be told to shorten the products of float32.
  return bound < exact_in_float && a.device().kind != Kind::cuda ? DType::f32 : DType::f64;
}

void say_risk(std::string_view who, DType dtype) {
  if (was_warned(WarningKind::overflow_risk, who)) return;
  warn_once(WarningKind::overflow_risk, who,
            cat(who, ": the operands are so large that sums may overflow ", name(dtype),
                " output; they are checked, and OverflowError comes where one does"));
}

// x to the power n, or the largest number there is.
Natural raised(Natural x, Natural n) {
  if (x < 2) return n == 0 ? 1 : x;
  Natural r = 1;
  for (; n > 0 && r != ~Natural{0}; --n) r = times(r, x);
  return r;
}

bool settled(MatrixOp op, const Array& a, const Array& b, DType dtype) {
  const Natural x = magnitude(a), y = magnitude(b);
  if (op == MatrixOp::power) return raised(x, y) <= most_of(dtype);
  if (op == MatrixOp::multiply) return times(x, y) <= most_of(dtype);
  if (op == MatrixOp::subtract && is_unsigned_int(dtype))
    return a.size() == 0 || b.size() == 0 || Natural{extreme(ReduceOp::min, a).as<U64>()} >= y;
  return x + y <= most_of(dtype);
}

Array applied(MatrixOp op, const Array& a, const Array& b, DType work) {
  const Array x = a.astype(work), y = b.astype(work);
  return op == MatrixOp::add        ? ops::add(x, y)
         : op == MatrixOp::subtract ? ops::subtract(x, y)
         : op == MatrixOp::multiply ? ops::multiply(x, y)
                                    : ops::power(x, y);
}

// The last square is part of the result: where it does not fit, neither does that.
template <class T>
bool power_overflows(T x, T n, T* out) {
  *out = 1;
  for (;;) {
    if ((n & 1) && __builtin_mul_overflow(*out, x, out)) return true;
    if ((n >>= 1) == 0) return false;
    if (__builtin_mul_overflow(x, x, &x)) return true;
  }
}

template <class T>
bool overflows(MatrixOp op, T x, T y, T* out) {
  if (op == MatrixOp::power) return power_overflows(x, y, out);
  return op == MatrixOp::add        ? __builtin_add_overflow(x, y, out)
         : op == MatrixOp::subtract ? __builtin_sub_overflow(x, y, out)
                                    : __builtin_mul_overflow(x, y, out);
}

// In 64 bits, for a result of `dtype`.
template <class T>
Array exact_elementwise(MatrixOp op, const Array& a, const Array& b, DType dtype) {
  const Shape shape = broadcast_shapes(a.shape(), b.shape());
  const auto on_host = [&](const Array& x) {
    return x.to(cpu).astype(dtype_of<T>).broadcast_to(shape).contiguous();
  };
  const Array left = on_host(a), right = on_host(b), out = empty_dense(shape, dtype_of<T>);
  const T *x = left.host<T>(), *y = right.host<T>();
  T* const z = out.host<T>();
  std::atomic<bool> fits = true;
  parallel_for(out.size(), 32768, [&](i64 begin, i64 end) {
    bool over = false;
    for (i64 i = begin; i < end; ++i) over |= overflows(op, x[i], y[i], z + i);
    if (over) fits.store(false);
  });
  require<OverflowError>(fits.load(), name(op), ": a result does not fit ", name(dtype),
                         "; convert an operand to a float with astype()");
  return out.to(a.device());
}

}  // namespace

std::uint64_t magnitude(const Array& x) {
  if (x.size() == 0) return 0;
  if (x.dtype() == DType::b1) return extreme(ReduceOp::any, x).as<U64>();
  const U64 most = extreme(ReduceOp::max, x).as<U64>();
  if (!is_signed_int(x.dtype())) return most;
  const i64 least = extreme(ReduceOp::min, x).as<i64>(), top = static_cast<i64>(most);
  const U64 below = least < 0 ? U64{0} - static_cast<U64>(least) : 0;
  return std::max(below, top > 0 ? most : 0);
}

Array checked_matmul(const Array& a, const Array& b, DType dtype) {
  const Natural bound = times(times(magnitude(a), magnitude(b)), static_cast<Natural>(a.shape(1)));
  const bool fits = bound <= most_of(dtype);
  if (!fits) say_risk("matmul", dtype);
  if (const auto work = exact_float(a, b, bound)) {
    const Array c = product_in(a, b, *work);
    return fits ? c.astype(dtype) : narrowed("matmul", c, dtype);
  }
  if (fits) return product_in(a, b, dtype);
  if (bound <= most_i64) return narrowed("matmul", product_in(a, b, DType::i64), dtype);
  if (dtype == DType::u64) return exact_matmul<U64>(a, b);
  return narrowed("matmul", exact_matmul<i64>(a, b), dtype);
}

Array checked_elementwise(MatrixOp op, const Array& a, const Array& b, DType dtype) {
  if (op == MatrixOp::power && is_signed_int(b.dtype()) && b.size() > 0)
    require<ArgumentError>(extreme(ReduceOp::min, b).as<i64>() >= 0,
                           "power: Integers to negative integer powers are not allowed; convert an "
                           "operand to a float with astype()");
  if (settled(op, a, b, dtype)) return applied(op, a, b, dtype);
  if (dtype == DType::u64) return exact_elementwise<U64>(op, a, b, dtype);
  if (dtype == DType::i64) return exact_elementwise<i64>(op, a, b, dtype);
  if (op == MatrixOp::power)
    return narrowed(name(op), exact_elementwise<i64>(op, a, b, dtype), dtype);
  const bool long_product = dtype == DType::u32 && op == MatrixOp::multiply;
  return narrowed(name(op), applied(op, a, b, long_product ? DType::u64 : DType::i64), dtype);
}

Value checked_sum(const Array& x) {
  const bool natural = is_unsigned_int(x.dtype());
  const Natural bound = times(magnitude(x), static_cast<Natural>(x.size()));
  if (bound <= (natural ? most_u64 : most_i64)) return reduce(ReduceOp::sum, x).item();
  const auto exact = [&]<class T>() {
    const Array in = x.to(cpu).astype(dtype_of<T>).contiguous();
    const Array ones_like = ones({x.size()}, dtype_of<T>);
    T sum = 0;
    require<OverflowError>(exact_dot(in.host<T>(), ones_like.host<T>(), x.size(), &sum),
                           "sum: the sum of ", x.size(), " elements does not fit ",
                           name(dtype_of<T>));
    return Value(sum);
  };
  return natural ? exact.template operator()<U64>() : exact.template operator()<i64>();
}

}  // namespace tessera
