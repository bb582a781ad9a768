// SPDX-License-Identifier: Apache-2.0
#pragma once
// Entries of few dense elements on the host several times over, without a plan. A fast lane of the
// bindings; false for everything else, and for what is wrong: the general way says so.
//   if (Array y; repeat_few(x, times, axis, y)) return y;

#include <optional>

#include "tessera/array/array.hpp"

namespace tessera {

// One number for all entries along the axis, or one for each; no axis: of the flattened array.
TESSERA_API bool repeat_few(const Array& x, std::span<const i64> times, std::optional<i64> axis,
                            Array& out);

}  // namespace tessera
