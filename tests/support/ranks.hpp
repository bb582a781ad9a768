// SPDX-License-Identifier: Apache-2.0
#pragma once
// One test body, any ranks: over threads of this process for each number of ranks, or, when mpirun
// started the program, over MPI with as many ranks as it has. An exception of a rank under MPI ends
// its process: the others are in the middle of the test and must not go on to the next one.
//   on_ranks([](Communicator comm) { EXPECT_LT(comm.rank(), comm.size()); });

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <initializer_list>

#include "support/support.hpp"
#include "tessera/comm/thread.hpp"

namespace tessera {

inline bool over_mpi() { return !Communicator::world().alone(); }

inline void on_ranks(std::initializer_list<int> sizes,
                     const std::function<void(Communicator)>& body) {
  if (!over_mpi()) {
    for (const int p : sizes) run_ranks(p, body);
    return;
  }
  try {
    body(Communicator::world());
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", Communicator::world().str().c_str(), e.what());
    std::_Exit(1);
  }
}
// Who holds what is settled on the host and does not depend on the device, so a GPU, where every
// small kernel is a launch to wait for, is shown fewer numbers of ranks; TESSERA_TEST_FEWER_RANKS
// asks for few that leave some ranks without elements, where all is slow.
inline void on_ranks(const std::function<void(Communicator)>& body) {
  if (test_device().kind == Kind::cuda)
    on_ranks({1, 3}, body);
  else if (std::getenv("TESSERA_TEST_FEWER_RANKS"))
    on_ranks({3, 7}, body);
  else
    on_ranks({1, 2, 3, 4, 7}, body);
}

}  // namespace tessera
