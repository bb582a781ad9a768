// SPDX-License-Identifier: Apache-2.0
#pragma once
// What stands where in a .tessera file; docs/guide/file-format.md says it for readers in other
// languages. A head with two slots, payloads of arrays at multiples of the alignment, a table of
// checksums behind each, and at last the metadata: a line of JSON that lists the arrays and a text
// of the caller's. All numbers are little-endian. No input or output here.
//   SnapshotSlot slot = newest_slot(head, file_bytes, "'x.tessera'");

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/dtype.hpp"
#include "tessera/base/shape.hpp"

namespace tessera {

inline constexpr char snapshot_magic[8] = {'\x89', 'T', 'E', 'S', 'S', 'E', 'R', 'A'};
inline constexpr std::uint32_t snapshot_version = 1;
inline constexpr i64 snapshot_page = 4096;           // the alignment in files
inline constexpr i64 snapshot_in_memory = 128;       // the alignment in pickles, which nobody maps
inline constexpr i64 snapshot_piece = i64{1} << 14;  // bytes of a payload under one checksum
inline constexpr i64 largest_alignment = i64{1} << 20;
inline constexpr i64 slot_bytes = 40;
inline constexpr i64 first_slot = 16;  // the second is at alignment / 2

// Where the metadata are. Both slots say the same but while a file is being appended to: then the
// one with the higher generation is right.
struct SnapshotSlot {
  std::uint64_t generation = 0;
  i64 metadata = 0, metadata_bytes = 0;
  i64 end = 0;  // bytes of the file that mean something; what comes after them is not looked at
  std::uint32_t metadata_sum = 0;
  friend bool operator==(const SnapshotSlot&, const SnapshotSlot&) = default;
};
TESSERA_API std::array<std::byte, slot_bytes> encoded(const SnapshotSlot& slot);
// Nothing where its checksum is wrong.
TESSERA_API std::optional<SnapshotSlot> decode_slot(std::span<const std::byte> bytes);

// The first `alignment` bytes of a file, both slots as given.
TESSERA_API std::vector<std::byte> encoded_head(i64 alignment, const SnapshotSlot& slot);
// The alignment, from at least 16 bytes (fewer are refused). `who` begins the text of an IoError.
TESSERA_API i64 alignment_of(std::span<const std::byte> head, const std::string& who);
// Of a head of `alignment` bytes, or all that there are. IoError where no slot is whole, or where
// the newest one speaks of bytes that a file of this size does not have.
TESSERA_API SnapshotSlot newest_slot(std::span<const std::byte> head, i64 file_bytes,
                                     const std::string& who);

// One array: its elements in C order.
struct SnapshotEntry {
  std::string name;
  DType dtype = DType::f64;
  Shape shape;
  i64 offset = 0;              // of the first element, a multiple of the alignment
  i64 piece = snapshot_piece;  // each so many bytes of the payload have a checksum of 4 bytes
  i64 sums = 0;                // where these are

  i64 bytes() const { return count_of(shape) * size_of(dtype); }
  i64 pieces() const { return (bytes() + piece - 1) / piece; }
};
// ArgumentError where two names are equal or one is no UTF-8.
TESSERA_API std::string encoded_index(std::span<const SnapshotEntry> entries);
// IoError unless every array lies between the head and the end and no two share bytes: so arrays
// never take more memory than the file has bytes.
TESSERA_API std::vector<SnapshotEntry> decode_index(std::string_view text, i64 alignment, i64 end,
                                                    const std::string& who);

inline constexpr i64 aligned_up(i64 n, i64 alignment) {
  return (n + alignment - 1) / alignment * alignment;
}

}  // namespace tessera
