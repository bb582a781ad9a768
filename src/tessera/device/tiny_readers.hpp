// SPDX-License-Identifier: Apache-2.0
#pragma once
// For those who write over the bytes of a scalar that nobody holds any more, instead of asking for
// new ones: while this is false, no stream can still read them.
//   if (!tiny_storages_had_readers()) reuse(scalar);

#include "tessera/base/api.hpp"

namespace tessera {

// Whether work of another device was ever given a storage of a few bytes of the host.
TESSERA_API bool tiny_storages_had_readers();

}  // namespace tessera
