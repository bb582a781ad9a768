// SPDX-License-Identifier: Apache-2.0
// HDF5 files as h5py reads and writes them: complex numbers are records of r and i, bools an
// enumeration. Datasets that we write are one piece, and its place in the file is known: ranks
// write their bytes there themselves, all at once, which the library (built for one process) could
// not. Reading does the same where it can, and asks the library for chunked, compressed or foreign
// data.
#include "tessera/array/npy_file.hpp"
#include "tessera/distributed/io/shared_numbers.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/store/tiles/hdf5_store.hpp"

namespace tessera::dist {
namespace {

NpyHeader look_at(const std::string& path, const std::string& dataset) {
  const store::Hdf5Description found = store::describe_hdf5(path, dataset);
  NpyHeader h;
  h.dtype = found.dtype;
  h.shape = found.shape;
  h.bytes = count_of(h.shape) * size_of(h.dtype);
  h.data = found.place;
  return h;
}

// A new file with one dataset in one piece, and no numbers in it yet.
i64 begin_hdf5(const std::string& name, const DNDarray& x, const std::string& dataset) {
  store::create_hdf5_file(name, {{dataset, x.shape(), x.dtype()}});
  if (x.size() == 0) return 0;
  const i64 at = store::describe_hdf5(name, dataset).place;
  require<IoError>(at >= 0, "HDF5 does not say where the numbers of '", dataset, "' are");
  return at;
}

}  // namespace

void save_hdf5(const std::string& path, const DNDarray& x, const SaveOptions& options) {
  require<ArgumentError>(!options.dataset.empty(), "save_hdf5: the dataset of '", path,
                         "' needs a name");
  save_numbers(path, x,
               [&](const std::string& name) { return begin_hdf5(name, x, options.dataset); });
}

DNDarray load_hdf5(const std::string& path, const LoadOptions& options) {
  const NpyHeader head =
      header_for_all(options.comm, [&] { return look_at(path, options.dataset); });
  std::optional<FileReader> file;
  return load_numbers(path, head, options, [&](const Region& region) {
    if (head.data < 0) {
      const Array to = empty_dense(region.shape(), head.dtype);
      store::read_hdf5(path, options.dataset, region.axes, to);
      return to;
    }
    if (!file) file.emplace(path);
    NpyHeader part = head;
    part.shape = region.shape();
    part.bytes = count_of(part.shape) * size_of(part.dtype);
    return make_npy_array(part, [&](std::byte* to) {
      read_region(*file, head.data, size_of(head.dtype), region, to);
    });
  });
}

}  // namespace tessera::dist
