// SPDX-License-Identifier: Apache-2.0
#pragma once
// Inner products of vectors and of the rows of two arrays: the commonest products that are none of
// matrices, without what finds out how to go about any other. Of few elements in a row, which one
// thread multiplies; float32 and float64, dense on the host.
//   if (Array y = row_dots("ij,ij->i", operands)) return y;

#include <span>
#include <string_view>

#include "tessera/array/array.hpp"

namespace tessera {

// Two arrays of one shape and dtype with the same subscripts, of which the result keeps the first
// ones; no array for all others.
Array row_dots(std::string_view subscripts, std::span<const Array> operands);

// Two vectors of one length and dtype: then dot_line writes their inner product, of that dtype.
TESSERA_API bool has_dot_line(const Array& a, const Array& b);
TESSERA_API void dot_line(const Array& a, const Array& b, void* sum);

}  // namespace tessera
