// SPDX-License-Identifier: Apache-2.0
#pragma once
// An operator on several vectors at once, which lie one above the other: a matrix that is read once
// for all of them, where a method has more than one. Private to the folder.
//   if (const auto many = over_many(A, {64})) (*many)(x);   // x of shape (4, 64)

#include <optional>

#include "tessera/linop/core/linop.hpp"

namespace tessera {

// A with a leading axis that passes through, for vectors of `shape`: any operator whose names begin
// with "..." on both sides, and matrices of every form. Nothing for others, which take one vector
// at a time, and where the caller's own function is called without names: what it does along a
// leading axis is not known.
TESSERA_API std::optional<NamedLinop> over_many(const NamedLinop& a, const Shape& shape);

}  // namespace tessera
