// SPDX-License-Identifier: Apache-2.0
#include "tessera/comm/plugin.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>

namespace tessera {
namespace {

std::atomic<void (*)()> end_of_plugin = nullptr;

}  // namespace

int launched_ranks() {
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    if (const char* text = std::getenv(variable); text && *text)
      return std::max(1, static_cast<int>(std::strtol(text, nullptr, 10)));
  for (const char* variable : {"PMIX_RANK", "PMI_RANK"})
    if (const char* text = std::getenv(variable); text && *text) return 0;
  return 1;
}

std::unique_ptr<Transport> load_world(const std::string& file) {
  const PluginFile found = find_plugin_file(file);
  require<NotAvailable>(!found.path.empty(), "mpi: this process was started as one of ",
                        launched_ranks() > 0 ? to_text(launched_ranks()) : std::string("several"),
                        " ranks, but there is no plug-in ", file, " in ", join(found.looked),
                        "; build it where Open MPI is installed (apt-get install libopenmpi-dev) or"
                        " point TESSERA_PLUGIN_PATH at its folder");
  const PluginSymbol symbol = open_plugin(found.path, comm_plugin_symbol);
  require<NotAvailable>(symbol.address != nullptr, "mpi: ", symbol.problem);
  const CommPlugin* plugin = reinterpret_cast<CommPluginEntry>(symbol.address)();
  require<NotAvailable>(plugin && plugin->abi_tag, "mpi: the plug-in '", found.path,
                        "' gave no answer");
  // The tag first: with another build, nothing after it can be trusted to mean what it does here.
  require<NotAvailable>(plugin->abi_tag == comm_abi_tag(),
                        "mpi: ", other_build(found.path, plugin->abi_tag, comm_abi_tag()));
  std::unique_ptr<Transport> world(plugin->world());
  end_of_plugin = plugin->end;
  return world;
}

void end_world() {
  if (void (*const end)() = end_of_plugin.load()) end();
}

}  // namespace tessera
