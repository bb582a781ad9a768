// SPDX-License-Identifier: Apache-2.0
// HDF5 files as h5py reads and writes them: complex numbers are records of r and i, bools an
// enumeration. Datasets that we write are one piece, and its place in the file is known: ranks
// write their bytes there themselves, all at once, which the library (built for one process) could
// not. Reading does the same where it can, and asks the library for chunked, compressed or foreign
// data.
#include "tessera/array/npy_file.hpp"
#include "tessera/distributed/io/shared_numbers.hpp"
#include "tessera/store/tiles/hdf5_library.hpp"

#ifdef TESSERA_HDF5
#include "tessera/kernels/copy/copy.hpp"

namespace tessera::dist {
namespace {

using hdf5::Handle;
using hdf5::open_dataset;
using hdf5::open_file;
using hdf5::Quiet;
using hdf5::type_of;

NpyHeader look_at(const std::string& path, const std::string& dataset) {
  const Quiet quiet;
  const Handle file = open_file(path), set = open_dataset(file, path, dataset);
  const hdf5::Description found = hdf5::describe(file, set, path);
  NpyHeader h;
  h.dtype = found.dtype;
  h.shape = found.shape;
  h.bytes = count_of(h.shape) * size_of(h.dtype);
  h.data = found.place;
  return h;
}

// A hyperslab by the library.
Array read_by_hdf5(const std::string& path, const std::string& dataset, DType dtype,
                   const Region& region) {
  const Array to = empty_dense(region.shape(), dtype);
  if (to.size() == 0) return to;
  const Quiet quiet;
  const Handle file = open_file(path), set = open_dataset(file, path, dataset),
               space{H5Dget_space(set), H5Sclose, "'", path, "' has a dataset without a shape"},
               memory = type_of(dtype);
  std::vector<hsize_t> start, step, count;
  for (const SliceRange& a : region.axes) {
    start.push_back(static_cast<hsize_t>(a.start));
    step.push_back(static_cast<hsize_t>(a.step));
    count.push_back(static_cast<hsize_t>(a.length));
  }
  const int ndim = static_cast<int>(count.size());
  if (ndim > 0)
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), step.data(), count.data(), nullptr);
  const Handle here{
      ndim > 0 ? H5Screate_simple(ndim, count.data(), nullptr) : H5Screate(H5S_SCALAR), H5Sclose,
      "HDF5 cannot describe an array of shape ", to.shape()};
  require<IoError>(H5Dread(set, memory, here, space, H5P_DEFAULT, to.host_data()) >= 0,
                   "cannot read '", path, "': HDF5 refuses, the file may be damaged");
  return to;
}

// A new file with one dataset in one piece, and no numbers in it yet.
i64 begin_hdf5(const std::string& name, const DNDarray& x, const std::string& dataset) {
  const Quiet quiet;
  const Handle file{H5Fcreate(name.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT), H5Fclose,
                    "cannot write '", name, "'"};
  std::vector<hsize_t> sizes;
  for (const i64 n : x.shape()) sizes.push_back(static_cast<hsize_t>(n));
  const Handle space{sizes.empty()
                         ? H5Screate(H5S_SCALAR)
                         : H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr),
                     H5Sclose, "HDF5 cannot hold an array of shape ", x.shape()},
      type = type_of(x.dtype()),
      how{H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "HDF5 has no property lists"},
      groups{H5Pcreate(H5P_LINK_CREATE), H5Pclose, "HDF5 has no property lists"};
  H5Pset_layout(how, H5D_CONTIGUOUS);
  H5Pset_alloc_time(how, H5D_ALLOC_TIME_EARLY);
  H5Pset_fill_time(how, H5D_FILL_TIME_NEVER);
  H5Pset_create_intermediate_group(groups, 1);
  const Handle set{H5Dcreate2(file, dataset.c_str(), type, space, groups, how, H5P_DEFAULT),
                   H5Dclose, "HDF5 cannot make a dataset '", dataset, "'"};
  if (x.size() == 0) return 0;
  const haddr_t at = H5Dget_offset(set);
  require<IoError>(at != HADDR_UNDEF, "HDF5 does not say where the numbers of '", dataset, "' are");
  return static_cast<i64>(at);
}

}  // namespace

bool has_hdf5() { return true; }

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
    if (head.data < 0) return read_by_hdf5(path, options.dataset, head.dtype, region);
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

#else

namespace tessera::dist {
namespace {
[[noreturn]] void refuse(const std::string& path) {
  throw NotAvailable(cat("'", path,
                         "': this library was built without HDF5; with libhdf5-dev on the machine "
                         "it is built in"));
}
}  // namespace

bool has_hdf5() { return false; }
void save_hdf5(const std::string& path, const DNDarray&, const SaveOptions&) { refuse(path); }
DNDarray load_hdf5(const std::string& path, const LoadOptions&) { refuse(path); }

}  // namespace tessera::dist
#endif
