// SPDX-License-Identifier: Apache-2.0
#pragma once
// Small numbers as they travel: no larger than a known one, each in as few whole bits as that
// takes.
//   CountPacking packing(8);   packing.bytes(1562) == 781;   allgather_counts(mine, 8, comm)[rank]

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/comm/communicator.hpp"
#include "tessera/distributed/wire/bit_reader.hpp"
#include "tessera/distributed/wire/bit_writer.hpp"

namespace tessera::dist {

// Numbers of 0 ... most, which is below 2^57.
class CountPacking {
 public:
  explicit CountPacking(i64 most)
      : bits_(static_cast<int>(std::bit_width(static_cast<std::uint64_t>(most)))) {}
  i64 bytes(i64 count) const { return (count * bits_ + 7) / 8; }
  std::vector<std::byte> pack(std::span<const i64> numbers) const {
    std::vector<std::byte> out(to_index(bytes(std::ssize(numbers))));
    std::vector<std::uint64_t> words(out.size() / 8 + 1);
    BitWriter writer(words.data(), 0);
    for (const i64 n : numbers) writer.put(static_cast<std::uint64_t>(n), bits_);
    writer.flush();
    copy_bytes(out.data(), words.data(), out.size());
    return out;
  }
  std::vector<i64> unpack(const std::byte* in, i64 count) const {
    const BitReader reader({in, to_index(bytes(count))});
    std::vector<i64> numbers(to_index(count));
    for (i64 k = 0; k < count; ++k) numbers[to_index(k)] = reader.take(k * bits_, bits_);
    return numbers;
  }

 private:
  int bits_;
};

// What all ranks say, by rank: as many numbers each, none above `most` (collective).
std::vector<std::vector<i64>> allgather_counts(std::span<const i64> mine, i64 most,
                                               const Communicator& comm);

}  // namespace tessera::dist
