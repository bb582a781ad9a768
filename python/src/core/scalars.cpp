// SPDX-License-Identifier: Apache-2.0
// One element at a time between Python numbers and memory, with NumPy's rules for what does not
// fit.
#include <cmath>
#include <cstring>
#include <limits>

#include "core/common.hpp"

namespace tessera::python {

namespace {

template <class T>
bool integer_fits(const Value& v) {
  if (v.kind() == Value::Kind::natural) {
    return v.as<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<T>::max());
  }
  const i64 i = v.as<i64>();
  if constexpr (std::is_unsigned_v<T>) {
    return i >= 0 && static_cast<std::uint64_t>(i) <= std::numeric_limits<T>::max();
  } else {
    return i >= std::numeric_limits<T>::min() && i <= std::numeric_limits<T>::max();
  }
}

// Both ends of the range are exact as doubles: 2^b and -2^(b-1) or 0.
template <class T>
bool whole_part_fits(double d) {
  const double end = std::ldexp(1.0, std::numeric_limits<T>::digits);
  return std::trunc(d) < end && std::trunc(d) >= (std::is_signed_v<T> ? -end : 0.0);
}

std::string whole_part(double d) {
  nb::object whole = nb::steal(PyLong_FromDouble(d));
  return nb::str(whole).c_str();
}

template <class T>
void check_integer(const Value& v) {
  if (v.kind() == Value::Kind::real) {
    const double d = v.as<double>();
    if (std::isnan(d)) raise(PyExc_ValueError, "cannot convert float NaN to integer");
    require<OverflowError>(!std::isinf(d), "cannot convert float infinity to integer");
    require<OverflowError>(whole_part_fits<T>(d), "Python integer ", whole_part(d),
                           " out of bounds for ", name(dtype_of<T>));
  } else {
    require<OverflowError>(integer_fits<T>(v), "Python integer ", v, " out of bounds for ",
                           name(dtype_of<T>));
  }
}

template <class F>
void by_type(DType t, F&& f) {
  dispatch<TESSERA_ALL_TYPES>(t, "scalar", std::forward<F>(f));
}

template <class T>
T converted(const Value& v) {
  if constexpr (std::is_same_v<T, bool>) {
    if (v.kind() == Value::Kind::complex) {
      const c128 z = v.as<c128>();
      return z.re != 0 || z.im != 0;
    }
    return v.is_integer() ? v.as<i64>() != 0 : v.as<double>() != 0;
  } else if constexpr (std::is_integral_v<T>) {
    return v.as<T>();
  } else if constexpr (is_complex_v<T>) {
    return v.as<T>();
  } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return T(static_cast<float>(v.as<double>()));
  } else {
    return v.as<T>();
  }
}

}  // namespace

void check_fits(const Value& v, DType dtype) {
  if (v.kind() == Value::Kind::complex && !is_complex(dtype) && dtype != DType::b1) {
    raise(PyExc_TypeError,
          is_float(dtype)
              ? "float() argument must be a string or a real number, not 'complex'"
              : "int() argument must be a string, a bytes-like object or a real number, "
                "not 'complex'");
  }
  if (!is_integer(dtype)) return;
  by_type(dtype, [&]<class T>() {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) check_integer<T>(v);
  });
}

bool is_idle_bound(nb::handle bound, DType dtype, bool is_low) {
  if (!PyLong_Check(bound.ptr()) || !is_integer(dtype)) return false;
  bool idle = false;
  by_type(dtype, [&]<class T>() {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      using Limits = std::numeric_limits<T>;
      const nb::int_ end(is_low ? Limits::min() : Limits::max());
      const int found = PyObject_RichCompareBool(bound.ptr(), end.ptr(), is_low ? Py_LE : Py_GE);
      if (found < 0) throw nb::python_error();
      idle = found == 1;
    }
  });
  return idle;
}

void store(void* p, DType dtype, const Value& v) {
  check_fits(v, dtype);
  by_type(dtype, [&]<class T>() {
    const T x = converted<T>(v);
    std::memcpy(p, &x, sizeof(T));
  });
}

Value load(const void* p, DType dtype) {
  Value v;
  by_type(dtype, [&]<class T>() {
    T x;
    std::memcpy(static_cast<void*>(&x), p, sizeof(T));
    if constexpr (is_complex_v<T>) {
      v = Value(c128(x));
    } else if constexpr (std::is_same_v<T, bool>) {
      v = Value(x);
    } else if constexpr (std::is_same_v<T, std::uint64_t>) {
      v = Value(x);
    } else if constexpr (std::is_integral_v<T>) {
      v = Value(static_cast<i64>(x));
    } else {
      v = Value(static_cast<double>(static_cast<float>(x)));
      if constexpr (std::is_same_v<T, double>) v = Value(x);
    }
  });
  return v;
}

namespace {

PyObject* new_number(const Value& v) {
  switch (v.kind()) {
    case Value::Kind::boolean: return PyBool_FromLong(v.as<i64>() != 0);
    case Value::Kind::integer: return PyLong_FromLongLong(v.as<i64>());
    case Value::Kind::natural: return PyLong_FromUnsignedLongLong(v.as<std::uint64_t>());
    case Value::Kind::real: return PyFloat_FromDouble(v.as<double>());
    default: {
      const c128 z = v.as<c128>();
      return PyComplex_FromDoubles(z.re, z.im);
    }
  }
}

}  // namespace

PyObject* python_number(const Value& v) {
  PyObject* number = new_number(v);
  if (!number) throw nb::python_error();  // there is no memory for it
  return number;
}

PyObject* python_number(const void* p, DType dtype) { return python_number(load(p, dtype)); }

}  // namespace tessera::python
