// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/plugin.hpp"

namespace tessera {
namespace {

std::string text_or(const char* text, const char* otherwise) { return text ? text : otherwise; }

}  // namespace

LoadedPlugin load_plugin(const std::string& path, Kind kind) {
  const auto refuse = [&](const auto&... parts) {
    return LoadedPlugin{nullptr, cat(name(kind), ": ", parts...)};
  };
  const PluginSymbol symbol = open_plugin(path, plugin_symbol);
  if (!symbol.address) return refuse(symbol.problem);
  const auto entry = reinterpret_cast<PluginEntry>(symbol.address);
  const Plugin* plugin = nullptr;
  try {
    plugin = entry();
  } catch (const std::exception& e) {
    return refuse("the plug-in '", path, "' failed to start (", e.what(), ")");
  } catch (...) {
    return refuse("the plug-in '", path, "' failed to start");
  }
  if (!plugin || !plugin->abi_tag) return refuse("the plug-in '", path, "' gave no answer");
  // The tag first: with another build, nothing after it can be trusted to mean what it does here.
  if (plugin->abi_tag != abi_tag()) return refuse(other_build(path, plugin->abi_tag, abi_tag()));
  if (!plugin->device)
    return refuse(
        text_or(plugin->problem, "the plug-in found nothing that it can use on this machine"));
  if (plugin->device->kind() != kind)
    return refuse("the plug-in '", path, "' is for ", name(plugin->device->kind()), " devices");
  if (plugin->device->count() == 0)
    return refuse("the plug-in is there, but the machine has no such device");
  return {plugin->device, ""};
}

LoadedPlugin find_plugin(Kind kind) {
  const std::string file = cat("libtessera_", name(kind), ".so");
  const PluginFile found = find_plugin_file(file);
  if (!found.path.empty()) return load_plugin(found.path, kind);
  return {nullptr,
          cat(name(kind), ": no plug-in ", file, " in ", join(found.looked),
              "; build it with -DTESSERA_CUDA=ON or point TESSERA_PLUGIN_PATH at its folder")};
}

}  // namespace tessera
