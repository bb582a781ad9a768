// SPDX-License-Identifier: Apache-2.0
#pragma once
// A way from the memory of a device to that of other ranks' devices that does not pass through the
// host: copies between ranks that are threads, NCCL (from the CUDA plug-in), an MPI that knows
// GPUs. Found by Communicator::lane(), which all ranks call; where there is none, what travels is
// staged. Not a class to derive from: a name and a function.
//   if (const DeviceLane* lane = comm.lane(device)) lane->exchange(stream, sends, receives);

#include <functional>
#include <memory>

#include "tessera/base/plugin_file.hpp"
#include "tessera/comm/transport.hpp"
#include "tessera/device/stream.hpp"

namespace tessera {

struct DeviceLane {
  std::string name;  // "threads", "nccl", "mpi"
  // As Transport::exchange, of dense blocks in the memory of the stream's device. Ordered on that
  // stream: what was enqueued before is done when the blocks are read or written, what is enqueued
  // afterwards finds them free to use. The host may or may not wait.
  std::function<void(const Stream& stream, std::span<const Block> sends,
                     std::span<const Block> receives)>
      exchange;
};

// Whether all ranks say yes. Collective.
TESSERA_API bool all_agree(Transport& transport, bool mine);
// Sends bytes of device memory to the neighbours and looks at what arrives from them: whether the
// lane does on all ranks what it says. Collective.
TESSERA_API bool lane_delivers(const DeviceLane& lane, Transport& transport, Device device);
// What stays on `rank`, enqueued.
TESSERA_API void copy_own_block(int rank, const Stream& stream, std::span<const Block> sends,
                                std::span<const Block> receives);

// What the plug-in of a kind of device may export beside the device: a lane of its own, for any
// transport. Collective; nullptr on all ranks or on none.
struct LanePlugin {
  const char* abi_tag;  // lane_abi_tag(), as compiled into the plug-in
  std::unique_ptr<DeviceLane> (*lane)(Transport& transport, Device device);
};
using LanePluginEntry = const LanePlugin* (*)();
inline constexpr const char* lane_plugin_symbol = "tessera_lane_plugin";

[[maybe_unused]] static std::string lane_abi_tag() {
  return cat(build_tag(), ", lane sizes ", sizeof(Transport), " ", sizeof(Block), " ",
             sizeof(Layout), " ", sizeof(DeviceLane), " ", sizeof(LanePlugin));
}

}  // namespace tessera
