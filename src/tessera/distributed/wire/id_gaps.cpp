// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/wire/id_gaps.hpp"

#include <algorithm>
#include <array>

#include "tessera/distributed/wire/bit_writer.hpp"

namespace tessera::dist {

// The best of three numbers of low bits about the one that suits the mean gap.
WireForm gaps_of(std::span<const i64> sorted, i64 base, i64 radix, WireKind kind) {
  const auto n = static_cast<i64>(sorted.size());
  WireForm best{kind};
  if (n == 0 || n > most_gaps) return best;
  const int mean = std::bit_width(static_cast<std::uint64_t>((radix - n) / n));
  const int low = std::clamp(mean - 2, 0, most_low - 2);
  i64 high0 = (sorted[0] - base) >> low, high1 = high0 >> 1, high2 = high0 >> 2;
  for (std::size_t k = 1; k < sorted.size(); ++k) {
    const i64 gap = (sorted[k] - sorted[k - 1] - 1) >> low;
    high0 += gap;
    high1 += gap >> 1;
    high2 += gap >> 2;
  }
  const std::array<i64, 3> high{high0, high1, high2};
  i64 least = 0;
  for (int k = 0; k < 3; ++k) {
    const i64 bits = n * (1 + low + k) + high[to_index(k)];
    if (high[to_index(k)] > most_gaps || (best.listed > 0 && bits >= least)) continue;
    best = {kind, low + k, n, high[to_index(k)]};
    least = bits;
  }
  return best;
}

void put_gaps(const WireForm& form, std::span<const i64> sorted, i64 base,
              std::span<std::byte> out) {
  const i64 unary = form.listed + form.high;
  std::vector<std::uint64_t> words(to_index((unary + form.listed * form.low) / 64 + 1));
  BitWriter ones(words.data(), 0), lows(words.data(), unary);
  const int low = form.low;
  const std::uint64_t mask = (std::uint64_t{1} << low) - 1;
  i64 next = base;
  for (const i64 id : sorted) {
    const i64 gap = id - next;
    ones.one_after(gap >> low);
    lows.put(static_cast<std::uint64_t>(gap) & mask, low);
    next = id + 1;
  }
  ones.flush();
  lows.flush();
  copy_bytes(out.data(), words.data(), out.size());
}

std::vector<i64> take_gaps(const WireForm& form, std::span<const std::byte> bytes, i64 base,
                           i64 radix) {
  std::vector<i64> ids(to_index(form.listed));
  i64* to = ids.data();
  each_of_gaps(form, bytes, base, radix, [&](i64 id) { *to++ = id; });
  return ids;
}

}  // namespace tessera::dist
