// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/error.hpp"

namespace tessera {

#define TESSERA_ERROR(Name) template void throw_with<Name>(TextParts);
TESSERA_ERRORS(TESSERA_ERROR)
#undef TESSERA_ERROR

}  // namespace tessera
