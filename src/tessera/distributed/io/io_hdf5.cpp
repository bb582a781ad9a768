// SPDX-License-Identifier: Apache-2.0
// HDF5 files as h5py reads and writes them: complex numbers are records of r and i, bools an
// enumeration. Datasets that we write are one piece, and its place in the file is known: ranks
// write their bytes there themselves, all at once, which the library (built for one process) could
// not. Reading does the same where it can, and asks the library for chunked, compressed or foreign
// data.
#include "tessera/array/npy_file.hpp"
#include "tessera/distributed/io/shared_numbers.hpp"

#ifdef TESSERA_HDF5
#define H5_USE_110_API  // newer versions have other arguments
#include <hdf5.h>

#include <mutex>

#include "tessera/kernels/copy/copy.hpp"

namespace tessera::dist {
namespace {

// The library is not made for threads: one call at a time, for ranks as threads too.
class Quiet {
 public:
  Quiet() : lock_(mutex()) {
    H5Eget_auto2(H5E_DEFAULT, &print_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~Quiet() {
    H5Eclear2(H5E_DEFAULT);  // what is left there would keep the library from ending
    H5Eset_auto2(H5E_DEFAULT, print_, data_);
  }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

 private:
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
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

Handle number(hid_t like) { return {H5Tcopy(like), H5Tclose, "HDF5 has no such number"}; }

Handle short_float(std::size_t mantissa, std::size_t exponent, std::size_t bias) {
  Handle t = number(H5T_IEEE_F32LE);
  H5Tset_fields(t, 15, mantissa, exponent, 0, mantissa);
  H5Tset_size(t, 2);
  H5Tset_ebias(t, bias);
  return t;
}

Handle complex_of_two(hid_t part) {
  const std::size_t n = H5Tget_size(part);
  Handle t{H5Tcreate(H5T_COMPOUND, 2 * n), H5Tclose, "HDF5 has no records"};
  H5Tinsert(t, "r", 0, part);
  H5Tinsert(t, "i", n, part);
  return t;
}

Handle truth() {
  Handle t{H5Tenum_create(H5T_STD_I8LE), H5Tclose, "HDF5 has no enumerations"};
  for (const auto& [word, value] : {std::pair("FALSE", std::int8_t{0}), {"TRUE", std::int8_t{1}}})
    H5Tenum_insert(t, word, &value);
  return t;
}

// As it stands in our files, and in memory: all machines that we know are little-endian.
Handle type_of(DType t) {
  switch (t) {
    case DType::b1: return truth();
    case DType::i8: return number(H5T_STD_I8LE);
    case DType::i16: return number(H5T_STD_I16LE);
    case DType::i32: return number(H5T_STD_I32LE);
    case DType::i64: return number(H5T_STD_I64LE);
    case DType::u8: return number(H5T_STD_U8LE);
    case DType::u16: return number(H5T_STD_U16LE);
    case DType::u32: return number(H5T_STD_U32LE);
    case DType::u64: return number(H5T_STD_U64LE);
    case DType::f16: return short_float(10, 5, 15);
    case DType::bf16: return short_float(7, 8, 127);
    case DType::f32: return number(H5T_IEEE_F32LE);
    case DType::f64: return number(H5T_IEEE_F64LE);
    case DType::c64: return complex_of_two(H5T_IEEE_F32LE);
    default: return complex_of_two(H5T_IEEE_F64LE);
  }
}

std::optional<DType> float_of(hid_t type) {
  if (H5Tget_class(type) != H5T_FLOAT) return std::nullopt;
  std::size_t sign, at, exponent, mantissa_at, mantissa;
  H5Tget_fields(type, &sign, &at, &exponent, &mantissa_at, &mantissa);
  switch (H5Tget_size(type)) {
    case 2: return exponent == 8 ? DType::bf16 : DType::f16;
    case 4: return DType::f32;
    case 8: return DType::f64;
    default: return std::nullopt;
  }
}

std::optional<DType> integer_of(hid_t type) {
  const bool sign = H5Tget_sign(type) == H5T_SGN_2;
  switch (H5Tget_size(type)) {
    case 1: return sign ? DType::i8 : DType::u8;
    case 2: return sign ? DType::i16 : DType::u16;
    case 4: return sign ? DType::i32 : DType::u32;
    case 8: return sign ? DType::i64 : DType::u64;
    default: return std::nullopt;
  }
}

// The numbers of a dataset, or nothing for text, records and the like.
std::optional<DType> dtype_of_file(hid_t type) {
  switch (H5Tget_class(type)) {
    case H5T_INTEGER: return integer_of(type);
    case H5T_FLOAT: return float_of(type);
    case H5T_ENUM: {
      const Handle base{H5Tget_super(type), H5Tclose, "HDF5 cannot read an enumeration"};
      const bool two = H5Tget_nmembers(type) == 2 && H5Tget_member_index(type, "TRUE") >= 0;
      return two && H5Tget_size(base) == 1 ? std::optional(DType::b1) : std::nullopt;
    }
    case H5T_COMPOUND: {
      if (H5Tget_nmembers(type) != 2 || H5Tget_member_index(type, "r") != 0 ||
          H5Tget_member_index(type, "i") != 1)
        return std::nullopt;
      const Handle part{H5Tget_member_type(type, 0), H5Tclose, "HDF5 cannot read a record"};
      const std::optional<DType> real = float_of(part);
      return real && size_of(*real) >= 4 ? std::optional(complex_of(*real)) : std::nullopt;
    }
    default: return std::nullopt;
  }
}

Handle open_file(const std::string& path) {
  const FileReader regular(path);  // HDF5 would wait for ever for the writer of a pipe
  return {H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose, "cannot open '", path,
          "' as an HDF5 file"};
}

herr_t note_name(hid_t group, const char* name, const H5L_info_t*, void* names) {
  H5O_info_t info;
  if (H5Oget_info_by_name(group, name, &info, H5P_DEFAULT) >= 0 && info.type == H5O_TYPE_DATASET)
    static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

Handle open_dataset(hid_t file, const std::string& path, const std::string& asked) {
  std::vector<std::string> names;
  H5Literate(file, H5_INDEX_NAME, H5_ITER_INC, nullptr, note_name, &names);
  require<IoError>(!asked.empty() || names.size() == 1, "'", path, "' holds ", names.size(),
                   " datasets (", join(names), "); say which");
  const std::string name = asked.empty() ? names.front() : asked;
  return {H5Dopen2(file, name.c_str(), H5P_DEFAULT),
          H5Dclose,
          "'",
          path,
          "' has no dataset '",
          name,
          "'; there are ",
          join(names)};
}

// Where the numbers are when they lie in one piece as we would write them, else -1.
i64 place_of(hid_t file, hid_t set, hid_t type, DType dtype) {
  const Handle how{H5Dget_create_plist(set), H5Pclose, "HDF5 does not say how a dataset lies"},
      whole{H5Fget_create_plist(file), H5Pclose, "HDF5 does not say how a file begins"};
  hsize_t user_block = 0;
  H5Pget_userblock(whole, &user_block);
  const bool plain = H5Pget_layout(how) == H5D_CONTIGUOUS && H5Pget_external_count(how) == 0 &&
                     user_block == 0 && H5Tequal(type, type_of(dtype)) > 0;
  const haddr_t at = plain ? H5Dget_offset(set) : HADDR_UNDEF;
  return at == HADDR_UNDEF ? -1 : static_cast<i64>(at);
}

NpyHeader look_at(const std::string& path, const std::string& dataset) {
  const Quiet quiet;
  const Handle file = open_file(path), set = open_dataset(file, path, dataset),
               type{H5Dget_type(set), H5Tclose, "'", path, "' has a dataset without a type"},
               space{H5Dget_space(set), H5Sclose, "'", path, "' has a dataset without a shape"};
  const std::optional<DType> dtype = dtype_of_file(type);
  require<IoError>(dtype.has_value(), "'", path,
                   "': the dataset holds no numbers that we know (bool, integers, floats of 2 to 8 "
                   "bytes and complex numbers of 8 and 16 are)");
  const int ndim = H5Sget_simple_extent_ndims(space);
  require<IoError>(ndim >= 0 && ndim <= max_rank, "'", path, "': the dataset has no shape");
  std::vector<hsize_t> sizes(static_cast<std::size_t>(ndim));
  H5Sget_simple_extent_dims(space, sizes.data(), nullptr);
  NpyHeader h;
  h.dtype = *dtype;
  for (const hsize_t n : sizes) h.shape.push_back(static_cast<i64>(n));
  h.bytes = count_of(h.shape) * size_of(h.dtype);
  h.data = place_of(file, set, type, h.dtype);
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
