// SPDX-License-Identifier: Apache-2.0
// The upper half of a product of 64 bits is made of four products of 32: g++ knows no instruction
// for it and divides one by one.
#include "tessera/kernels/elementwise/math/quotients_avx512.hpp"

#if defined(__x86_64__)

#include <immintrin.h>

#include "tessera/kernels/wide.hpp"

namespace tessera {
namespace {

typedef std::uint64_t EightWhole __attribute__((vector_size(64)));
typedef i64 EightSigned __attribute__((vector_size(64), aligned(8), may_alias));

// Products of the lower halves. Masked by nothing: g++ 12 warns of its own header otherwise.
[[gnu::target(TESSERA_AVX512), gnu::always_inline]] inline EightWhole lower_products(EightWhole a,
                                                                                     EightWhole b) {
  return reinterpret_cast<EightWhole>(
      _mm512_maskz_mul_epu32(0xff, reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
}

}  // namespace

// A number below zero is the complement of one that is not, and so is its quotient.
[[gnu::target(TESSERA_AVX512)]] i64 quotients_avx512(const i64* x, i64* r, i64 n,
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
