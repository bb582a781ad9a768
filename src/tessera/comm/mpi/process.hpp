// SPDX-License-Identifier: Apache-2.0
#pragma once
// Processes of this machine, seen from outside: is the process of another rank still there, and
// does it run? Read from /proc, so that nobody has to answer.
//   if (health(peer.process) == Health::ended) ...

#include <cstdint>

#include "tessera/base/api.hpp"

namespace tessera::mpi {

struct Process {
  i64 id = 0;
  i64 started = 0;  // clock ticks since boot: an id that was given out again is another process
};
enum class Health : std::uint8_t { runs, stopped, ended };

Process this_process();
Health health(const Process& process);
// Equal for processes that can see each other's ids: machine, boot and namespace of ids.
std::uint64_t host_key();

}  // namespace tessera::mpi
