// SPDX-License-Identifier: Apache-2.0
#pragma once
// Distributed arrays one after another, on top of each other, and cut into parts. NumPy's results,
// dtypes and errors. The result has the split of the first operand that has one. Along another axis
// than that, the operands are brought to the first one's distributed (those that lie alike send
// nothing) and joined where they are; along the split axis the result is balanced and each element
// moves once at most, straight to where it is wanted. Cutting gives views and sends nothing.
//   DNDarray z = dist::concatenate(std::array{x, y}, 0);   auto parts = dist::split(z, 3, 0);

#include <optional>
#include <span>
#include <vector>

#include "tessera/distributed/array/dnd_array.hpp"

namespace tessera::dist {

TESSERA_API DNDarray concatenate(std::span<const DNDarray> arrays, i64 axis = 0);
TESSERA_API DNDarray stack(std::span<const DNDarray> arrays, i64 axis = 0);
TESSERA_API DNDarray hstack(std::span<const DNDarray> arrays);
TESSERA_API DNDarray vstack(std::span<const DNDarray> arrays);
TESSERA_API DNDarray column_stack(std::span<const DNDarray> arrays);

// Parts of equal length, ArgumentError where the axis cannot be cut so ...
TESSERA_API std::vector<DNDarray> split(const DNDarray& x, i64 sections, i64 axis = 0);
// ... of lengths that differ by one at most ...
TESSERA_API std::vector<DNDarray> array_split(const DNDarray& x, i64 sections, i64 axis = 0);
// ... or cut before the given positions, which are clipped as Python's.
TESSERA_API std::vector<DNDarray> split(const DNDarray& x, const Shape& positions, i64 axis = 0);

}  // namespace tessera::dist
