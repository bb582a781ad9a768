// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products of a few elements, of which the way to a kernel takes longer than the kernel: two full
// matrices of one float type on the host, nothing declared of them, are multiplied by loops at
// once. Private to matrix/ and its tests.
//   if (is_small_product(a, b) && where == cpu) return small_product(a, b);

#include "tessera/matrix/forms/any_matrix.hpp"

namespace tessera {

// Whether they are such.
TESSERA_API bool is_small_product(const AnyMatrix& a, const AnyMatrix& b);
TESSERA_API AnyMatrix small_product(const AnyMatrix& a, const AnyMatrix& b);

}  // namespace tessera
