// SPDX-License-Identifier: Apache-2.0
#pragma once
// The exceptions of the library. Every text is a sentence: who (operator, function), what was
// given, what was expected. In Python each class also derives from the built-in that a NumPy user
// would catch. Not for our own mistakes: those are `assert`s.
//   require<ShapeError>(x.ndim() == 2, "solve: expected a matrix, got an array of shape ",
//   x.shape());

#include <stdexcept>

#include "tessera/base/text.hpp"

namespace tessera {

struct TESSERA_API Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

#define TESSERA_ERROR(Name)         \
  struct TESSERA_API Name : Error { \
    using Error::Error;             \
  };
TESSERA_ERROR(ArgumentError)  // a value that no array could repair: ValueError
TESSERA_ERROR(ShapeError)     // ValueError
TESSERA_ERROR(DimError)       // ValueError
TESSERA_ERROR(DTypeError)     // TypeError
TESSERA_ERROR(OverflowError)  // OverflowError: a Python integer that its dtype cannot hold
TESSERA_ERROR(IndexError)     // IndexError
TESSERA_ERROR(DeviceError)    // RuntimeError
TESSERA_ERROR(OutOfMemory)    // MemoryError
TESSERA_ERROR(SplitError)     // ValueError
TESSERA_ERROR(NotAvailable)   // RuntimeError
TESSERA_ERROR(PlanError)      // RuntimeError
TESSERA_ERROR(CommError)      // RuntimeError
TESSERA_ERROR(IoError)        // OSError
TESSERA_ERROR(BackendError)   // RuntimeError
#undef TESSERA_ERROR

// Throws E with the parts joined when `ok` is false; nothing is formatted otherwise.
template <std::derived_from<Error> E, class... Parts>
inline void require(bool ok, const Parts&... parts) {
  if (!ok) [[unlikely]]
    throw E(cat(parts...));
}

}  // namespace tessera
