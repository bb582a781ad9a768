// SPDX-License-Identifier: Apache-2.0
#pragma once
// x[key] and x[key] = number for one index array of few elements on the host: neither an Index nor
// a plan is made. Fast lanes of the bindings; no array, or false, where a key is something else or
// does not fit: the general way says so.
//   if (Array y = read_few(x, key)) return y;

#include <span>

#include "tessera/array/array.hpp"

namespace tessera {

// Positions along the first axis, or truth values of x's shape.
TESSERA_API Array read_few(const Array& x, const Array& key);
// The same for positions that are no array of ours, of a key of the shape `lead`.
TESSERA_API Array read_few(const Array& x, std::span<const i64> at, const Shape& lead);
// Positions of a line that may be written; `one` is an element of x's dtype.
TESSERA_API bool write_few(const Array& x, const Array& key, const void* one);

}  // namespace tessera
