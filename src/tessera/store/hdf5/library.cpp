// SPDX-License-Identifier: Apache-2.0
#include "tessera/store/hdf5/library.hpp"

#include <vector>

#include "tessera/array/npy_file.hpp"
#include "tessera/base/text.hpp"

namespace tessera::hdf5 {
namespace {

std::mutex& one_call() {
  static std::mutex one;
  return one;
}

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

herr_t note_name(hid_t group, const char* name, const H5L_info_t*, void* names) {
  H5O_info_t info;
  if (H5Oget_info_by_name(group, name, &info, H5P_DEFAULT) >= 0 && info.type == H5O_TYPE_DATASET)
    static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

}  // namespace

Quiet::Quiet() : lock_(one_call()) {
  H5Eget_auto2(H5E_DEFAULT, &print_, &data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

Quiet::~Quiet() {
  H5Eclear2(H5E_DEFAULT);  // what is left there would keep the library from ending
  H5Eset_auto2(H5E_DEFAULT, print_, data_);
}

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

Handle open_file(const std::string& path, bool writable) {
  const FileReader regular(path);  // HDF5 would wait for ever for the writer of a pipe
  return {H5Fopen(path.c_str(), writable ? H5F_ACC_RDWR : H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose,
          "cannot open '", path,
          writable ? "' as an HDF5 file to be written" : "' as an HDF5 file"};
}

Handle open_dataset(hid_t file, const std::string& path, const std::string& asked) {
  if (!asked.empty()) {  // alone: a visit takes the longer the more datasets there are
    const hid_t found = H5Dopen2(file, asked.c_str(), H5P_DEFAULT);
    if (found >= 0) return {found, H5Dclose, ""};
  }
  std::vector<std::string> names;
  H5Lvisit(file, H5_INDEX_NAME, H5_ITER_INC, note_name, &names);
  require<IoError>(!names.empty(), "'", path, "' holds no dataset");
  require<IoError>(asked.empty(), "'", path, "' has no dataset '", asked, "'; there are ",
                   join(names));
  require<IoError>(names.size() == 1, "'", path, "' holds ", names.size(), " datasets (",
                   join(names), "); say which");
  return {H5Dopen2(file, names.front().c_str(), H5P_DEFAULT),
          H5Dclose,
          "'",
          path,
          "': HDF5 does not open its dataset '",
          names.front(),
          "'"};
}

std::string name_of(hid_t set) {
  const ssize_t length = H5Iget_name(set, nullptr, 0);
  require<IoError>(length >= 0, "HDF5 does not say what a dataset is called");
  std::string name(static_cast<std::size_t>(length) + 1, '\0');
  H5Iget_name(set, name.data(), name.size());
  name.pop_back();
  return name.starts_with('/') ? name.substr(1) : name;
}

bool is_plain(hid_t file, hid_t set, DType dtype) {
  const Handle how{H5Dget_create_plist(set), H5Pclose, "HDF5 does not say how a dataset lies"},
      whole{H5Fget_create_plist(file), H5Pclose, "HDF5 does not say how a file begins"},
      type{H5Dget_type(set), H5Tclose, "HDF5 does not say what a dataset holds"};
  hsize_t user_block = 0;
  H5Pget_userblock(whole, &user_block);
  return H5Pget_external_count(how) == 0 && H5Pget_nfilters(how) == 0 && user_block == 0 &&
         H5Tequal(type, type_of(dtype)) > 0;
}

store::Hdf5Description describe(hid_t file, hid_t set, const std::string& path) {
  const Handle type{H5Dget_type(set), H5Tclose, "'", path, "' has a dataset without a type"},
      space{H5Dget_space(set), H5Sclose, "'", path, "' has a dataset without a shape"},
      how{H5Dget_create_plist(set), H5Pclose, "HDF5 does not say how a dataset lies"};
  const std::optional<DType> dtype = dtype_of_file(type);
  require<IoError>(dtype.has_value(), "'", path,
                   "': the dataset holds no numbers that we know (bool, integers, floats of 2 to 8 "
                   "bytes and complex numbers of 8 and 16 are)");
  store::Hdf5Description d;
  d.dtype = *dtype;
  if (H5Sget_simple_extent_type(space) == H5S_NULL) {
    d.shape = {0};
    return d;
  }
  const int ndim = H5Sget_simple_extent_ndims(space);
  require<IoError>(ndim >= 0 && ndim <= max_rank, "'", path, "': the dataset has no shape");
  std::vector<hsize_t> sizes(static_cast<std::size_t>(ndim));
  H5Sget_simple_extent_dims(space, sizes.data(), nullptr);
  for (const hsize_t n : sizes) d.shape.push_back(static_cast<i64>(n));
  if (H5Pget_layout(how) != H5D_CONTIGUOUS || !is_plain(file, set, d.dtype)) return d;
  const haddr_t at = H5Dget_offset(set);
  d.place = at == HADDR_UNDEF ? -1 : static_cast<i64>(at);
  return d;
}

}  // namespace tessera::hdf5
