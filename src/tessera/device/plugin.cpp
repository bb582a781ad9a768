// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/plugin.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

namespace tessera {
namespace {

std::string folder_of_this_library() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&find_plugin), &info) == 0 || info.dli_fname == nullptr)
    return ".";
  const std::string path = info.dli_fname;
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::vector<std::string> folders() {
  std::vector<std::string> found;
  if (const char* text = std::getenv("TESSERA_PLUGIN_PATH")) {
    std::string_view rest = text;
    while (!rest.empty()) {
      const std::size_t colon = std::min(rest.find(':'), rest.size());
      if (colon > 0) found.emplace_back(rest.substr(0, colon));
      rest.remove_prefix(std::min(colon + 1, rest.size()));
    }
  }
  found.push_back(folder_of_this_library());
  return found;
}

std::string text_or(const char* text, const char* otherwise) { return text ? text : otherwise; }

}  // namespace

LoadedPlugin load_plugin(const std::string& path, Kind kind) {
  const auto refuse = [&](const auto&... parts) {
    return LoadedPlugin{nullptr, cat(name(kind), ": ", parts...)};
  };
  dlerror();
  // Local: two plug-ins may carry the same symbols. Never closed: its code may be running.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return refuse("the plug-in '", path, "' cannot be loaded (",
                  text_or(dlerror(), "no reason given"), ")");
  const auto entry = reinterpret_cast<PluginEntry>(dlsym(library, plugin_symbol));
  if (!entry)
    return refuse("'", path, "' is not a plug-in of tessera: it has no function ", plugin_symbol);
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
  if (plugin->abi_tag != abi_tag())
    return refuse("the plug-in '", path, "' is of another build: it is [", plugin->abi_tag,
                  "], this library is [", abi_tag(), "]; build both together");
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
  std::vector<std::string> looked = folders();
  for (const std::string& folder : looked) {
    const std::string path = cat(folder, "/", file);
    if (access(path.c_str(), F_OK) == 0) return load_plugin(path, kind);
  }
  return {nullptr,
          cat(name(kind), ": no plug-in ", file, " in ", join(looked, ", "),
              "; build it with -DTESSERA_CUDA=ON or point TESSERA_PLUGIN_PATH at its folder")};
}

}  // namespace tessera
