// SPDX-License-Identifier: Apache-2.0
#pragma once
// The HDF5 library as we use it: silent, one call at a time, identifiers that end by themselves, and
// our dtypes as h5py writes them (complex numbers are records of r and i, bools an enumeration).
// Private to the plug-in.
//   const hdf5::Quiet quiet;   const hdf5::Handle file = hdf5::open_file("x.h5");

#define H5_USE_110_API  // newer versions have other arguments
#include <hdf5.h>

#include <mutex>
#include <optional>
#include <string>

#include "tessera/base/dtype.hpp"
#include "tessera/base/error.hpp"
#include "tessera/store/tiles/hdf5_store.hpp"

namespace tessera::hdf5 {

// The library is not made for threads: one call at a time, for ranks as threads too.
class Quiet {
 public:
  Quiet();
  ~Quiet();
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

 private:
  std::lock_guard<std::mutex> lock_;
  H5E_auto2_t print_ = nullptr;
  void* data_ = nullptr;
};

// An identifier of the library and what ends it.
class Handle {
 public:
  template <class... Parts>
  Handle(hid_t id, herr_t (*end)(hid_t), const Parts&... otherwise) : id_(id), end_(end) {
    require<IoError>(id >= 0, otherwise...);
  }
  Handle(Handle&& o) noexcept : id_(o.id_), end_(o.end_) { o.id_ = -1; }
  Handle& operator=(Handle&&) = delete;
  ~Handle() {
    if (id_ >= 0) end_(id_);
  }
  operator hid_t() const { return id_; }

 private:
  hid_t id_;
  herr_t (*end_)(hid_t);
};

// As it stands in our files, and in memory: all machines that we know are little-endian.
Handle type_of(DType t);
// IoError for what is no regular file, or none of HDF5.
Handle open_file(const std::string& path, bool writable = false);
// The dataset of a name ("group/name"), or the only one of the file where none is asked for.
Handle open_dataset(hid_t file, const std::string& path, const std::string& asked);
std::string name_of(hid_t set);

// IoError for text, records and the like.
store::Hdf5Description describe(hid_t file, hid_t set, const std::string& path);
// Whether numbers lie in the file byte for byte as in memory.
bool is_plain(hid_t file, hid_t set, DType dtype);

}  // namespace tessera::hdf5
