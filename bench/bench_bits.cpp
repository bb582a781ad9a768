// SPDX-License-Identifier: Apache-2.0
// Products of bits against what the cores can do at most: AND, count and add of registers, with
// nothing loaded or stored. Both sides use all threads.
#include <algorithm>
#include <bit>

#include "ratio.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/kernels/bitmatmul/bitmatmul.hpp"
#include "tessera/tessera.hpp"

#if defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tessera::bench {
namespace {

#if defined(__aarch64__)

// Eight counts of 128 bits per step; the empty asm keeps the operands unknown to the compiler.
std::uint64_t count_registers(i64 bits) {
  uint8x16_t x[4], y[2], sum[8];
  for (int i = 0; i < 4; ++i) x[i] = vdupq_n_u8(static_cast<std::uint8_t>(37 * i + 1));
  for (int i = 0; i < 2; ++i) y[i] = vdupq_n_u8(static_cast<std::uint8_t>(91 * i + 1));
  for (auto& s : sum) s = vdupq_n_u8(0);
  for (i64 done = 0; done < bits; done += 8 * 128) {
    asm volatile("" : "+w"(x[0]), "+w"(x[1]), "+w"(x[2]), "+w"(x[3]), "+w"(y[0]), "+w"(y[1]));
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) sum[i] = vaddq_u8(sum[i], vcntq_u8(vandq_u8(x[i % 4], y[i / 4])));
  }
  std::uint64_t all = 0;
  for (const auto& s : sum) all += vaddlvq_u8(s);
  return all;
}

#else

// Portable: four counts of 64 bits per step.
std::uint64_t count_words(i64 bits) {
  std::uint64_t x = 0x5555, sum[4] = {};
  for (i64 done = 0; done < bits; done += 4 * 64) {
    asm volatile("" : "+r"(x));
    for (std::uint64_t i = 0; i < 4; ++i)
      sum[i] += static_cast<std::uint64_t>(std::popcount(x & (i + 3)));
  }
  return sum[0] + sum[1] + sum[2] + sum[3];
}

#if defined(__x86_64__)

__attribute__((target("avx512f,avx512vpopcntdq"))) std::uint64_t count_zmm(i64 bits) {
  __m512i x = _mm512_set1_epi64(0x5555), y[8], sum[8];
  for (int i = 0; i < 8; ++i) y[i] = _mm512_set1_epi64(i + 3), sum[i] = _mm512_setzero_si512();
  for (i64 done = 0; done < bits; done += 8 * 512) {
    asm volatile("" : "+v"(x));
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i)
      sum[i] = _mm512_add_epi64(sum[i], _mm512_popcnt_epi64(_mm512_and_si512(x, y[i])));
  }
  std::uint64_t all = 0;
  for (const auto& s : sum) all += static_cast<std::uint64_t>(_mm512_reduce_add_epi64(s));
  return all;
}

std::uint64_t count_registers(i64 bits) {
  return __builtin_cpu_supports("avx512vpopcntdq") ? count_zmm(bits) : count_words(bits);
}

#else

std::uint64_t count_registers(i64 bits) { return count_words(bits); }

#endif
#endif

// `bits` pairs of bits in registers, distributed over the threads in pieces.
void ceiling(i64 bits) {
  constexpr i64 piece = i64{1} << 28;
  parallel_for((bits + piece - 1) / piece, 1, [&](i64 begin, i64 end) {
    for (i64 i = begin; i < end; ++i) {
      volatile std::uint64_t kept = count_registers(std::min(piece, bits));
      (void)kept;
    }
  });
}

Bits random_bits(std::uint64_t seed, i64 n, bool upper = false) {
  const Array coins = ops::greater(Random(seed).uniform({n, n}, DType::f32), 0.5);
  if (!upper) return bit_pack(coins);
  const Array at = arange(Value(i64{0}), Value(n), Value(i64{1}), DType::i64);
  return bit_pack(ops::logical_and(coins, ops::less(at.expand_dims(1), at.expand_dims(0))));
}

}  // namespace

void bench_bits() {
  const i64 n = 8192;
  const Bits a = random_bits(1, n), b = bit_transpose(random_bits(2, n));
  const BitCounts dense{.transposed = true}, upper{.upper = true, .transposed = true};
  compare(
      "bit product 8192^2", "AND+CNT+ADD ceiling", 0.7, [&] { bit_counts(a, b, dense); },
      [&] { ceiling(n * n * n); },
      cat("2 op/bit: ",
          2e-9 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n), " Gop"));
  within(
      "bit product 8192^2, a fifth of PyCauset's time",
      2 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n) /
          (5 * 82e9 * num_threads()),
      [&] { bit_counts(a, b, dense); }, "PyCauset: 82 Gop/s a core on Neoverse-V1");
  const Bits u = random_bits(5, n, true), v = bit_transpose(random_bits(6, n, true));
  compare(
      "bit product 8192^2, triangles", "dense", 1.8, [&] { bit_counts(u, v, upper); },
      [&] { bit_counts(u, v, dense); });
  const i64 m = 2048;
  const Bits c = random_bits(3, m);
  compare(
      "Boolean product 2048^2", "counts", 1, [&] { bit_any(c, c); }, [&] { bit_counts(c, c); });
  // So few that no row of the result is full before the end.
  const Bits few = bit_pack(ops::less(Random(7).uniform({m, m}, DType::f32), 1.0 / 64));
  compare(
      "Boolean product 2048^2, a bit in 64", "counts", 1, [&] { bit_any(few, few); },
      [&] { bit_counts(few, few); });
  const Array x = Random(4).normal({m, m}, DType::f32), y = zeros({m, m}, DType::f32);
  const Array full = bit_unpack(c, DType::f32);
  compare(
      "bits x float32 2048^2", "matmul float32", 1, [&] { bit_dense(c, x); },
      [&] { matmul(full, x, y); });
}

}  // namespace tessera::bench
