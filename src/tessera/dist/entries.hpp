// SPDX-License-Identifier: Apache-2.0
#pragma once
// What integer arrays ask of an array, as numbers: the positions along all indexed axes make one
// id, with the split axis as its most significant digit, so that sorted ids are sorted by owner.
// Ids are made distinct before they travel, and travel as the shortest of three forms. Host memory
// only; nothing is sent here.
//   Distinct d = distinct(ids);   Wire w = encode(d.ids, base, radix);   decode(w.kind, ...)

#include <span>
#include <vector>

#include "tessera/array/array.hpp"
#include "tessera/dist/partition.hpp"

namespace tessera {

// Sorted, each once. `slot[j]` says which of them entry j is.
struct Distinct {
  std::vector<i64> ids;
  std::vector<i64> slot;
};
TESSERA_API Distinct distinct(std::span<const i64> entries);
// The same without slots, of those entries that lie in [first, last).
TESSERA_API std::vector<i64> distinct_within(std::span<const i64> entries, i64 first, i64 last);

// Sorted, each once, with the last entry that has it: whose value stays in an assignment.
struct Winners {
  std::vector<i64> ids;
  std::vector<i64> entry;
};
TESSERA_API Winners winners(std::span<const i64> entries);

// Where each rank's ids start in a sorted list: p + 1 numbers. `row` ids belong to one entry of the
// split axis.
TESSERA_API std::vector<i64> owner_bounds(std::span<const i64> sorted, const Partition& part,
                                          i64 row);

// How ids of one owner travel: relative to the first that it owns, as plain numbers of the fewest
// bytes that hold `radix`, as runs (first, length), or as one bit for each id that there is. Or not
// at all: the sender's positions on the split axis, from which the owner works them out
// (entry_ask).
enum class WireKind : std::uint8_t { numbers, runs, bits, positions };
struct Wire {
  WireKind kind = WireKind::numbers;
  i64 ids = 0, runs = 0;
  std::vector<std::byte> bytes;
};
TESSERA_API i64 bytes_of_number(i64 radix);  // 1, 2, 4 or 8
TESSERA_API i64 wire_bytes(WireKind kind, i64 ids, i64 runs, i64 radix);
TESSERA_API Wire encode(std::span<const i64> sorted, i64 base, i64 radix);
// Absolute ids again, sorted. No bytes: no ids.
TESSERA_API std::vector<i64> decode(WireKind kind, std::span<const std::byte> bytes, i64 base,
                                    i64 radix);

// Eight bytes that announce a wire, so that its receiver knows its length and the number of ids,
// and whether the sender has a problem. Runs are only used where both numbers fit.
struct Notice {
  std::uint64_t word = 0;
  static Notice of(const Wire& w, bool problem) {
    const auto ids = static_cast<std::uint64_t>(w.ids), runs = static_cast<std::uint64_t>(w.runs);
    const std::uint64_t size = w.kind == WireKind::runs ? ids << 32 | runs << 3 : ids << 3;
    return {size | static_cast<std::uint64_t>(w.kind) << 1 | static_cast<std::uint64_t>(problem)};
  }
  bool problem() const { return (word & 1) != 0; }
  WireKind kind() const { return static_cast<WireKind>(word >> 1 & 3); }
  i64 ids() const { return static_cast<i64>(kind() == WireKind::runs ? word >> 32 : word >> 3); }
  i64 runs() const { return static_cast<i64>((word & 0xffffffff) >> 3); }
  i64 bytes(i64 radix) const { return ids() == 0 ? 0 : wire_bytes(kind(), ids(), runs(), radix); }
};

Array list_of(std::span<const i64> numbers);  // of the host
// Numbers of `width` bytes, lowest byte first.
TESSERA_API void put_numbers(std::span<const i64> numbers, i64 width, std::byte* out);
TESSERA_API void take_numbers(const std::byte* in, i64 width, std::span<i64> numbers);

}  // namespace tessera
