// SPDX-License-Identifier: Apache-2.0
#pragma once
// Quotients of 64-bit integers by one positive number, eight in a register. Private to the cpu's
// kernel; nothing on other processors. Defined in a file of its own: after <immintrin.h> g++ takes
// the options of the precompiled header, and kernels that include it would fuse products and sums.
//   i64 done = quotients_avx512(x, r, n, factor, shift);   // then the rest, one by one

#if defined(__x86_64__)

#include <cstdint>

#include "tessera/base/api.hpp"

namespace tessera {

// r[i] = floor(x[i] / d) where (u * factor) >> (64 + shift) is u / d for u below 2^63; gives how
// many, a multiple of eight.
TESSERA_API i64 quotients_avx512(const i64* x, i64* r, i64 n, std::uint64_t factor, int shift);

}  // namespace tessera

#endif
