// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a kind of device enters the process from a shared library of its own: one exported function,
// whose answer carries a tag of the build. A library of another build is refused, since classes are
// shared across the border. Loading never ends the process: what goes wrong is a sentence.
//   extern "C" TESSERA_API const tessera::Plugin* tessera_plugin() { return &plugin; }   // in the
//   plug-in

#include <string>
#include <string_view>

#include "tessera/base/error.hpp"
#include "tessera/base/plugin_file.hpp"
#include "tessera/device/compute_device.hpp"

namespace tessera {

struct Plugin {
  const char* abi_tag;    // abi_tag(), as compiled into the plug-in
  ComputeDevice* device;  // never destroyed; null when the plug-in cannot serve this machine
  const char* problem;  // then the sentence that says why ("the CUDA driver is missing"), else null
};
using PluginEntry = const Plugin* (*)();
inline constexpr const char* plugin_symbol = "tessera_plugin";

// What both sides must agree on: the build and the sizes of shared types. Inline and static, so
// that each side compiles its own.
[[maybe_unused]] static std::string abi_tag() {
  return cat(build_tag(), ", sizes ", sizeof(Launch), " ", sizeof(Task), " ", sizeof(DeviceInfo),
             " ", sizeof(Device), " ", sizeof(std::string), " ", sizeof(Plugin));
}

struct LoadedPlugin {
  ComputeDevice* device = nullptr;
  std::string problem;  // a sentence where device is null
};
// Opens the library at `path`; `kind` is what its device must be.
TESSERA_API LoadedPlugin load_plugin(const std::string& path, Kind kind);
// Looks for libtessera_<kind>.so in TESSERA_PLUGIN_PATH (folders, separated by colons), then beside
// this library, and loads the first that is there.
TESSERA_API LoadedPlugin find_plugin(Kind kind);

}  // namespace tessera
