// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ranks as threads of this process, for tests: what distributed/ does over MPI runs here under a
// debugger and under ThreadSanitizer. A send waits for its receive, so that programs which rely on
// buffers of the network fail here. A rank that returns or throws while others wait for it ends
// their waits with a CommError, and so does a circle of ranks that wait for one another for some
// seconds. Not quick: one lock for all ranks.
//   run_ranks(3, [](Communicator comm) { comm.barrier(); });

#include <functional>

#include "tessera/comm/communicator.hpp"

namespace tessera {

// Calls body(comm) on `ranks` threads and returns when all have ended; then the exception that was
// thrown first, if any, is thrown again. Communicator::world() inside is still the process's own.
TESSERA_API void run_ranks(int ranks, const std::function<void(Communicator)>& body);

}  // namespace tessera
