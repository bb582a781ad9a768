// SPDX-License-Identifier: Apache-2.0
#pragma once
// The convolution and the correlation of two vectors in host memory (NumPy's convolve and correlate)
// tap by tap, with sums that stay in registers. Every product is one of two numbers that are there:
// no zero meets an infinity.
//   if (Array y = convolve_lines(a, v, Overlap::full)) return y;

#include "tessera/array/array.hpp"

namespace tessera {

// Where the vectors overlap whole, as long as the longer one, or all of it.
enum class Overlap : std::uint8_t { valid, same, full };

// Vectors of any integers, float32, float64 or complex numbers, of which one has few elements, or
// both do; no array for all others.
TESSERA_API Array convolve_lines(const Array& a, const Array& v, Overlap overlap);
TESSERA_API Array correlate_lines(const Array& a, const Array& v, Overlap overlap);  // with conj(v)

}  // namespace tessera
