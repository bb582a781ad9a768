// SPDX-License-Identifier: Apache-2.0
#pragma once
// A lane over NCCL: one NCCL communicator per group of ranks. The library is opened at run time by
// the few functions that are needed, so that nothing is missed where there is none; what it is
// asked for is declared here, as NCCL 2 has it since 2.7, and the plug-in compares that with
// nccl.h. The file knows nothing of CUDA: tests put a stand-in in NCCL's place and run it on sim
// devices.
//   auto lane = nccl_lane(transport, device, "libnccl.so.2", place);   // nullptr: not here

#include "tessera/comm/device_lane.hpp"

namespace tessera::nccl {

struct UniqueId {
  char bytes[128];
};
using CommHandle = void*;
inline constexpr int success = 0, byte_type = 1;  // ncclSuccess, ncclUint8

// Where the memory of a device really is.
struct RankDevice {
  std::string gpu;  // of this machine, told from all others; empty: it cannot be said
  // While what it returns lives, the GPU is the one that NCCL's calls of this thread mean.
  std::function<std::shared_ptr<void>()> enter;
  // Whether a device is on that GPU as well.
  std::function<bool(Device)> here;
};

// Collective. nullptr on all ranks where one has no NCCL, or where two ranks share a GPU, which
// NCCL refuses.
TESSERA_API std::unique_ptr<DeviceLane> nccl_lane(Transport& transport, Device device,
                                                  const std::string& library, RankDevice place);

}  // namespace tessera::nccl
