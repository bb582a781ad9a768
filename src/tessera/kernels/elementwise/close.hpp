// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which elements of two arrays differ by at most atol + rtol abs(b), and whether all do, in one pass
// over memory (NumPy's isclose and allclose).
//   if (const Array near = close_dense(a, b, {})) return near;

#include <optional>

#include "tessera/array/array.hpp"

namespace tessera {

struct Closeness {
  double rtol = 1e-5, atol = 1e-8;
  bool equal_nan = false;
};

// Arrays of one dtype, float32 or float64, and of one shape on the host; nothing for all others.
TESSERA_API Array close_dense(const Array& a, const Array& b, const Closeness& how);
// Stops at the first part of the arrays where one element is not.
TESSERA_API std::optional<bool> all_close_dense(const Array& a, const Array& b,
                                                const Closeness& how);

}  // namespace tessera
