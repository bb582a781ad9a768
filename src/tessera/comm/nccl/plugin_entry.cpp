// SPDX-License-Identifier: Apache-2.0
// The lane that libtessera looks for in the CUDA plug-in. What nccl_lane.hpp says of NCCL is
// compared with its header where there is one; no function of it is linked.
#include "tessera/comm/nccl/nccl_lane.hpp"
#include "tessera/device/cuda/check.hpp"

#if __has_include(<nccl.h>)
#include <nccl.h>
static_assert(sizeof(ncclUniqueId) == sizeof(tessera::nccl::UniqueId));
static_assert(static_cast<int>(ncclSuccess) == tessera::nccl::success);
static_assert(static_cast<int>(ncclUint8) == tessera::nccl::byte_type);
static_assert(sizeof(ncclResult_t) == sizeof(int) && sizeof(ncclDataType_t) == sizeof(int));
#endif

namespace {

using namespace tessera;

std::string gpu_name(int index) {
  char text[64] = {};
  if (cudaDeviceGetPCIBusId(text, sizeof text, gpu_of(index)) == cudaSuccess) return text;
  cudaGetLastError();
  return {};
}

std::unique_ptr<DeviceLane> lane(Transport& transport, Device device) {
  const int index = device.index;
  return nccl::nccl_lane(
      transport, device, "libnccl.so.2",
      {gpu_name(index),
       [index]() -> std::shared_ptr<void> { return std::make_shared<DeviceGuard>(index); },
       [index](Device d) { return gpu_of(d.index) == gpu_of(index); }});
}

}  // namespace

extern "C" TESSERA_API const tessera::LanePlugin* tessera_lane_plugin() {
  static const std::string tag = tessera::lane_abi_tag();
  static const tessera::LanePlugin plugin{tag.c_str(), lane};
  return &plugin;
}
