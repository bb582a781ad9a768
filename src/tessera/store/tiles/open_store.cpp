// SPDX-License-Identifier: Apache-2.0
#include "tessera/store/tiles/open_store.hpp"

#include <algorithm>
#include <string>

#include "tessera/array/npy_file.hpp"
#include "tessera/store/tiles/hdf5_store.hpp"
#include "tessera/store/tiles/npy_store.hpp"
#include "tessera/store/tiles/tiled_file.hpp"

namespace tessera::store {
namespace {

std::string first_bytes(const std::string& path) {
  const FileReader file(path);
  std::string start(static_cast<std::size_t>(std::min<i64>(file.size(), 8)), '\0');
  file.read(0, start.data(), static_cast<i64>(start.size()));
  return start;
}

bool names_hdf5(const std::string& path) {
  return path.ends_with(".h5") || path.ends_with(".hdf5");
}

}  // namespace

std::shared_ptr<TileStore> open_store(const std::string& path, bool writable,
                                      const std::string& dataset) {
  const std::string start = first_bytes(path);
  if (start == "\x89HDF\r\n\x1a\n" || names_hdf5(path))
    return open_hdf5_store(path, dataset, writable);
  require<ArgumentError>(dataset.empty(), "'", path, "' is no HDF5 file: it has no dataset '",
                         dataset, "'");
  if (start.starts_with("\x93NUMPY")) return open_npy_store(path, writable);
  if (start == "TSRTILES") return open_tiled_file(path, writable);
  // A damaged file of a known ending says what is wrong with it.
  if (path.ends_with(".npy")) return open_npy_store(path, writable);
  if (path.ends_with(".tiles")) return open_tiled_file(path, writable);
  throw IoError(cat("'", path,
                    "' cannot be used in place: it begins neither as a tiled file nor as a .npy or "
                    "an HDF5 file does"));
}

void require_result_name(const std::string& path) {
  for (const std::string_view ending : {".npz", ".zarr", ".tessera", ".h5", ".hdf5"})
    require<IoError>(!path.ends_with(ending), "cannot create '", path,
                     "': results on disk are tiled files or .npy files, and a name that ends in ",
                     ending,
                     " says another format, which ts.save writes; take one that ends in "
                     ".tiles or .npy");
}

std::shared_ptr<TileStore> create_store(const std::string& path, const TileGrid& grid,
                                        const std::string& name) {
  const std::string& named = name.empty() ? path : name;
  require_result_name(named);
  if (named.ends_with(".npy")) return create_npy_store(path, grid.shape(), grid.dtype());
  return create_tiled_file(path, grid);
}

}  // namespace tessera::store
