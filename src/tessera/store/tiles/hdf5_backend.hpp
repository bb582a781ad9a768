// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the HDF5 plug-in (store/hdf5) offers: the functions of hdf5_store.hpp, which call it. One
// exported function; a library of another build is refused.
//   extern "C" TESSERA_API const tessera::store::Hdf5Backend* tessera_hdf5();

#include "tessera/base/plugin_file.hpp"
#include "tessera/store/tiles/hdf5_store.hpp"

namespace tessera::store {

struct Hdf5Backend {
  const char* abi_tag;
  std::shared_ptr<TileStore> (*open)(const std::string& path, const std::string& dataset,
                                     bool writable, const Hdf5StoreOptions& options);
  void (*create)(const std::string& path, const std::vector<Hdf5Dataset>& sets,
                 const std::vector<std::string>& groups);
  Hdf5Description (*describe)(const std::string& path, const std::string& dataset);
  void (*read)(const std::string& path, const std::string& dataset,
               std::span<const SliceRange> axes, const Array& into);
};
inline constexpr const char* hdf5_symbol = "tessera_hdf5";

[[maybe_unused]] static std::string hdf5_abi_tag() {
  return cat(build_tag(), ", store sizes ", sizeof(Hdf5StoreOptions), " ", sizeof(Hdf5Description),
             " ", sizeof(TileGrid), " ", sizeof(Array), " ", sizeof(Hdf5Backend));
}

}  // namespace tessera::store
