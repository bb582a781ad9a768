// SPDX-License-Identifier: Apache-2.0
// Codes of bytes: all numbers of codes give back what went in, are nearly as short as can be, and
// streams of anything else are refused without a look beyond them.
#include "tessera/distributed/wire/huffman.hpp"

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

struct Coded {
  std::vector<std::byte> stream;  // with eight bytes more
  i64 bits = 0;
};
Coded coded(const HuffmanCode& code, const Bytes& bytes) {
  Coded c{std::vector<std::byte>(static_cast<std::size_t>(HuffmanCode::room(std::ssize(bytes)))),
          0};
  c.bits = code.encode(bytes, c.stream.data());
  c.stream.resize(static_cast<std::size_t>((c.bits + 7) / 8 + 8));
  return c;
}
bool read(const HuffmanCode& code, Bytes& bytes, const Coded& c, i64 bits) {
  const HuffmanCode::Stream stream{&code, c.stream.data(), bits, bytes};
  return HuffmanCode::decode({&stream, 1});
}

double entropy(double part) { return -part * std::log2(part) - (1 - part) * std::log2(1 - part); }

}  // namespace

TEST(HuffmanCode, EveryCodeGivesBytesBack) {
  std::mt19937_64 rng(1);
  for (int number = 0; number < HuffmanCode::count; ++number)
    for (const std::size_t n : {0, 1, 2, 7, 8, 9, 500}) {
      const HuffmanCode& code = HuffmanCode::of(number);
      for (const int d : {number, 32}) {  // those that it suits, and any
        const Bytes bytes = any_bytes(rng, n, d);
        Bytes back(n, 0xa5);
        const Coded c = coded(code, bytes);
        ASSERT_TRUE(read(code, back, c, c.bits));
        EXPECT_EQ(back, bytes);
      }
    }
}

TEST(HuffmanCode, StreamsAreReadTogether) {
  std::mt19937_64 rng(4);
  std::vector<Bytes> bytes, back;
  std::vector<Coded> all;
  std::vector<HuffmanCode::Stream> streams;
  for (const int n : {400, 0, 3, 1000, 17, 999}) {  // of any lengths, each in a code of its own
    const int d = 5 + n % 50;
    bytes.push_back(any_bytes(rng, static_cast<std::size_t>(n), d));
    back.emplace_back(static_cast<std::size_t>(n), std::uint8_t{0xa5});
    all.push_back(coded(HuffmanCode::of(d), bytes.back()));
    streams.push_back({&HuffmanCode::of(d), nullptr, all.back().bits, {}});
  }
  for (std::size_t k = 0; k < all.size(); ++k) {
    streams[k].from = all[k].stream.data();
    streams[k].bytes = back[k];
  }
  EXPECT_TRUE(HuffmanCode::decode(streams));
  EXPECT_EQ(back, bytes);
  streams[3].bits -= 1;
  EXPECT_FALSE(HuffmanCode::decode(streams));
  EXPECT_TRUE(HuffmanCode::decode({}));
}

TEST(HuffmanCode, IsNearlyAsShortAsCanBe) {
  std::mt19937_64 rng(2);
  for (int d = 6; d <= 58; ++d) {
    const Bytes bytes = any_bytes(rng, 20000, d);
    const double least = 8 * 20000 * entropy(d / 64.0);
    EXPECT_LT(static_cast<double>(coded(HuffmanCode::of(d), bytes).bits), 1.04 * least) << d;
  }
  EXPECT_EQ(HuffmanCode::suited(1000, 4000), 16);
  EXPECT_EQ(HuffmanCode::suited(0, 0), 1);
  EXPECT_EQ(HuffmanCode::suited(4000, 4000), HuffmanCode::count - 1);
}

TEST(HuffmanCode, OtherStreamsAreRefused) {
  std::mt19937_64 rng(3);
  const HuffmanCode& code = HuffmanCode::of(16);
  const Bytes bytes = any_bytes(rng, 100, 16);
  const Coded c = coded(code, bytes);
  const i64 bits = c.bits;
  for (const i64 other : {i64{0}, i64{1}, bits / 2, bits - 1, bits + 1}) {
    Bytes back(100);
    EXPECT_FALSE(read(code, back, c, other)) << other;
  }
  for (const std::size_t n : {99, 101}) {
    Bytes back(n);
    EXPECT_FALSE(read(code, back, c, bits)) << n;
  }
}

}  // namespace tessera::dist
