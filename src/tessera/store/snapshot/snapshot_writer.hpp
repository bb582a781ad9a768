// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes .tessera files (snapshot_format.hpp): named arrays from any device and a text that says
// what they are, which is the caller's own. A file is replaced as a whole or not at all: written
// beside, synchronised with the disk, renamed, and the folder synchronised. Arrays of any layout
// are written in C order, a few megabytes at a time.
//   save_snapshot("x.tessera", {{"x", x}}, "{\"value\": 0}");

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "tessera/array/npz.hpp"

namespace tessera {

// ArgumentError when two names are equal. IoError where it cannot be written: the old file stays.
TESSERA_API void save_snapshot(const std::string& path, const NamedArrays& arrays,
                               std::string_view description);
// An array of which no more than a part need be in memory at a time: `each_part` gives its bytes in
// C order to the function that it is given.
struct SnapshotPayload {
  std::string name;
  DType dtype = DType::f64;
  Shape shape;
  std::function<void(const std::function<void(const void* from, i64 bytes)>&)> each_part;
};
TESSERA_API void save_snapshot(const std::string& path, std::span<const SnapshotPayload> sources,
                               std::string_view description);
TESSERA_API SnapshotPayload snapshot_payload(const std::string& name, const Array& array);
// The same file in memory, for pickles: arrays at multiples of 128 bytes instead of pages. How many
// bytes it has is known before: the caller brings the room.
TESSERA_API i64 encoded_bytes(const NamedArrays& arrays, std::string_view description);
TESSERA_API void encode_snapshot(const NamedArrays& arrays, std::string_view description,
                                 std::span<std::byte> to);
TESSERA_API std::string encode_snapshot(const NamedArrays& arrays, std::string_view description);
// Adds arrays behind the end and says anew what the file holds: its arrays numbers `kept`, in this
// order, then those given. Payloads that are there stay as they are, byte for byte. At any moment a
// reader finds the old state or the new one, also after a power cut. IoError while somebody else
// appends, or has since `generation` (of the slot from which the caller knows what there is).
TESSERA_API void append_snapshot(const std::string& path, std::uint64_t generation,
                                 std::span<const i64> kept, const NamedArrays& arrays,
                                 std::string_view description);

}  // namespace tessera
