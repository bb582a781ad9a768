// SPDX-License-Identifier: Apache-2.0
#pragma once
// Quotients of 64-bit integers by one positive number, eight in a register. The upper half of a
// product of 64 bits is made of four products of 32: g++ knows no instruction for it and divides
// one by one. Private to the cpu's kernel; nothing on other processors.
//   i64 done = quotients_avx512(x, r, n, factor, shift);   // then the rest, one by one

#if defined(__x86_64__)

#include <immintrin.h>

#include "tessera/base/api.hpp"
#include "tessera/kernels/wide.hpp"

namespace tessera {

typedef std::uint64_t EightWhole __attribute__((vector_size(64)));
typedef i64 EightSigned __attribute__((vector_size(64), aligned(8), may_alias));

// Products of the lower halves. Masked by nothing: g++ 12 warns of its own header otherwise.
[[gnu::target(TESSERA_AVX512), gnu::always_inline]] inline EightWhole lower_products(EightWhole a,
                                                                                     EightWhole b) {
  return reinterpret_cast<EightWhole>(
      _mm512_maskz_mul_epu32(0xff, reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
}

// r[i] = floor(x[i] / d) where (u * factor) >> (64 + shift) is u / d for u below 2^63; gives how
// many, a multiple of eight. A number below zero is the complement of one that is not, and so is
// its quotient.
[[gnu::target(TESSERA_AVX512)]] inline i64 quotients_avx512(const i64* x, i64* r, i64 n,
                                                            std::uint64_t factor, int shift) {
  const EightWhole low = EightWhole{} + factor, high = low >> 32;
  i64 i = 0;
  for (; i + 8 <= n; i += 8) {
    const EightSigned v = *reinterpret_cast<const EightSigned*>(x + i);
    const auto sign = reinterpret_cast<EightWhole>(v >> 63);
    const EightWhole u = reinterpret_cast<EightWhole>(v) ^ sign, upper = u >> 32;
    const EightWhole a = lower_products(u, low) >> 32, b = lower_products(upper, low) + a,
                     c = lower_products(u, high) + (b & 0xffffffff),
                     q = lower_products(upper, high) + (b >> 32) + (c >> 32);
    *reinterpret_cast<EightSigned*>(r + i) = reinterpret_cast<EightSigned>((q >> shift) ^ sign);
  }
  return i;
}

}  // namespace tessera

#endif
