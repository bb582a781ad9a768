// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arrays to and from other libraries without a copy, by DLPack. The memory stays alive as long as
// either side holds it. Streams are the caller's concern: an exported array has no pending work
// that the host started before on its home stream once `storage().wait()` has been called; an
// imported one must be ready.
//   DLManagedTensorVersioned* m = to_dlpack(x);   Array y = from_dlpack(m);   // y owns m

#include "tessera/array/array.hpp"
#include "tessera/array/dlpack_abi.hpp"

namespace tessera {

// The device as DLPack numbers it. DeviceError for devices that it does not know (sim).
TESSERA_API DLDevice dlpack_device(const Array& x);

// The consumer calls `deleter` once. Read-only storages carry the flag; the older form has no flag
// and is refused for them (ArgumentError).
TESSERA_API DLManagedTensorVersioned* to_dlpack(const Array& x);
TESSERA_API DLManagedTensor* to_dlpack_unversioned(const Array& x);

// Takes ownership: the deleter is called when the last array lets go, or before an error leaves
// this function. ArgumentError, DTypeError, ShapeError or DeviceError says what cannot be taken
// over.
TESSERA_API Array from_dlpack(DLManagedTensorVersioned* m);
TESSERA_API Array from_dlpack(DLManagedTensor* m);

}  // namespace tessera
