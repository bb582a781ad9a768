// SPDX-License-Identifier: Apache-2.0
#pragma once
// Elements times a number and elements in another dtype, for matrices: as arrays do it, but
// integers never wrap (OverflowError) and complex numbers never lose their imaginary part
// (DTypeError). Works where the array lies; reads back two numbers where integers have to be
// looked at.
//   Array y = times_checked(x, Value(3), scaled_dtype(x.dtype(), Value(3)));

#include <optional>

#include "tessera/array/array.hpp"

namespace tessera {

// Of elements times a number, as NumPy: the number adapts unless its kind is higher.
TESSERA_API DType scaled_dtype(DType elements, const Value& by);
// Integers exactly; nothing where 64 bits do not hold the product.
TESSERA_API std::optional<Value> product_of(const Value& a, const Value& b);
TESSERA_API bool is_number(const Value& v, double number);
// The factor that changes nothing: 1.0 makes floats of integers.
TESSERA_API bool is_integer_one(const Value& v);
TESSERA_API bool is_finite(const Value& v);
TESSERA_API bool is_finite_in(const Value& v, DType t);  // not infinite when it is rounded to t

// x times a number in scaled_dtype. `both_signs`: the negatives have to fit too.
TESSERA_API Array times_checked(const Array& x, const Value& by, bool both_signs = false);
// The array itself when it has that dtype.
TESSERA_API Array cast_checked(const Array& x, DType dtype);

}  // namespace tessera
