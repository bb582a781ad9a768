// SPDX-License-Identifier: Apache-2.0
#include "tessera/matrix/forms/strips.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "support/arrays.hpp"
#include "tessera/kernels/bitmatmul/bitmatmul.hpp"

namespace tessera {
namespace {

constexpr i64 sizes[] = {0, 1, 2, 31, 32, 33, 63, 64, 65, 511, 513, 1000};

// Nonzero everywhere, so that what must not be read shows.
std::vector<double> numbers(i64 n) {
  std::vector<double> v(static_cast<std::size_t>(n * n));
  for (std::size_t k = 0; k < v.size(); ++k) v[k] = static_cast<double>(k * 7 % 97 + 1);
  return v;
}

double entry(const std::vector<double>& v, i64 n, i64 i, i64 j) {
  return v[static_cast<std::size_t>(i * n + j)];
}

TEST(Strips, CoverTheUpperHalfOnce) {
  for (const bool bits : {false, true})
    for (const i64 n : sizes) {
      const Strips s(n, bits);
      i64 row = 0, offset = 0;
      for (const Strip& t : s.list()) {
        EXPECT_EQ(t.begin, row);
        EXPECT_EQ(t.offset, offset);
        EXPECT_EQ(t.width, bits ? bit_words(n - t.begin) : n - t.begin);
        EXPECT_EQ(t.begin % (bits ? 512 : 1), 0);
        row = t.end;
        offset += (t.end - t.begin) * t.width;
      }
      EXPECT_EQ(row, n);
      EXPECT_EQ(offset, s.elements());
    }
  EXPECT_LT(Strips(5000, false).elements(), 5000 * 5000 / 2 * 1.05);
  EXPECT_LT(Strips(40000, true).elements(), 40000 * (40000 / 64) / 2 * 1.07);
  EXPECT_THROW(Strips(-1, false), ShapeError);
}

TEST(Strips, PackedAndUnpackedIsTheTriangle) {
  for (const i64 n : sizes)
    for (const bool strict : {false, true}) {
      const std::vector<double> v = numbers(n);
      const Array full = laid_out(DType::f32, {n, n}, v, Lay::gaps);
      const Strips s(n, false);
      const Array data = s.pack(full, strict);
      ASSERT_EQ(data.shape(), Shape{s.elements()});
      const auto upper = numbers_of(s.unpack(data)), same = numbers_of(s.unpack(data, Below::same)),
                 negative = numbers_of(s.unpack(data, Below::negative));
      const auto packed = numbers_of(data);
      i64 wrong = 0;
      for (i64 i = 0; i < n; ++i)
        for (i64 j = 0; j < n; ++j) {
          const std::size_t at = static_cast<std::size_t>(i * n + j);
          const i64 low = std::min(i, j), high = std::max(i, j);
          const double half = i == j && strict ? 0 : entry(v, n, low, high);
          wrong += upper[at] != (i <= j ? half : 0.0);
          wrong += same[at] != half;
          wrong += negative[at] != (i <= j ? half : -half);
          if (i <= j) wrong += packed[static_cast<std::size_t>(s.place(i, j))] != half;
        }
      EXPECT_EQ(wrong, 0) << n << (strict ? " strict" : "");
    }
}

TEST(Strips, CornersAreZero) {
  const i64 n = 70;
  const Strips s(n, false, 30);
  const Array data = s.pack(laid_out(DType::f64, {n, n}, numbers(n), Lay::exchanged), true);
  for (const Strip& t : s.list()) {
    const auto part = numbers_of(s.part(data, t));
    for (i64 i = 0; i < t.end - t.begin; ++i)
      for (i64 j = 0; j <= i; ++j)
        EXPECT_EQ(part[static_cast<std::size_t>(i * t.width + j)], 0.0) << i << " " << j;
  }
}

TEST(Strips, EveryDtype) {
  const i64 n = 37;
  std::vector<double> v = numbers(n);
  for (double& x : v) x = static_cast<double>(static_cast<i64>(x) % 2);
  for (int k = 0; k < dtype_count; ++k) {
    const DType t = static_cast<DType>(k);
    const Strips s(n, false);
    const auto got = numbers_of(s.unpack(s.pack(laid_out(t, {n, n}, v), false)));
    i64 wrong = 0;
    for (i64 i = 0; i < n; ++i)
      for (i64 j = 0; j < n; ++j)
        wrong += got[static_cast<std::size_t>(i * n + j)] != (i <= j ? entry(v, n, i, j) : 0.0);
    EXPECT_EQ(wrong, 0) << name(t);
  }
}

TEST(Strips, OfBits) {
  for (const i64 n : {i64{0}, i64{1}, i64{2}, i64{63}, i64{64}, i64{65}, i64{511}, i64{512},
                      i64{513}, i64{1100}}) {
    std::vector<double> v = numbers(n);
    for (double& x : v) x = static_cast<double>(static_cast<i64>(x) % 3 == 0);
    const Bits full = bit_pack(laid_out(DType::b1, {n, n}, v));
    const Strips s(n, true);
    const Array data = s.pack(full.words, true);
    const Array again = s.unpack(data);
    ASSERT_EQ(again.shape(), full.words.shape());
    const auto got = values_of<bool>(bit_unpack({again, n}));
    const auto words = values_of<std::uint64_t>(again), packed = values_of<std::uint64_t>(data);
    i64 wrong = 0;
    for (i64 i = 0; i < n; ++i) {
      for (i64 j = 0; j < n; ++j) {
        const bool expected = i < j && entry(v, n, i, j) != 0;
        wrong += got[static_cast<std::size_t>(i * n + j)] != expected;
        if (i < j)
          wrong += (packed[static_cast<std::size_t>(s.place(i, j))] >> (j % 64) & 1) != expected;
      }
      for (i64 j = n; j < bit_words(n) * 64; ++j)  // padding
        wrong += static_cast<i64>(
            words[static_cast<std::size_t>(i * bit_words(n) + j / 64)] >> (j % 64) & 1);
    }
    EXPECT_EQ(wrong, 0) << n;
  }
}

TEST(Strips, CornersAreClearedWhereTheyLie) {
  for (const i64 n : sizes)
    for (const bool strict : {false, true}) {
      const Strips s(n, false);
      const Array full = laid_out(DType::f64, {n, n}, numbers(n), Lay::gaps);
      const Array packed = s.pack(full, strict), data = s.pack(full, false);
      for (const Strip& t : s.list()) {  // what a product with infinity leaves behind
        const Array part = s.part(data, t);
        for (i64 i = 1; i < t.end - t.begin; ++i)
          part.select(0, i).slice(0, 0, i).fill(Value(std::numeric_limits<double>::quiet_NaN()));
      }
      s.clear_corners(data, strict);
      EXPECT_EQ(numbers_of(data), numbers_of(packed)) << n << " " << strict;
    }
}

}  // namespace
}  // namespace tessera
