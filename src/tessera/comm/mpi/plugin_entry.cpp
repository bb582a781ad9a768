// SPDX-License-Identifier: Apache-2.0
// The one function that libtessera looks for in this library.
#include "tessera/comm/mpi/mpi_transport.hpp"
#include "tessera/comm/plugin.hpp"

extern "C" TESSERA_API const tessera::CommPlugin* tessera_comm_plugin() {
  static const std::string tag = tessera::comm_abi_tag();
  static const tessera::CommPlugin plugin{tag.c_str(),
                                          []() -> tessera::Transport* {
                                            using namespace tessera::mpi;
                                            return new MpiTransport(World::start());
                                          },
                                          [] { tessera::mpi::World::start().finish(); }};
  return &plugin;
}
