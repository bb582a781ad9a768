// SPDX-License-Identifier: Apache-2.0
#pragma once
// NumPy's .npy format, versions 1 to 3, read and written. The header and the file's size are
// checked before anything is allocated; numbers of the other byte order are converted; objects,
// records and text are refused by name. Files that we write are byte for byte NumPy's. bfloat16,
// which NumPy lacks, is written as two-byte void ('<V2'), as ml_dtypes does, and read back from it.
//   save_npy("x.npy", x);   Array y = load_npy("x.npy");   Array z = load_npy("big.npy",
//   {MapMode::read});

#include <functional>
#include <span>
#include <string>

#include "tessera/array/array.hpp"

namespace tessera {

enum class MapMode : std::uint8_t { none, read, write };  // write: changes go to the file
struct NpyOptions {
  MapMode map = MapMode::none;
};

// IoError for every file that is not a whole and honest .npy file of numbers.
TESSERA_API Array load_npy(const std::string& path, const NpyOptions& options = {});
// From any device. Either the whole file is there afterwards or the old one.
TESSERA_API void save_npy(const std::string& path, const Array& x);
// The same of an array that need not be in memory: the writer hands a whole file, header and numbers,
// to the sink that it is given, piece by piece.
using NpyWriter = std::function<void(const std::function<void(const void* from, i64 bytes)>& sink)>;
TESSERA_API void write_npy(const std::string& path, const NpyWriter& write);

// The parts, shared with .npz.
struct NpyHeader {
  DType dtype = DType::f64;
  bool swapped = false;  // the numbers have the other byte order
  bool fortran = false;
  Shape shape;
  i64 data = 0;   // offset of the first number
  i64 bytes = 0;  // of all numbers
};
inline constexpr i64 npy_preamble = 12;  // bytes from which npy_header_size can tell
// Offset of the data, from the first 12 (or all) bytes of a file; `who` begins the text of an
// IoError.
TESSERA_API i64 npy_header_size(std::span<const std::byte> start, const std::string& who);
// `head` holds npy_header_size() bytes.
TESSERA_API NpyHeader parse_npy_header(std::span<const std::byte> head, const std::string& who);
// A dense cpu array as the header describes it; `fill` writes header.bytes bytes, then they are
// converted.
TESSERA_API Array make_npy_array(const NpyHeader& header,
                                 const std::function<void(std::byte*)>& fill);
// What stands before the numbers, byte for byte as NumPy writes it.
TESSERA_API std::string npy_header_text(DType dtype, const Shape& shape, bool fortran);
// The header of a file; IoError as load_npy, also when the numbers are not all there.
TESSERA_API NpyHeader read_npy_header(const std::string& path);
// A file in memory: what a fuzzer, a socket or an archive holds.
TESSERA_API Array decode_npy(std::span<const std::byte> bytes, const std::string& who);
// Hands the file to `sink` piece by piece. x is on the host.
TESSERA_API void encode_npy(const Array& x, const std::function<void(const void*, i64)>& sink);

}  // namespace tessera
