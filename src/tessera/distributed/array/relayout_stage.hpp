// SPDX-License-Identifier: Apache-2.0
#pragma once
// The wire side of relayout: parts of arrays that go to and come from other ranks. On the host they
// are handed over as they lie; from other devices they go piece by piece, through a lane of the
// devices where there is one, else through pinned memory, so that what is packed or staged stays
// small whatever is moved.
//   exchange_parts({{1, x.slice(0, 0, 3)}}, {{1, y.slice(0, 3, 6)}}, comm.lane(device), comm);

#include <span>

#include "tessera/array/array.hpp"
#include "tessera/comm/communicator.hpp"
#include "tessera/comm/device_lane.hpp"

namespace tessera::dist {

struct TravelPart {
  int rank = 0;
  Array block;  // any strides
};

// At most one part per rank and direction. Both sides of a message agree on the shape of the part,
// and on whether it lies in host memory or not. All parts of a rank are on one device; `lane` is
// what comm.lane() says of it, asked on all ranks, while here only those come that have parts.
void exchange_parts(std::span<const TravelPart> sends, std::span<const TravelPart> receives,
                    const DeviceLane* lane, const Communicator& comm);

// The whole array on every rank, from the one that has it; there it is the array itself.
Array broadcast_whole(const Array& there, const Shape& shape, DType dtype, Device device, int owner,
                      const Communicator& comm);

}  // namespace tessera::dist
