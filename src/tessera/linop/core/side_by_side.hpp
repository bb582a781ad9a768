// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arrays that are parts of one: for operators that join their tiles again without a copy.
//   if (const auto both = side_by_side(a, b, axis)) …

#include <optional>

#include "tessera/array/array.hpp"
#include "tessera/names/named_shape.hpp"

namespace tessera {

// The product of two factors, real where both are; whether two are the same.
TESSERA_API Value factor_product(const Value& a, const Value& b);
TESSERA_API bool same_value(const Value& a, const Value& b);
TESSERA_API bool same_view(const Array& a, const Array& b);
// The same names and not only ones that match.
TESSERA_API bool same_names(const NamedShape& a, const NamedShape& b);
// One view over both, b after a along an axis, when b begins where a ends. The stride of an axis of
// size 1 says nothing.
TESSERA_API std::optional<Array> side_by_side(const Array& a, const Array& b, i64 axis);

}  // namespace tessera
