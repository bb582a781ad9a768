// SPDX-License-Identifier: Apache-2.0
#pragma once
// How MPI enters the process: from libtessera_mpi.so, opened when the environment says that mpirun
// started us. A process of one rank never opens it. A library of another build is refused, since
// classes are shared across the border.
//   extern "C" TESSERA_API const tessera::CommPlugin* tessera_comm_plugin();   // in the plug-in

#include "tessera/base/plugin_file.hpp"
#include "tessera/comm/communicator.hpp"

namespace tessera {

struct CommPlugin {
  const char* abi_tag;  // comm_abi_tag(), as compiled into the plug-in
  // The transport of all ranks, made by the first call and the caller's; later calls are errors.
  Transport* (*world)();
  void (*end)();  // what MPI needs at the end of a process; nothing where it has been done
};
using CommPluginEntry = const CommPlugin* (*)();
inline constexpr const char* comm_plugin_symbol = "tessera_comm_plugin";

[[maybe_unused]] static std::string comm_abi_tag() {
  return cat(build_tag(), ", comm sizes ", sizeof(Transport), " ", sizeof(Block), " ",
             sizeof(Layout), " ", sizeof(CommPlugin));
}

// The number of ranks that a launcher started, as its variables say (OMPI_COMM_WORLD_SIZE,
// PMI_SIZE); 0: a launcher that does not tell (PMIX_RANK, PMI_RANK); 1: no launcher.
TESSERA_API int launched_ranks();
// NotAvailable with a sentence when there is no usable plug-in.
TESSERA_API std::unique_ptr<Transport> load_world(const std::string& file = "libtessera_mpi.so");

// Leaves the ranks in order and ends MPI where it was started here; nothing in a process that has no
// ranks. It happens at exit anyway, but then among the ends of all other libraries, in the order in which
// they were loaded: those that MPI stands on (drivers of devices, of networks) may have ended before. An
// interpreter calls it when its objects are gone and everything else is still there.
TESSERA_API void end_world();

}  // namespace tessera
