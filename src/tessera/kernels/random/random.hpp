// SPDX-License-Identifier: Apache-2.0
#pragma once
// Counter-based random numbers (Philox 4x32-10): element i of draw number n of a seed is a pure
// function of (seed, n, i), so the numbers do not depend on threads, tiles, devices or ranks. A
// block of 128 bits serves as many elements as it has words for (random_functors.hpp).
//   Random r(42);   Array x = r.normal({3, 4}, DType::f32, device);

#include "tessera/array/array.hpp"
#include "tessera/kernels/kernel.hpp"

namespace tessera {

enum class Distribution : std::uint8_t { bits, uniform, normal, integers };

// Operands of a launch: out. Element with row-major position p of the shape is the one that draw
// has at first + p, or, when out is a block of a wider array whose rows of `row` elements lie
// `pitch` positions apart, at first + p / row * pitch + p % row.
// bits: uint64; uniform: [low, high) float; normal: mean low, deviation high (complex: both parts,
// each with deviation high/sqrt(2)); integers: [low, low + range) without bias.
struct RandomSpec {
  Distribution distribution = Distribution::uniform;
  std::uint64_t seed = 0, draw = 0;
  i64 first = 0, row = 0, pitch = 0;  // row = 0: one after the other
  double low = 0, high = 1;
  i64 integer_low = 0;
  std::uint64_t integer_range = 0;  // 0 = 2^64
  Operand out;
};

// The block of counter (draw, block) under a key; shared by all kernels.
struct Philox {
  std::uint32_t word[4];
};
TESSERA_HOST_DEVICE inline Philox philox(std::uint64_t seed, std::uint64_t draw,
                                         std::uint64_t block) {
  std::uint32_t k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
  Philox c{{static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
            static_cast<std::uint32_t>(draw), static_cast<std::uint32_t>(draw >> 32)}};
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53u} * c.word[0],
                        b = std::uint64_t{0xCD9E8D57u} * c.word[2];
    c = {{static_cast<std::uint32_t>(b >> 32) ^ c.word[1] ^ k0, static_cast<std::uint32_t>(b),
          static_cast<std::uint32_t>(a >> 32) ^ c.word[3] ^ k1, static_cast<std::uint32_t>(a)}};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c;
}

// A source of draws: each call takes the next draw number. Copying copies the state.
class TESSERA_API Random {
 public:
  explicit Random(std::uint64_t seed, std::uint64_t draw = 0) : seed_(seed), draw_(draw) {}
  std::uint64_t seed() const { return seed_; }
  std::uint64_t draw() const { return draw_; }  // the number of the next one
  Array uniform(const Shape& shape, DType dtype, Device device = cpu, double low = 0,
                double high = 1);
  Array normal(const Shape& shape, DType dtype, Device device = cpu, double mean = 0,
               double deviation = 1);
  Array integers(i64 low, i64 high, const Shape& shape, DType dtype = DType::i64,
                 Device device = cpu);
  Array permutation(i64 n, Device device = cpu);

  // The same draws for a part of an array: the numbers that the next draw gives, checked as above.
  // `out`, and `first`, `row` and `pitch` for parts, are set by draw_into and the caller.
  RandomSpec next_uniform(DType dtype, double low = 0, double high = 1);
  RandomSpec next_normal(DType dtype, double mean = 0, double deviation = 1);
  RandomSpec next_integers(i64 low, i64 high, DType dtype);

 private:
  RandomSpec next(Distribution distribution);

  std::uint64_t seed_, draw_;
};

TESSERA_API void draw_into(const Array& out, RandomSpec spec);

}  // namespace tessera
