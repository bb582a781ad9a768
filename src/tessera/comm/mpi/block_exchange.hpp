// SPDX-License-Identifier: Apache-2.0
#pragma once
// One exchange of blocks, from the first offer to the last byte. All blocks move a part at a time,
// each as far as it can without waiting; the one that stays on its rank does so while nothing else
// can.
//   exchange_blocks({world, comm, members, rank, operation}, nullptr, sends, receives);

#include "tessera/comm/device_lane.hpp"
#include "tessera/comm/mpi/world.hpp"

namespace tessera::mpi {

struct Group {
  World& world;
  MPI_Comm comm;
  std::span<const int> members;  // ranks in the world
  int rank;                      // this one's, in the group
  std::string_view operation;
};

// `stream`: the blocks are dense memory of its device, which only MPI may touch; null: host memory.
void exchange_blocks(const Group& group, const tessera::Stream* stream,
                     std::span<const Block> sends, std::span<const Block> receives);

}  // namespace tessera::mpi
