// SPDX-License-Identifier: Apache-2.0
#pragma once
// Integers that never wrap: every result is exact, or OverflowError. A bound from the largest
// elements settles most cases in one pass over the operands; then products run through the float
// kernels where these are exact (sums below 2^53) and through the integer ones otherwise. What a
// bound does not settle is computed wide and looked at; 64-bit integers for that on the host, with
// sums of 192 bits. Operands are arrays of integers or bools on one device; so is the result.
//   Array c = checked_matmul(a, b, DType::i32);   // OverflowError where a sum does not fit

#include "tessera/array/array.hpp"
#include "tessera/compute/promotion.hpp"

namespace tessera {

// (m, k) times (k, n) in an integer dtype that holds the elements of both.
TESSERA_API Array checked_matmul(const Array& a, const Array& b, DType dtype);
// add, subtract, multiply or power, with broadcasting. ArgumentError for negative exponents.
TESSERA_API Array checked_elementwise(MatrixOp op, const Array& a, const Array& b, DType dtype);
// The sum of all elements: int64, or uint64 for unsigned ones.
TESSERA_API Value checked_sum(const Array& x);
// The largest |x|; 0 where there are no elements. Waits.
TESSERA_API std::uint64_t magnitude(const Array& x);

}  // namespace tessera
