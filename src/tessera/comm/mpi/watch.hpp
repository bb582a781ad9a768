// SPDX-License-Identifier: Apache-2.0
#pragma once
// Watches over a call of MPI that blocks and cannot be polled (making a group, the end): a thread
// looks at the processes of the ranks and ends this process with a sentence when the call cannot
// return any more. Used only where nothing else is possible.
//   { Watch watch(world, members, "split"); MPI_Comm_split(...); }

#include <condition_variable>
#include <functional>
#include <mutex>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include "tessera/comm/mpi/world.hpp"

namespace tessera::mpi {

// Why a rank will not answer: "its process 12 has ended"; empty while it may. Stopped processes
// are given some seconds; `stopped_since` is the caller's, one per rank, in seconds, 0 at first.
std::string why_silent(World& world, int rank, double& stopped_since);
double seconds_now();

class Watch {
 public:
  // `limit`: seconds after which the process ends in any case; 0: none.
  Watch(World& world, std::span<const int> ranks, std::string_view what, double limit = 0);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  void look(World& world, const std::string& what, double limit);
  std::vector<int> ranks_;
  std::mutex mutex_;
  std::condition_variable signal_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace tessera::mpi
