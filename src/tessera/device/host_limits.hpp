// SPDX-License-Identifier: Apache-2.0
#pragma once
// What this process may use of the host: cores (affinity mask, cgroup quota, OMP_NUM_THREADS) and
// memory. Reads the operating system each time; callers keep the answer. Whoever takes memory of
// the host says so here before touching it, so that more than there is becomes an error.
//   int n = cores_allowed();   i64 ram = host_memory_total();   claim_host_memory("cpu", bytes);

#include <optional>
#include <string>
#include <string_view>

#include "tessera/base/api.hpp"

namespace tessera {

// Cores of the affinity mask, cut by the cgroup quota (rounded up); at least 1.
TESSERA_API int cores_allowed();
// cores_allowed(), cut by OMP_NUM_THREADS where that is a number (of a list, the first).
TESSERA_API int default_threads();
// Processes of one parallel program on this machine, as its launcher says (Open MPI, MPICH, Intel
// MPI); 1 where there is none. They share the memory that each of them sees as left.
TESSERA_API int processes_here();
// The cpu quota of this process's cgroup (version 1 or 2) below `root`, the tightest of its
// parents; nothing where there is none. `root` is "" except in tests.
TESSERA_API std::optional<double> cgroup_cpus(const std::string& root);
// Bytes of memory: the machine's, cut by the cgroup limit (version 1 or 2, the tightest of the
// parents; memory.high as well, beyond which a group is slowed down until it gives memory back) and
// by RLIMIT_AS. Files are read below `root`, "" except in tests.
TESSERA_API i64 host_memory_total(const std::string& root = "");
// Of them, what can be had now without swapping: MemAvailable, cut by what the cgroup and each of
// its parents have left and by the addresses that RLIMIT_AS leaves; files that are only kept in
// memory to be quick count as free.
TESSERA_API i64 host_memory_available(const std::string& root = "");

// Requests from this size on are compared with what the machine has left, each by itself.
inline constexpr i64 large_request = i64{64} << 20;
// Before raw memory of the host is taken: OutOfMemory when there is not as much left, less what was
// claimed before and nobody has touched yet. Smaller requests are compared when they have come to
// large_request together. `who` is the device that speaks.
TESSERA_API void claim_host_memory(std::string_view who, i64 bytes);
TESSERA_API void unclaim_host_memory(i64 bytes) noexcept;  // it was given back, or not taken
// The same question about memory that is not claimed: that of lists and tables.
TESSERA_API void check_host_memory(std::string_view who, i64 bytes);

}  // namespace tessera
