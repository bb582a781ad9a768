// SPDX-License-Identifier: Apache-2.0
#pragma once
// The directory of a zip file, read with suspicion: every number is checked against the file before
// it is used. Only what .npz needs: entries stored or deflated, one disk, no encryption.
//   std::vector<ZipEntry> entries = read_zip_directory(file, most_bytes);

#include <string>
#include <vector>

#include "tessera/array/npy_file.hpp"

namespace tessera {

struct ZipEntry {
  std::string name;
  bool deflated = false;
  std::uint32_t crc = 0;
  i64 packed = 0;    // bytes in the file
  i64 unpacked = 0;  // bytes of the content
  i64 header = 0;    // offset of the local header
  i64 data = 0;      // offset of the packed bytes
};

// IoError for a directory that is broken, lies about positions, overlaps, or promises more than
// most_bytes.
std::vector<ZipEntry> read_zip_directory(const FileReader& file, i64 most_bytes);

// Little-endian numbers of zip records.
inline std::uint64_t little(const unsigned char* p, int bytes) {
  std::uint64_t v = 0;
  for (int i = 0; i < bytes; ++i) v |= static_cast<std::uint64_t>(p[i]) << (8 * i);
  return v;
}
inline void put_little(std::string& to, std::uint64_t v, int bytes) {
  for (int i = 0; i < bytes; ++i) to += static_cast<char>(v >> (8 * i) & 0xff);
}

inline constexpr std::uint32_t zip_local = 0x04034b50, zip_central = 0x02014b50,
                               zip_end = 0x06054b50, zip64_end = 0x06064b50,
                               zip64_locator = 0x07064b50;

}  // namespace tessera
