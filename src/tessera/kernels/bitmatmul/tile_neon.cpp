// SPDX-License-Identifier: Apache-2.0
// AND, CNT and ADD of bytes, 16 sums in 16 registers. A byte holds the bits of 31 steps; then pairs
// of bytes are added to sums of 16 bits that wait in the first cache.
#include "tessera/kernels/bitmatmul/tile.hpp"

#ifdef __aarch64__
#include <arm_neon.h>

#include <algorithm>

namespace tessera {
namespace {

constexpr i64 byte_steps = 31;  // 8 bits each: 248 < 256

void flush(const uint8x16_t* bytes, uint16x8_t* sums) {
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) sums[i] = vpadalq_u8(sums[i], bytes[i]);
}

void count(i64 steps, const std::uint64_t* pa, const std::uint64_t* pb, std::uint32_t* sums) {
  const auto* a = reinterpret_cast<const std::uint8_t*>(pa);
  const auto* b = reinterpret_cast<const std::uint8_t*>(pb);
  uint16x8_t wide[16];
  for (auto& w : wide) w = vdupq_n_u16(0);
  const i64 parts = (steps + byte_steps - 1) / byte_steps;
  for (i64 p = 0; p < parts; ++p) {
    const i64 n = steps * (p + 1) / parts - steps * p / parts;
    uint8x16_t bytes[16];
#pragma GCC unroll 16
    for (auto& v : bytes) v = vdupq_n_u8(0);
    for (i64 s = 0; s < n; ++s, a += 64, b += 64) {
      uint8x16_t right[4];
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) right[j] = vld1q_u8(b + 16 * j);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        const uint8x16_t left = vld1q_u8(a + 16 * i);
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j)
          bytes[4 * i + j] = vaddq_u8(bytes[4 * i + j], vcntq_u8(vandq_u8(left, right[j])));
      }
    }
    flush(bytes, wide);
  }
  for (int i = 0; i < 4; ++i) {
    uint32x4_t w[4];
    for (int j = 0; j < 4; ++j) w[j] = vpaddlq_u16(wide[4 * i + j]);
    vst1q_u32(sums + 4 * i, vpaddq_u32(vpaddq_u32(w[0], w[1]), vpaddq_u32(w[2], w[3])));
  }
}

}  // namespace

const BitTile* bit_tile_neon() {
  static const BitTile tile{"neon", 2, &count};
  return &tile;
}

}  // namespace tessera
#else
namespace tessera {
const BitTile* bit_tile_neon() { return nullptr; }
}  // namespace tessera
#endif
