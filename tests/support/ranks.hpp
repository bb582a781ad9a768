// SPDX-License-Identifier: Apache-2.0
#pragma once
// One test body, any ranks: over threads of this process for each number of ranks, or, when mpirun
// started the program, over MPI with as many ranks as it has. An exception of a rank under MPI ends
// its process: the others are in the middle of the test and must not go on to the next one.
//   on_ranks([](Communicator comm) { EXPECT_LT(comm.rank(), comm.size()); });

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <sstream>
#include <vector>

#include "tessera/comm/thread.hpp"

namespace tessera {

inline bool over_mpi() { return !Communicator::world().alone(); }

// What all ranks have sent since `before`, this rank's traffic then.
inline i64 bytes_of_all(const Communicator& comm, const Traffic& before) {
  i64 bytes = (comm.traffic() - before).bytes;
  comm.allreduce(&bytes, 1, DType::i64, Combine::sum);
  return bytes;
}

inline void on_ranks(const std::vector<int>& sizes, const std::function<void(Communicator)>& body) {
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
// TESSERA_TEST_RANKS (1,3 say) names fewer where all is slow, on a GPU or under sanitizers: who
// holds what is settled on the host and does not depend on either.
inline void on_ranks(const std::function<void(Communicator)>& body) {
  std::vector<int> sizes;
  const char* wanted = std::getenv("TESSERA_TEST_RANKS");
  for (std::istringstream list(wanted ? wanted : "1,2,3,4,7"); list.good(); list.ignore())
    if (int p = 0; list >> p) sizes.push_back(p);
  on_ranks(sizes, body);
}

}  // namespace tessera
