// SPDX-License-Identifier: Apache-2.0
#pragma once
// Powers by squaring, for whatever can be multiplied: about log2(n) products, and no factor on the
// way is a higher power than the result.
//   by_squaring(x, 10, [](const Array& a, const Array& b) { return matmul(a, b); })

#include <cstdint>
#include <optional>

namespace tessera {

// n >= 1; the first power is x itself.
template <class T, class Times>
T by_squaring(T x, std::uint64_t n, const Times& times) {
  std::optional<T> out;
  for (;; x = times(x, x)) {
    if (n & 1) out = out ? times(*out, x) : x;
    if ((n >>= 1) == 0) return *out;
  }
}

// |n|, of the least integer too.
inline std::uint64_t magnitude_of(std::int64_t n) {
  const auto bits = static_cast<std::uint64_t>(n);
  return n < 0 ? 0 - bits : bits;
}

}  // namespace tessera
