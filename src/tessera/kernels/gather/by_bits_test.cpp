// SPDX-License-Identifier: Apache-2.0
// One number where a mask says so, as bits and as truth values: elements of every size, whole words
// and what is left of one, and nothing else is written.
#include "tessera/kernels/gather/by_bits.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "support/rng.hpp"
#include "tessera/array/index.hpp"
#include "tessera/base/error.hpp"
#include "tessera/kernels/copy/copy.hpp"

namespace tessera {
namespace {

constexpr i64 margin = 5;  // elements before and behind that stay

Array line_of(i64 n, DType dtype) {
  return arange(Value(0), Value(n), Value(1), DType::i64).astype(dtype);
}

bool bytes_equal(const Array& a, const Array& b) {
  return a.bytes() == b.bytes() &&
         std::memcmp(a.host_data(), b.host_data(), static_cast<std::size_t>(a.bytes())) == 0;
}

}  // namespace

TEST(ByBits, EveryElementSizeAndLength) {
  Rng rng(3);
  for (const DType dtype :
       {DType::b1, DType::u8, DType::i16, DType::f32, DType::f64, DType::i64, DType::c128})
    for (const i64 n : {0, 1, 7, 8, 9, 63, 64, 65, 200, 70000})
      for (const int often : {0, 1, 3, 4}) {  // of four
        std::vector<std::uint64_t> bits(static_cast<std::size_t>((n + 63) / 64));
        const Array mask = Array::empty({n}, DType::b1, cpu);
        const Array one = full({}, Value(1), dtype, cpu);
        const Array by_bits = line_of(n + 2 * margin, dtype), by_mask = by_bits.copy(),
                    expected = by_bits.copy();
        for (i64 i = 0; i < n; ++i) {
          const bool truth = below(rng, 4) < often;
          mask.host<bool>()[i] = truth;
          if (!truth) continue;
          bits[static_cast<std::size_t>(i / 64)] |= std::uint64_t{1} << (i % 64);
          std::memcpy(static_cast<std::byte*>(expected.host_data()) + (margin + i) * size_of(dtype),
                      one.host_data(), static_cast<std::size_t>(size_of(dtype)));
        }
        ASSERT_TRUE(assign_by_bits(by_bits.slice(0, margin, margin + n), bits, one));
        by_mask.slice(0, margin, margin + n).assign(Index(mask), one);
        EXPECT_TRUE(bytes_equal(by_bits, expected)) << name(dtype) << ' ' << n << ' ' << often;
        EXPECT_TRUE(bytes_equal(by_mask, expected)) << name(dtype) << ' ' << n << ' ' << often;
      }
}

TEST(ByBits, TheNumberIsCastAndMayBeAnElement) {
  const std::vector<std::uint64_t> bits{0b1011};
  const Array x = line_of(4, DType::i64);
  ASSERT_TRUE(assign_by_bits(x, bits, full({}, Value(7.9), DType::f64, cpu)));
  EXPECT_TRUE(bytes_equal(x, Array::of<i64>({7, 7, 2, 7})));
  ASSERT_TRUE(assign_by_bits(x, bits, x.slice(0, 2, 3)));
  EXPECT_TRUE(bytes_equal(x, Array::of<i64>({2, 2, 2, 2})));
}

TEST(ByBits, WhatIsNoDenseLineIsLeftAlone) {
  const std::vector<std::uint64_t> bits{0b11};
  const Array table = line_of(6, DType::f64).reshape({2, 3}), before = table.copy();
  const Array one = full({}, Value(9), DType::f64, cpu);
  EXPECT_FALSE(assign_by_bits(table, bits, one));
  EXPECT_FALSE(assign_by_bits(table.view(table.layout().select(1, 0)), bits, one));
  EXPECT_FALSE(assign_by_bits(table.view(table.layout().select(0, 0)), bits, table));
  EXPECT_TRUE(bytes_equal(table, before));
}

}  // namespace tessera
