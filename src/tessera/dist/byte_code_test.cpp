// SPDX-License-Identifier: Apache-2.0
// Codes of bytes: all numbers of codes give back what went in, are nearly as short as can be, and
// streams of anything else are refused without a look beyond them.
#include "tessera/dist/byte_code.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

namespace tessera::dist {
namespace {

using Bytes = std::vector<std::uint8_t>;

// `n` bytes of which about d in 64 bits are set.
Bytes any_bytes(std::mt19937_64& rng, std::size_t n, int d) {
  Bytes bytes(n);
  for (std::uint8_t& b : bytes)
    for (unsigned bit = 0; bit < 8; ++bit)
      b = static_cast<std::uint8_t>(b | (static_cast<int>(rng() % 64) < d ? 1U << bit : 0U));
  return bytes;
}

std::vector<std::uint64_t> stream_of(const ByteCode& code, const Bytes& bytes) {
  std::vector<std::uint64_t> words(static_cast<std::size_t>(code.bits(bytes) / 64 + 2));
  code.encode(bytes, words);
  return words;
}
bool read(const ByteCode& code, Bytes& bytes, const std::vector<std::uint64_t>& words, i64 bits) {
  return code.decode(bytes, reinterpret_cast<const std::byte*>(words.data()), bits);
}

double entropy(double part) { return -part * std::log2(part) - (1 - part) * std::log2(1 - part); }

}  // namespace

TEST(ByteCode, EveryCodeGivesBytesBack) {
  std::mt19937_64 rng(1);
  for (int number = 0; number < ByteCode::count; ++number)
    for (const std::size_t n : {0, 1, 2, 7, 8, 9, 500}) {
      const ByteCode& code = ByteCode::of(number);
      for (const int d : {number, 32}) {  // those that it suits, and any
        const Bytes bytes = any_bytes(rng, n, d);
        Bytes back(n, 0xa5);
        ASSERT_TRUE(read(code, back, stream_of(code, bytes), code.bits(bytes)));
        EXPECT_EQ(back, bytes);
      }
    }
}

TEST(ByteCode, IsNearlyAsShortAsCanBe) {
  std::mt19937_64 rng(2);
  for (int d = 6; d <= 58; ++d) {
    const Bytes bytes = any_bytes(rng, 20000, d);
    const double least = 8 * 20000 * entropy(d / 64.0);
    EXPECT_LT(static_cast<double>(ByteCode::of(d).bits(bytes)), 1.04 * least) << d;
  }
  EXPECT_EQ(ByteCode::suited(1000, 4000), 16);
  EXPECT_EQ(ByteCode::suited(0, 0), 1);
  EXPECT_EQ(ByteCode::suited(4000, 4000), ByteCode::count - 1);
}

TEST(ByteCode, OtherStreamsAreRefused) {
  std::mt19937_64 rng(3);
  const ByteCode& code = ByteCode::of(16);
  const Bytes bytes = any_bytes(rng, 100, 16);
  const std::vector<std::uint64_t> words = stream_of(code, bytes);
  const i64 bits = code.bits(bytes);
  for (const i64 other : {i64{0}, i64{1}, bits / 2, bits - 1, bits + 1}) {
    Bytes back(100);
    EXPECT_FALSE(read(code, back, words, other)) << other;
  }
  for (const std::size_t n : {99, 101}) {
    Bytes back(n);
    EXPECT_FALSE(read(code, back, words, bits)) << n;
  }
}

}  // namespace tessera::dist
