// SPDX-License-Identifier: Apache-2.0
#pragma once
// A matrix that cannot be treated: singular, not positive definite, without convergence. In Python
// also a ValueError, as NumPy's is, and a RuntimeError.
//   throw LinAlgError("inverse: Singular matrix: zero pivot 2");

#include "tessera/base/error.hpp"

namespace tessera {

struct TESSERA_API LinAlgError : ArgumentError {
  using ArgumentError::ArgumentError;
};

}  // namespace tessera
