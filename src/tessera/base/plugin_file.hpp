// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finding and opening the shared libraries that add something at run time: devices, MPI. Each
// exports one function, whose answer begins with a tag of its build; what the answer means is the
// business of the layer that asks. Nothing here throws: what goes wrong is a sentence.
//   PluginFile file = find_plugin_file("libtessera_mpi.so");
//   PluginSymbol entry = open_plugin(file.path, "tessera_comm_plugin");

#include <string>
#include <vector>

#include "tessera/base/text.hpp"

#ifndef TESSERA_VERSION
#define TESSERA_VERSION "unversioned"
#endif

namespace tessera {

// What any two libraries that share classes must agree on: version, compiler and standard library.
// Inline and static, so that each side compiles its own; layers add the sizes of what they share.
[[maybe_unused]] static std::string build_tag() {
  return cat("tessera ", TESSERA_VERSION, ", g++ ", __GNUC__, ", libstdc++ abi ",
             _GLIBCXX_USE_CXX11_ABI, "/", __GXX_ABI_VERSION);
}

struct PluginFile {
  std::string path;  // empty: in none of the folders
  std::vector<std::string>
      looked;  // TESSERA_PLUGIN_PATH (split at colons), then this library's own
};
TESSERA_API PluginFile find_plugin_file(const std::string& file);

struct PluginSymbol {
  void* address = nullptr;
  std::string problem;  // a sentence where the address is null
};
// Opens the library at `path`, for good, and looks up its one function.
TESSERA_API PluginSymbol open_plugin(const std::string& path, const char* symbol);
// "the plug-in 'x.so' is of another build: …": what is said where the tags differ.
TESSERA_API std::string other_build(const std::string& path, const std::string& theirs,
                                    const std::string& ours);

// Plug-ins that answer with a table of functions: a struct that begins with `const char* abi_tag`.
//   static const auto* p = new TablePlugin<T>(load_table<T>("libtessera_x.so", "tessera_x", tag(), "build it ..."));
template <class Table>
struct TablePlugin {
  const Table* table = nullptr;
  std::string problem;  // a sentence where there is no table
};
// `advice` says how one comes by the plug-in where it is in none of the folders.
template <class Table>
TablePlugin<Table> load_table(const std::string& file, const char* symbol, const std::string& tag,
                              const char* advice) {
  const PluginFile found = find_plugin_file(file);
  if (found.path.empty())
    return {nullptr, cat("there is no plug-in ", file, " in ", join(found.looked), "; ", advice)};
  const PluginSymbol entry = open_plugin(found.path, symbol);
  if (!entry.address) return {nullptr, entry.problem};
  const Table* table = reinterpret_cast<const Table* (*)()>(entry.address)();
  if (!table || !table->abi_tag)
    return {nullptr, cat("the plug-in '", found.path, "' gave no answer")};
  if (table->abi_tag != tag) return {nullptr, other_build(found.path, table->abi_tag, tag)};
  return {table, ""};
}

}  // namespace tessera
