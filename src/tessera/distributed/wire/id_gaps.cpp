// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/wire/id_gaps.hpp"

#include <algorithm>
#include <cmath>

#include "tessera/distributed/wire/bit_writer.hpp"

namespace tessera::dist {
namespace {

// How many low bits make the codes of n ids shortest that lie anywhere (Golomb and Rice): so many
// that about half of the gaps have no high part.
int low_bits(i64 n, i64 radix) {
  const double part = static_cast<double>(n) / static_cast<double>(radix);
  const double median = std::log((std::sqrt(5.0) - 1) / 2) / std::log1p(-part);
  return std::min(most_low, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(median))));
}

}  // namespace

EncodedIds encode_gaps(std::span<const i64> sorted, i64 base, i64 radix) {
  const auto n = static_cast<i64>(sorted.size());
  if (n == 0 || n > most_gaps) return {};
  const int low = n < radix ? low_bits(n, radix) : 0;
  const i64 most_high = (radix - n) >> low;
  if (most_high > most_gaps) return {};
  std::vector<std::uint64_t> words(to_index((n * (low + 1) + most_high) / 64 + 1));
  BitWriter lows(words.data(), 0), ones(words.data(), n * low);
  const std::uint64_t mask = (std::uint64_t{1} << low) - 1;
  i64 next = base, zeros = 0;
  for (const i64 id : sorted) {
    const i64 gap = id - next, high = gap >> low;
    zeros += high;
    ones.one_after(high);
    lows.put(static_cast<std::uint64_t>(gap) & mask, low);
    next = id + 1;
  }
  ones.flush();
  lows.flush();
  EncodedIds encoded{{Encoding::gaps, low, n, zeros}, {}};
  encoded.bytes.resize(to_index(encoded.format.bytes(radix)));
  copy_bytes(encoded.bytes.data(), words.data(), encoded.bytes.size());
  return encoded;
}

}  // namespace tessera::dist
