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

#define TESSERA_ERRORS(ERROR)                                                           \
  ERROR(ArgumentError) /* a value that no array could repair: ValueError */             \
  ERROR(ShapeError)    /* ValueError */                                                 \
  ERROR(DimError)      /* ValueError */                                                 \
  ERROR(DTypeError)    /* TypeError */                                                  \
  ERROR(OverflowError) /* OverflowError: a Python integer that its dtype cannot hold */ \
  ERROR(IndexError)    /* IndexError */                                                 \
  ERROR(DeviceError)   /* RuntimeError */                                               \
  ERROR(OutOfMemory)   /* MemoryError */                                                \
  ERROR(SplitError)    /* ValueError */                                                 \
  ERROR(NotAvailable)  /* RuntimeError */                                               \
  ERROR(PlanError)     /* RuntimeError */                                               \
  ERROR(CommError)     /* RuntimeError */                                               \
  ERROR(IoError)       /* OSError */                                                    \
  ERROR(BackendError)  /* RuntimeError */

#define TESSERA_ERROR(Name)         \
  struct TESSERA_API Name : Error { \
    using Error::Error;             \
  };
TESSERA_ERRORS(TESSERA_ERROR)
#undef TESSERA_ERROR

template <class E>
[[noreturn, gnu::cold, gnu::noinline]] void throw_with(TextParts parts) {
  throw E(text_of_parts(parts));
}
#define TESSERA_ERROR(Name) extern template TESSERA_API void throw_with<Name>(TextParts);
TESSERA_ERRORS(TESSERA_ERROR)
#undef TESSERA_ERROR

// Throws E with the parts joined when `ok` is false; nothing is formatted otherwise.
template <std::derived_from<Error> E, class... Parts>
inline void require(bool ok, const Parts&... parts) {
  if (!ok) [[unlikely]]
    throw_with<E>({text_part(parts)...});
}

}  // namespace tessera
