// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arrays as NumPy prints them: aligned columns, eight digits, "..." beyond a thousand elements.
// Only what is shown is copied off a device. There are no options: for other formats read the
// elements.
//   to_text(x)  ->  [[1. 2.]      repr(x)  ->  array([[1., 2.],
//                    [3. 4.]]                         [3., 4.]], dtype=float32, device='sim:0')

#include <string>
#include <vector>

#include "tessera/array/array.hpp"

namespace tessera {

TESSERA_API std::string to_text(const Array& x);
TESSERA_API std::string repr(const Array& x);

// For arrays that lie elsewhere: along each axis `shown` holds what is printed of an array of shape
// `whole`, all of it or the first and last print_edge entries.
inline constexpr i64 print_edge = 3;
TESSERA_API Shape printed_shape(const Shape& whole);
TESSERA_API std::string to_text(const Array& shown, const Shape& whole);

// The parts of it, for print.cpp: elements in row-major order as words of one width (x is on the
// host), and the shortest text of one element, as str() of a NumPy scalar.
std::vector<std::string> aligned_words(const Array& x);
std::string scalar_text(const Array& x);

}  // namespace tessera
