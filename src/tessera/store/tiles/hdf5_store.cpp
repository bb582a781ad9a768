// SPDX-License-Identifier: Apache-2.0
#include "tessera/store/tiles/hdf5_store.hpp"

#include "tessera/base/error.hpp"
#include "tessera/store/tiles/hdf5_backend.hpp"

namespace tessera::store {
namespace {

const TablePlugin<Hdf5Backend>& plugin() {
  static const auto* once = new TablePlugin<Hdf5Backend>(
      load_table<Hdf5Backend>("libtessera_hdf5.so", hdf5_symbol, hdf5_abi_tag(),
                              "build it where HDF5 is installed (apt-get install libhdf5-dev)"));
  return *once;
}

const Hdf5Backend& backend_for(const std::string& path) {
  require<NotAvailable>(plugin().table != nullptr, "'", path, "': HDF5 files need a plug-in; ",
                        plugin().problem);
  return *plugin().table;
}

}  // namespace

bool has_hdf5() { return plugin().table != nullptr; }

std::shared_ptr<TileStore> open_hdf5_store(const std::string& path, const std::string& dataset,
                                           bool writable, const Hdf5StoreOptions& options) {
  return backend_for(path).open(path, dataset, writable, options);
}

void create_hdf5_file(const std::string& path, const std::vector<Hdf5Dataset>& sets,
                      const std::vector<std::string>& groups) {
  backend_for(path).create(path, sets, groups);
}

Hdf5Description describe_hdf5(const std::string& path, const std::string& dataset) {
  return backend_for(path).describe(path, dataset);
}

void read_hdf5(const std::string& path, const std::string& dataset,
               std::span<const SliceRange> axes, const Array& into) {
  backend_for(path).read(path, dataset, axes, into);
}

}  // namespace tessera::store
