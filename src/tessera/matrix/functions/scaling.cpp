// SPDX-License-Identifier: Apache-2.0
#include "tessera/matrix/functions/scaling.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/reduce/reduce.hpp"

namespace tessera {
namespace {

__extension__ using Wide = __int128;

struct Range {
  Wide low = 0, high = 0;
  bool holds(Wide v) const { return low <= v && v <= high; }
};

Range range_of(DType t) {
  Range r;
  dispatch<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
           std::uint32_t, std::uint64_t>(t, "range", [&]<class T>() {
    r = {std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
  });
  return r;
}

Wide wide_of(const Value& v) {
  return v.kind() == Value::Kind::natural ? Wide{v.as<std::uint64_t>()} : Wide{v.as<i64>()};
}

std::optional<Value> value_of(Wide v) {
  if (range_of(DType::i64).holds(v)) return Value(static_cast<i64>(v));
  if (range_of(DType::u64).holds(v)) return Value(static_cast<std::uint64_t>(v));
  return {};
}

int kind_rank(DType t) { return t == DType::b1 ? 0 : is_integer(t) ? 1 : is_float(t) ? 2 : 3; }

void require_range(const Array& x, Range allowed, std::string_view what, DType dtype) {
  if (x.size() == 0) return;
  const Value least = reduce(ReduceOp::min, x).item(), most = reduce(ReduceOp::max, x).item();
  require<OverflowError>(allowed.holds(wide_of(least)) && allowed.holds(wide_of(most)), what,
                         ": elements from ", least.str(), " to ", most.str(), " do not fit ",
                         name(dtype), "; convert the matrix with astype()");
}

Array integers_times(const Array& x, const Value& by, bool both_signs) {
  const DType dtype = x.dtype();
  const Wide s = wide_of(by);
  if (s == 0) return zeros(x.shape(), dtype, x.device());
  const Range all = range_of(dtype);
  Range allowed{(s > 0 ? all.low : all.high) / s, (s > 0 ? all.high : all.low) / s};
  if (both_signs) {
    const Wide most = std::min(-allowed.low, allowed.high);
    allowed = {-most, most};
  }
  if (s != 1 || both_signs) require_range(x, allowed, cat("times ", by.str()), dtype);
  if (s == 1) return x;
  if (all.holds(s)) return ops::multiply(x, by);
  // A factor beyond the dtype: few elements have a product in it, in unsigned ones zero alone.
  if (all.low < 0 && range_of(DType::i64).holds(s))
    return ops::multiply(x.astype(DType::i64), by).astype(dtype);
  return zeros(x.shape(), dtype, x.device());
}

}  // namespace

DType scaled_dtype(DType elements, const Value& by) {
  const DType own = by.dtype();
  if (kind_rank(own) <= kind_rank(elements)) return elements;
  return is_complex(own) && is_inexact(elements) ? complex_of(elements) : own;
}

std::optional<Value> product_of(const Value& a, const Value& b) {
  if (a.is_integer() && b.is_integer()) return value_of(wide_of(a) * wide_of(b));
  if (a.kind() != Value::Kind::complex && b.kind() != Value::Kind::complex)
    return Value(a.as<double>() * b.as<double>());
  return Value(std::complex<double>(a.as<c128>()) * std::complex<double>(b.as<c128>()));
}

bool is_number(const Value& v, double number) {
  const c128 z = v.as<c128>();
  return z.re == number && z.im == 0;
}

bool is_integer_one(const Value& v) { return v.is_integer() && is_number(v, 1); }

bool is_finite(const Value& v) {
  const c128 z = v.as<c128>();
  return std::isfinite(z.re) && std::isfinite(z.im);
}

bool is_finite_in(const Value& v, DType t) {
  // Half a unit above the largest number of each.
  const double limit = !is_inexact(t) || size_of(real_of(t)) == 8
                           ? std::numeric_limits<double>::infinity()
                       : t == DType::f16  ? 65520
                       : t == DType::bf16 ? 0x1.FFp127
                                          : 0x1.FFFFFFp127;
  const c128 z = v.as<c128>();
  return is_finite(v) && std::abs(z.re) < limit && std::abs(z.im) < limit;
}

Array times_checked(const Array& x, const Value& by, bool both_signs) {
  const Array y = x.astype(scaled_dtype(x.dtype(), by));
  if (is_integer(y.dtype())) return integers_times(y, by, both_signs);
  if (is_integer_one(by)) return y;
  return ops::multiply(y, by);
}

Array cast_checked(const Array& x, DType dtype) {
  const DType from = x.dtype();
  if (from == dtype) return x;
  require<DTypeError>(!is_complex(from) || is_complex(dtype) || dtype == DType::b1,
                      "astype: ", name(from), " to ", name(dtype),
                      " would lose the imaginary parts");
  if (is_integer(dtype) && is_integer(from)) {
    const Range inner = range_of(from), outer = range_of(dtype);
    if (!outer.holds(inner.low) || !outer.holds(inner.high))
      require_range(x, outer, "astype", dtype);
  } else if (is_integer(dtype) && is_float(from) && x.size() > 0) {
    const Range r = range_of(dtype);
    const double least = reduce(ReduceOp::min, x).item().as<double>(),
                 most = reduce(ReduceOp::max, x).item().as<double>();
    require<OverflowError>(
        least > static_cast<double>(r.low) - 1 && most < static_cast<double>(r.high) + 1,
        "astype: elements from ", least, " to ", most, " do not fit ", name(dtype));
  }
  return x.astype(dtype);
}

}  // namespace tessera
