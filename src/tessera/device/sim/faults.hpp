// SPDX-License-Identifier: Apache-2.0
#pragma once
// Failures of the sim devices at will, for tests of everything that stands on devices. Each stays
// until restore(), which also clears the failures that stick to the streams of that device.
//   sim::lose_device(1);   EXPECT_THROW(Stream::home(Device::parse("sim:1")).sync(), DeviceError);

#include "tessera/base/api.hpp"

namespace tessera::sim {

// After n more requests for raw memory (pool hits are none), each further one is OutOfMemory.
TESSERA_API void fail_allocation_after(int index, i64 n);
// After n more launches have run, the next one fails with a DeviceError, which sticks to its
// stream.
TESSERA_API void fail_task_after(int index, i64 n);
// After n more operations were captured for graphs, each further one is a DeviceError; what is not
// captured goes on.
TESSERA_API void fail_capture_after(int index, i64 n);
// No peer access between the device and any other: plans go through the host.
TESSERA_API void isolate(int index);
// Work that is queued is dropped, every later use is a DeviceError; nothing hangs. Memory can be
// freed.
TESSERA_API void lose_device(int index);
TESSERA_API void restore(int index);

}  // namespace tessera::sim
