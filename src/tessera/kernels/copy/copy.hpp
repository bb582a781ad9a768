// SPDX-License-Identifier: Apache-2.0
#pragma once
// Making and moving arrays: factories, conversion, transfers between devices, joining. The members
// of Array that copy (to, astype, contiguous, copy, fill, copy_from, item) are defined here.
//   Array x = zeros({3, 4}, DType::f32, device);   Array y = concatenate(parts, 0);

#include <optional>

#include "tessera/array/array.hpp"

namespace tessera {

// OverflowError "Python integer 300 out of bounds for int8"; every other number fits every dtype.
TESSERA_API void require_fits(const Value& v, DType dtype);

// As Array::empty, and always row-major without gaps, whatever config().noncontiguous says.
TESSERA_API Array empty_dense(const Shape& shape, DType dtype, Device device = cpu);
TESSERA_API Array full(const Shape& shape, const Value& v, DType dtype, Device device = cpu);
TESSERA_API Array zeros(const Shape& shape, DType dtype, Device device = cpu);
TESSERA_API Array ones(const Shape& shape, DType dtype, Device device = cpu);
TESSERA_API Array arange(const Value& start, const Value& stop, const Value& step, DType dtype,
                         Device device = cpu);
TESSERA_API Array linspace(double start, double stop, i64 n, DType dtype, Device device = cpu);
// Elements first, first + 1, … of the same, `count` of them: bit for bit those of the whole.
TESSERA_API i64 arange_length(const Value& start, const Value& stop, const Value& step);
TESSERA_API Array arange_part(const Value& start, const Value& stop, const Value& step, i64 first,
                              i64 count, DType dtype, Device device = cpu);
TESSERA_API Array linspace_part(double start, double stop, i64 n, i64 first, i64 count, DType dtype,
                                Device device = cpu);
TESSERA_API Array eye(i64 rows, i64 columns, i64 diagonal, DType dtype, Device device = cpu);
TESSERA_API Array concatenate(std::span<const Array> arrays, i64 axis);
TESSERA_API Array stack(std::span<const Array> arrays, i64 axis);
// No axes: over the flattened array. One shift for all axes, or one each.
TESSERA_API Array roll(const Array& x, const Shape& shifts, const Shape& axes);
TESSERA_API Array flip(const Array& x, const Shape& axes);  // a view

}  // namespace tessera
