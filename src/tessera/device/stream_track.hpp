// SPDX-License-Identifier: Apache-2.0
#pragma once
// The name of a stream's track in a trace, from the handle that its device knows it by. For kinds
// of devices, which do not know the ids of streams; stream.cpp keeps them.
//   const Span span(label, stream_track(device, native));   // "sim:0 stream 3"

#include <string>

#include "tessera/device/device.hpp"

namespace tessera {

TESSERA_API std::string stream_track(Device device, const void* native);

}  // namespace tessera
