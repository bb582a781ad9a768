// SPDX-License-Identifier: Apache-2.0
#pragma once
// One number of any dtype: immediates of kernels, fill values, scalar operands, items read back.
// Integers stay exact to 64 bits. Not an array of rank 0: those live on a device.
//   Value two(2.0);   Value z(c128(0, 1));   two.as<float>()

#include "tessera/base/dtype.hpp"

namespace tessera {

class Value {
 public:
  enum class Kind : std::uint8_t { boolean, integer, natural, real, complex };

  Value() : Value(0.0) {}
  Value(bool v) : kind_(Kind::boolean), integer_(v) {}
  Value(int v) : kind_(Kind::integer), integer_(v) {}
  Value(i64 v) : kind_(Kind::integer), integer_(v) {}
  Value(std::uint64_t v) : kind_(Kind::natural), integer_(static_cast<i64>(v)) {}
  Value(double v) : kind_(Kind::real), complex_{v, 0} {}
  Value(c128 v) : kind_(Kind::complex), complex_(v) {}
  Value(std::complex<double> v) : Value(c128(v)) {}

  Kind kind() const { return kind_; }
  bool is_integer() const { return kind_ <= Kind::natural; }

  template <class T>
  T as() const {
    if constexpr (is_complex_v<T>) {
      return kind_ == Kind::complex ? T(complex_) : T(as<double>());
    } else if (is_integer()) {
      if (kind_ == Kind::natural) return static_cast<T>(static_cast<std::uint64_t>(integer_));
      return static_cast<T>(integer_);
    } else if constexpr (std::is_same_v<T, bool>) {
      return complex_.re != 0 || complex_.im != 0;
    } else {
      return static_cast<T>(complex_.re);
    }
  }
  // The dtype that NumPy gives np.asarray(value): bool, int64, uint64, float64, complex128.
  DType dtype() const {
    constexpr DType of[] = {DType::b1, DType::i64, DType::u64, DType::f64, DType::c128};
    return of[static_cast<int>(kind_)];
  }
  std::string str() const;

 private:
  Kind kind_;
  i64 integer_ = 0;
  c128 complex_{0, 0};
};

inline std::string Value::str() const {
  switch (kind_) {
    case Kind::boolean: return integer_ ? "True" : "False";
    case Kind::integer: return to_text(integer_);
    case Kind::natural: return to_text(static_cast<std::uint64_t>(integer_));
    case Kind::real: return to_text(complex_.re);
    default: return cat("(", complex_.re, complex_.im < 0 ? "" : "+", complex_.im, "j)");
  }
}

}  // namespace tessera
