// SPDX-License-Identifier: Apache-2.0
#pragma once
// What this process may use of the host: cores (affinity mask, cgroup quota, OMP_NUM_THREADS) and
// memory. Reads the operating system each time; callers keep the answer. Sets nothing.
//   int n = cores_allowed();   i64 ram = host_memory_total();

#include <optional>
#include <string>

#include "tessera/base/api.hpp"

namespace tessera {

// Cores of the affinity mask, cut by the cgroup quota (rounded up); at least 1.
TESSERA_API int cores_allowed();
// cores_allowed(), cut by OMP_NUM_THREADS where that is a number (of a list, the first).
TESSERA_API int default_threads();
// The cpu quota of this process's cgroup (version 1 or 2) below `root`, the tightest of its
// parents; nothing where there is none. `root` is "" except in tests.
TESSERA_API std::optional<double> cgroup_cpus(const std::string& root);
// Bytes of memory: the machine's, cut by the cgroup limit.
TESSERA_API i64 host_memory_total();
TESSERA_API i64 host_memory_available();

}  // namespace tessera
