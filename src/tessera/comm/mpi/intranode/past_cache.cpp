// SPDX-License-Identifier: Apache-2.0
#include "tessera/comm/mpi/intranode/past_cache.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace tessera::mpi {

void copy_past_cache(std::byte* to, const std::byte* from, std::size_t bytes) {
#if defined(__x86_64__)
  constexpr std::size_t line = 64;
  std::size_t k = std::min(bytes, -reinterpret_cast<std::uintptr_t>(to) % line);
  std::memcpy(to, from, k);
  for (; k + line <= bytes; k += line) {
    const auto* source = reinterpret_cast<const __m128i*>(from + k);
    auto* target = reinterpret_cast<__m128i*>(to + k);
    const __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1);
    const __m128i c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);
    _mm_stream_si128(target, a);
    _mm_stream_si128(target + 1, b);
    _mm_stream_si128(target + 2, c);
    _mm_stream_si128(target + 3, d);
  }
  _mm_sfence();
  to += k;
  from += k;
  bytes -= k;
#endif
  std::memcpy(to, from, bytes);
}

}  // namespace tessera::mpi
