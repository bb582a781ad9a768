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
// and is refused for them (ArgumentError). `consumer` is the native stream on which the tensor will
// be used, if any: what is enqueued there when the tensor is let go still finds its memory.
TESSERA_API DLManagedTensorVersioned* to_dlpack(const Array& x, void* consumer = nullptr);
TESSERA_API DLManagedTensor* to_dlpack_unversioned(const Array& x, void* consumer = nullptr);

// What the home stream of the device gets from now on waits for what that native stream, which may
// be of another library, has been given so far. Never throws: a stream that is no more has no work.
TESSERA_API void home_waits_for(Device device, void* stream) noexcept;

// Takes ownership: the deleter is called when the last array lets go, or before an error leaves
// this function. ArgumentError, DTypeError, ShapeError or DeviceError says what cannot be taken
// over.
TESSERA_API Array from_dlpack(DLManagedTensorVersioned* m);
TESSERA_API Array from_dlpack(DLManagedTensor* m);

}  // namespace tessera
