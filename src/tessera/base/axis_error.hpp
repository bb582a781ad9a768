// SPDX-License-Identifier: Apache-2.0
#pragma once
// An axis that an array does not have: an IndexError, and in Python a ValueError too, as NumPy's
// AxisError is both. Keys that point outside an axis are plain IndexErrors.
//   require<AxisError>(axis < x.ndim(), "sort: axis ", axis, " is out of bounds for array of ...");

#include "tessera/base/error.hpp"

namespace tessera {

struct TESSERA_API AxisError : IndexError {
  using IndexError::IndexError;
};

}  // namespace tessera
