// SPDX-License-Identifier: Apache-2.0
#pragma once
// One dedicated stream per ordered pair of devices, made at the first use and shared by all plans:
// transfers in one direction take turns, the two directions and computing overlap. A stream on
// which work has failed is not handed out again: the pair gets a new one, so that a failure hurts
// the runs that were under way and no later one.
//   Stream s = transfer_stream(cpu, Device::parse("sim:0"));

#include "tessera/device/stream.hpp"

namespace tessera {

// Whose stream moves data between the two: the end that is not the host, and of two such the
// source. DeviceError for devices of different kinds, between which data goes through the host.
TESSERA_API Device transfer_owner(Device from, Device to);
// Safe from several threads. The home stream of the cpu when both are the host.
TESSERA_API Stream transfer_stream(Device from, Device to);
// Forgets all of them; plans that hold one keep it until they end.
TESSERA_API void clear_transfer_streams();

}  // namespace tessera
