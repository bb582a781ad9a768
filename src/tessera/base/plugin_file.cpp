// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/plugin_file.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace tessera {
namespace {

// The shared library that this is part of, or the program that carries it.
std::string file_of_this_code() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&find_plugin_file), &info) == 0 || info.dli_fname == nullptr)
    return "";
  return info.dli_fname;
}

std::string folder_of_this_library() {
  const std::string path = file_of_this_code();
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

bool is_shared_library() {
  const std::string path = file_of_this_code();
  return path.substr(path.rfind('/') + 1).starts_with("libtessera");
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

}  // namespace

PluginFile find_plugin_file(const std::string& file) {
  PluginFile found{"", folders()};
  for (const std::string& folder : found.looked) {
    const std::string path = cat(folder, "/", file);
    if (access(path.c_str(), F_OK) != 0) continue;
    found.path = path;
    break;
  }
  return found;
}

PluginSymbol open_plugin(const std::string& path, const char* symbol) {
  // Plug-ins stand on libtessera.so: beside a library that a program carries that would be a second
  // one.
  if (!is_shared_library())
    return {nullptr, cat("the plug-in '", path,
                         "' needs libtessera.so, and this program was linked with libtessera.a")};
  dlerror();
  // Local: two plug-ins may carry the same symbols. Never closed: its code may be running.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* reason = dlerror();
    return {nullptr, cat("the plug-in '", path, "' cannot be loaded (",
                         reason ? reason : "no reason given", ")")};
  }
  void* address = dlsym(library, symbol);
  if (!address)
    return {nullptr, cat("'", path, "' is not a plug-in of tessera: it has no function ", symbol)};
  return {address, ""};
}

std::string other_build(const std::string& path, const std::string& theirs,
                        const std::string& ours) {
  return cat("the plug-in '", path, "' is of another build: it is [", theirs,
             "], this library is [", ours, "]; build both together");
}

}  // namespace tessera
