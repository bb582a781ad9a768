// SPDX-License-Identifier: Apache-2.0
#pragma once
// Entries of an axis several times, one after the other.
//   Array y = repeat(x, {{2, 0, 1}}, 0);   // the first entry twice, the third once

#include <span>

#include "tessera/array/array.hpp"

namespace tessera {

// `times` has the length of the axis, and nothing negative.
TESSERA_API Array repeat(const Array& x, std::span<const i64> times, i64 axis);

}  // namespace tessera
