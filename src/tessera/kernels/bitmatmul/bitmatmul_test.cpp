// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/bitmatmul/bitmatmul.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "support/arrays.hpp"
#include "tessera/device/memory.hpp"
#include "tessera/kernels/bitmatmul/tile.hpp"
#include "tessera/kernels/eager.hpp"

namespace tessera {
namespace {

using Words = std::vector<std::uint64_t>;

// Zeros and ones, row-major, as bytes: what the bits are checked against.
struct Plain {
  i64 batch = 1, rows = 0, columns = 0;
  std::vector<std::uint8_t> v;
  int at(i64 b, i64 i, i64 j) const {
    return v[static_cast<std::size_t>((b * rows + i) * columns + j)];
  }
};

Plain random_bits(i64 batch, i64 rows, i64 columns, unsigned seed, double density = 0.5,
                  bool upper = false) {
  Plain p{batch, rows, columns, {}};
  std::mt19937 engine(seed);
  std::bernoulli_distribution coin(density);
  for (i64 b = 0; b < batch; ++b)
    for (i64 i = 0; i < rows; ++i)
      for (i64 j = 0; j < columns; ++j)
        p.v.push_back(static_cast<std::uint8_t>(coin(engine) && (!upper || j > i)));
  return p;
}

Shape shape_of(const Plain& p, i64 columns) {
  return p.batch == 1 ? Shape{p.rows, columns} : Shape{p.batch, p.rows, columns};
}

// Words on the device under test, in rows that lie `gap` words further apart than they must.
Bits bits_of(const Plain& p, i64 gap = 0) {
  const i64 words = bit_words(p.columns), step = words + gap;
  Words w(static_cast<std::size_t>(p.batch * p.rows * step), 0xeeeeeeeeeeeeeeee);
  for (i64 r = 0; r < p.batch * p.rows; ++r) {
    for (i64 x = 0; x < words; ++x) w[static_cast<std::size_t>(r * step + x)] = 0;
    for (i64 j = 0; j < p.columns; ++j)
      w[static_cast<std::size_t>(r * step + j / 64)] |=
          static_cast<std::uint64_t>(p.v[static_cast<std::size_t>(r * p.columns + j)]) << (j % 64);
  }
  const Array all = laid_out<std::uint64_t>(shape_of(p, step), w);
  return {all.slice(all.ndim() - 1, 0, words), p.columns};
}

// The matrix that words mean; the padding of every row must be zero.
Plain plain_of(const Bits& x, i64 batch) {
  const Words w = values_of<std::uint64_t>(x.words);
  const i64 words = bit_words(x.columns);
  Plain p{batch, x.rows(), x.columns, {}};
  for (i64 r = 0; r < p.batch * p.rows; ++r)
    for (i64 j = 0; j < words * 64; ++j) {
      const auto bit = w[static_cast<std::size_t>(r * words + j / 64)] >> (j % 64) & 1;
      if (j < p.columns) {
        p.v.push_back(static_cast<std::uint8_t>(bit));
      } else {
        EXPECT_EQ(bit, 0u) << "padding of row " << r << " at " << j;
      }
    }
  return p;
}

std::vector<i64> counts_of(const Plain& a, const Plain& b) {
  std::vector<i64> c(static_cast<std::size_t>(a.batch * a.rows * b.columns), 0);
  for (i64 s = 0; s < a.batch; ++s)
    for (i64 i = 0; i < a.rows; ++i)
      for (i64 k = 0; k < a.columns; ++k)
        if (a.at(s, i, k) != 0)
          for (i64 j = 0; j < b.columns; ++j)
            c[static_cast<std::size_t>((s * a.rows + i) * b.columns + j)] += b.at(s, k, j);
  return c;
}

std::vector<i64> integers_of(const Array& x) {
  std::vector<i64> v;
  for (const auto& z : numbers_of(x)) v.push_back(static_cast<i64>(z.real()));
  return v;
}

struct Size {
  i64 batch, m, k, n;
};
const Size sizes[] = {
    {1, 1, 1, 1},      {1, 63, 64, 65},   {1, 65, 63, 1},      {1, 1, 127, 130},
    {1, 127, 513, 64}, {1, 513, 65, 127}, {1, 130, 1000, 257}, {1, 5, 20011, 3},
    {3, 7, 65, 9},     {4, 66, 130, 3},   {2, 50, 9000, 37},   {1, 1000, 127, 513},
    {1, 0, 5, 3},      {1, 3, 5, 0},      {1, 3, 0, 4},        {0, 3, 4, 5}};

TEST(Bits, PackingAndUnpackingEveryTypeAndLayout) {
  for (i64 columns : {i64{0}, i64{1}, i64{63}, i64{64}, i64{65}, i64{513}})
    for (DType t : {DType::b1, DType::i8, DType::u16, DType::i32, DType::i64, DType::f16,
                    DType::f32, DType::f64, DType::c64, DType::c128})
      for (Lay lay : all_lays) {
        const Plain p = random_bits(2, 5, columns, 7);
        const std::vector<double> v(p.v.begin(), p.v.end());
        const Bits x = bit_pack(laid_out(t, {2, 5, columns}, v, lay));
        EXPECT_EQ(x.columns, columns);
        EXPECT_EQ(plain_of(x, 2).v, p.v);
        EXPECT_EQ(integers_of(bit_unpack(x, t)), std::vector<i64>(p.v.begin(), p.v.end()));
      }
}

TEST(Bits, EveryBytePacksAsTrueUnlessZero) {
  std::vector<std::uint8_t> v;
  for (int i = 0; i < 256; ++i) v.push_back(static_cast<std::uint8_t>(i));
  const Plain p = plain_of(bit_pack(laid_out<std::uint8_t>({2, 128}, v)), 1);
  for (std::size_t i = 0; i < 256; ++i) EXPECT_EQ(p.v[i], i == 0 ? 0 : 1);
}

TEST(Bits, TransposingEverySize) {
  for (const Size& s : sizes)
    for (i64 gap : {i64{0}, i64{3}}) {
      const Plain p = random_bits(s.batch, s.m, s.k, 3);
      const Bits t = bit_transpose(bits_of(p, gap));
      EXPECT_EQ(t.columns, s.m);
      const Plain q = plain_of(t, s.batch);
      ASSERT_EQ(q.v.size(), p.v.size());
      i64 wrong = 0;
      for (i64 b = 0; b < s.batch; ++b)
        for (i64 i = 0; i < s.m; ++i)
          for (i64 j = 0; j < s.k; ++j) wrong += q.at(b, j, i) != p.at(b, i, j);
      EXPECT_EQ(wrong, 0) << s.m << " x " << s.k;
    }
}

TEST(Bits, CountsOfEverySize) {
  for (const Size& s : sizes) {
    const Plain a = random_bits(s.batch, s.m, s.k, 1), b = random_bits(s.batch, s.k, s.n, 2);
    const std::vector<i64> expected = counts_of(a, b);
    for (DType t : {DType::i32, DType::i64})
      for (i64 gap : {i64{0}, i64{1}, i64{8}}) {
        const Array c = bit_counts(bits_of(a, gap), bits_of(b, gap), {.dtype = t});
        EXPECT_EQ(c.dtype(), t);
        ASSERT_EQ(integers_of(c), expected)
            << s.batch << " of " << s.m << " x " << s.k << " x " << s.n << " gap " << gap;
      }
  }
}

TEST(Bits, CountsIntoAnyLayoutAndBroadcast) {
  const Plain a = random_bits(1, 37, 700, 1), b = random_bits(3, 700, 70, 2);
  const Bits left = bits_of(a), right = bit_transpose(bits_of(b));
  Plain all = a;
  all.batch = 3;
  for (int i = 0; i < 2; ++i) all.v.insert(all.v.end(), a.v.begin(), a.v.end());
  const auto expected = counts_of(all, b);
  EXPECT_EQ(integers_of(bit_counts(left, right, {.transposed = true})), expected);
  for (Lay lay : all_lays) {
    const Array out =
        laid_out<std::int32_t>({3, 37, 70}, std::vector<std::int32_t>(3 * 37 * 70, -7), lay);
    BitMatmulSpec spec;
    spec.a = {left.words.layout().broadcast_to({3, 37, bit_words(700)}), DType::u64};
    spec.b = operand_of(right.words);
    spec.out = operand_of(out);
    spec.inner = 700;
    launch_now(&KernelTable::bitmatmul, "counts", spec, out.device(),
               {&left.words, &right.words, &out});
    EXPECT_EQ(integers_of(out), expected);
  }
}

TEST(Bits, FullRowsCountEveryBit) {  // no partial sum may wrap: all bits are set
  for (i64 k : {i64{512}, i64{9000}, i64{40000}}) {
    const Plain a = random_bits(1, 5, k, 1, 1.0), b = random_bits(1, k, 6, 1, 1.0);
    EXPECT_EQ(integers_of(bit_counts(bits_of(a), bits_of(b))), std::vector<i64>(30, k));
  }
}

TEST(Bits, StrictlyUpperTriangularCounts) {
  for (i64 n : {i64{1}, i64{3}, i64{65}, i64{127}, i64{513}, i64{700}}) {
    const Plain a = random_bits(1, n, n, 1, 0.5, true), b = random_bits(1, n, n, 2, 0.5, true);
    EXPECT_EQ(integers_of(bit_counts(bits_of(a), bits_of(b), {.upper = true})), counts_of(a, b))
        << n;
  }
  const Plain a = random_bits(2, 300, 300, 1, 0.9, true),
              b = random_bits(2, 300, 300, 2, 0.9, true);
  EXPECT_EQ(integers_of(bit_counts(bits_of(a, 2), bits_of(b, 2), {.upper = true})),
            counts_of(a, b));
}

TEST(Bits, TrianglesLongerThanAPanel) {  // some rows against the dense product, proven above
  const i64 n = 8400, words = bit_words(n);
  const i64 budget = memory_stats(test_device()).budget;
  if (budget > 0 && budget < 5 * n * n) GTEST_SKIP() << "the counts alone are 269 MiB";
  Words w(static_cast<std::size_t>(n * words), 0);
  std::mt19937_64 engine(4);
  for (i64 i = 0; i < n; ++i)
    for (i64 x = (i + 1) / 64; x * 64 < n; ++x) {
      std::uint64_t word = engine();
      if (x == (i + 1) / 64) word &= ~std::uint64_t{0} << ((i + 1) % 64);
      if (n - x * 64 < 64) word &= (std::uint64_t{1} << (n - x * 64)) - 1;
      w[static_cast<std::size_t>(i * words + x)] = word;
    }
  const Bits x{laid_out<std::uint64_t>({n, words}, w), n};
  const Array upper = bit_counts(x, x, {.upper = true}).slice(0, 3, n, 701);
  const Array dense = bit_counts({x.words.slice(0, 3, n, 701), n}, x);
  EXPECT_EQ(values_of<std::int32_t>(upper), values_of<std::int32_t>(dense));
}

TEST(Bits, AnyOfEverySize) {
  for (const Size& s : sizes)
    for (double density : {0.02, 0.5}) {
      const Plain a = random_bits(s.batch, s.m, s.k, 1, density),
                  b = random_bits(s.batch, s.k, s.n, 2, density);
      const Bits c = bit_any(bits_of(a, 5), bits_of(b, 3));
      EXPECT_EQ(c.columns, s.n);
      std::vector<std::uint8_t> expected;
      for (i64 n : counts_of(a, b)) expected.push_back(n > 0);
      ASSERT_EQ(plain_of(c, s.batch).v, expected) << s.m << " x " << s.k << " x " << s.n;
    }
}

TEST(Bits, ClosureIsWarshalls) {
  for (i64 n : {i64{0}, i64{1}, i64{15}, i64{65}, i64{127}, i64{300}, i64{513}})
    for (double degree : {0.5, 1.1, 3.0}) {
      const double density = std::min(1.0, degree / static_cast<double>(std::max<i64>(n, 1)));
      Plain p = random_bits(1, n, n, static_cast<unsigned>(n), density);
      const Plain q = plain_of(bit_closure(bits_of(p, 4)), 1);
      for (i64 k = 0; k < n; ++k)
        for (i64 i = 0; i < n; ++i)
          if (p.at(0, i, k) != 0)
            for (i64 j = 0; j < n; ++j)
              p.v[static_cast<std::size_t>(i * n + j)] |= p.v[static_cast<std::size_t>(k * n + j)];
      ASSERT_EQ(q.v, p.v) << n << " vertices";
    }
}

TEST(Bits, AChainReachesItsEnd) {
  Plain p{2, 200, 200, std::vector<std::uint8_t>(2 * 200 * 200, 0)};
  for (std::size_t i = 0; i + 1 < 200; ++i) p.v[i * 200 + i + 1] = 1;          // upwards
  for (std::size_t i = 1; i < 200; ++i) p.v[200 * 200 + i * 200 + i - 1] = 1;  // downwards
  const Plain q = plain_of(bit_closure(bits_of(p)), 2);
  for (i64 i = 0; i < 200; ++i)
    for (i64 j = 0; j < 200; ++j) {
      ASSERT_EQ(q.at(0, i, j), j > i);
      ASSERT_EQ(q.at(1, i, j), j < i);
    }
}

// Small integers: sums are exact in every type that holds them.
std::vector<double> small_numbers(i64 n, i64 range) {
  std::vector<double> v;
  for (i64 i = 0; i < n; ++i) v.push_back(static_cast<double>(i * 7919 % (2 * range + 1) - range));
  return v;
}

std::vector<double> sums_of(const Plain& a, const std::vector<double>& b, i64 n) {
  std::vector<double> c(static_cast<std::size_t>(a.batch * a.rows * n), 0);
  for (i64 s = 0; s < a.batch; ++s)
    for (i64 i = 0; i < a.rows; ++i)
      for (i64 k = 0; k < a.columns; ++k)
        if (a.at(s, i, k) != 0)
          for (i64 j = 0; j < n; ++j)
            c[static_cast<std::size_t>((s * a.rows + i) * n + j)] +=
                b[static_cast<std::size_t>((s * a.columns + k) * n + j)];
  return c;
}

void expect_numbers(const Array& got, const std::vector<double>& expected,
                    const std::string& what) {
  const auto v = numbers_of(got);
  ASSERT_EQ(v.size(), expected.size()) << what;
  for (std::size_t i = 0; i < v.size(); ++i) ASSERT_EQ(v[i], expected[i]) << what << " at " << i;
}

TEST(Bits, SumsOfRowsOfEveryTypeSizeAndLayout) {
  std::size_t turn = 0;
  for (const Size& s : sizes) {
    if (s.k > 2000) continue;
    for (DType t : {DType::i8, DType::i16, DType::i32, DType::i64, DType::u16, DType::f32,
                    DType::f64, DType::c64, DType::c128}) {
      const Plain a = random_bits(s.batch, s.m, s.k, 1, t == DType::i8 ? 0.02 : 0.5);
      auto v = small_numbers(s.batch * s.k * s.n, t == DType::i8 ? 1 : 9);
      if (t == DType::u16)
        for (double& x : v) x += 9;
      const Shape shape = s.batch == 1 ? Shape{s.k, s.n} : Shape{s.batch, s.k, s.n};
      const Array c = bit_dense(bits_of(a, 2), laid_out(t, shape, v, all_lays[turn++ % 4]));
      EXPECT_EQ(c.dtype(), t);
      expect_numbers(c, sums_of(a, v, s.n),
                     cat(name(t), " ", s.batch, " ", s.m, " ", s.k, " ", s.n));
    }
  }
}

TEST(Bits, NumbersTimesBitsAndVectors) {
  const Plain b = random_bits(1, 130, 201, 5);
  const auto v = small_numbers(70 * 130, 9);
  std::vector<double> expected(70 * 201, 0);
  for (std::size_t i = 0; i < 70; ++i)
    for (std::size_t k = 0; k < 130; ++k)
      for (std::size_t j = 0; j < 201; ++j)
        expected[i * 201 + j] += v[i * 130 + k] * b.v[k * 201 + j];
  for (DType t : {DType::i16, DType::f64, DType::c64})
    for (Lay lay : all_lays)
      expect_numbers(dense_bit(laid_out(t, {70, 130}, v, lay), bits_of(b)), expected, to_text(t));
  const std::vector<double> row(v.begin(), v.begin() + 130);
  const Array product = dense_bit(laid_out(DType::f64, {130}, row), bits_of(b));
  EXPECT_EQ(product.shape(), (Shape{201}));
  expect_numbers(product, {expected.begin(), expected.begin() + 201}, "row");
  for (i64 m : {i64{5}, i64{300}}) {
    const Plain a = random_bits(1, m, 130, 6);
    const Array y = bit_dense(bits_of(a), laid_out(DType::f32, {130}, row, Lay::gaps));
    EXPECT_EQ(y.shape(), (Shape{m}));
    expect_numbers(y, sums_of(a, row, 1), "vector");
  }
}

// A bit that is not set selects nothing: no infinity meets a zero.
TEST(Bits, NumbersThatAreNotFinite) {
  const double inf = std::numeric_limits<double>::infinity(),
               nan = std::numeric_limits<double>::quiet_NaN();
  for (const auto& [m, k, n] : {std::array<i64, 3>{5, 201, 1}, {300, 201, 7}, {130, 1100, 3}})
    for (DType t : {DType::f32, DType::f64, DType::c64, DType::c128}) {
      const Plain a = random_bits(1, m, k, 7, 0.02);
      auto v = small_numbers(k * n, 9);
      for (const auto& [row, x] : {std::pair<i64, double>(3, inf), {64, -inf}, {k - 1, nan}})
        v[static_cast<std::size_t>(row * n + row % n)] = x;
      const std::vector<double> expected = sums_of(a, v, n);
      for (Lay lay : all_lays) {
        const auto got = numbers_of(bit_dense(bits_of(a, 2), laid_out(t, {k, n}, v, lay)));
        for (std::size_t i = 0; i < got.size(); ++i) {
          const double x = got[i].real();
          ASSERT_TRUE(std::isnan(expected[i]) ? std::isnan(x) : x == expected[i])
              << name(t) << " " << m << " " << k << " at " << i << ": " << x << ", expected "
              << expected[i];
          ASSERT_EQ(got[i].imag(), 0);
        }
      }
    }
}

TEST(Bits, IntegersThatDoNotFitAreErrors) {
  const Plain ones = random_bits(1, 2, 2, 1, 1.0);
  const Bits a = bits_of(ones);
  const auto sum = [&](auto x, auto y) {
    using T = decltype(x);
    return bit_dense(a, laid_out<T>({2}, {x, y}));
  };
  EXPECT_EQ(values_of<std::int8_t>(sum(std::int8_t{100}, std::int8_t{27}))[0], 127);
  EXPECT_THROW(sum(std::int8_t{100}, std::int8_t{28}), OverflowError);
  EXPECT_THROW(sum(std::int16_t{-32768}, std::int16_t{-1}), OverflowError);
  EXPECT_THROW(sum(std::int32_t{2147483647}, std::int32_t{1}), OverflowError);
  EXPECT_THROW(sum(std::uint8_t{200}, std::uint8_t{56}), OverflowError);
  const i64 most = std::numeric_limits<i64>::max(), least = std::numeric_limits<i64>::min();
  EXPECT_EQ(values_of<i64>(sum(most - 5, i64{5}))[1], most);
  EXPECT_EQ(values_of<i64>(sum(least + 5, i64{-5}))[0], least);
  EXPECT_EQ(values_of<i64>(sum(least, most))[0], -1);
  EXPECT_THROW(sum(most, i64{1}), OverflowError);
  EXPECT_THROW(sum(least, i64{-1}), OverflowError);
  EXPECT_THROW(sum(std::uint64_t{1}, std::uint64_t{1}), DTypeError);
}

TEST(Bits, DotsOfRows) {
  const Plain a = random_bits(1, 1, 1000, 1), b = random_bits(1, 1, 1000, 2);
  i64 expected = 0;
  for (std::size_t i = 0; i < 1000; ++i) expected += a.v[i] & b.v[i];
  EXPECT_EQ(bit_dot(bits_of(a), bits_of(b)), expected);
  EXPECT_THROW(bit_dot(bits_of(a), bits_of(random_bits(1, 2, 1000, 1))), ShapeError);
}

TEST(Bits, WrongShapesAndTypesAreRefused) {
  const Bits a = bits_of(random_bits(1, 3, 5, 1)), b = bits_of(random_bits(1, 4, 6, 1));
  EXPECT_THROW(bit_counts(a, b), ShapeError);
  EXPECT_THROW(bit_any(a, b), ShapeError);
  EXPECT_THROW(bit_closure(a), ShapeError);
  EXPECT_THROW(bit_counts(a, a, {.upper = true, .transposed = true}), ShapeError);
  EXPECT_THROW(bit_dense(a, laid_out(DType::f32, {4}, {1, 2, 3, 4})), ShapeError);
  EXPECT_THROW(bit_unpack({a.words, 600}), ShapeError);
  EXPECT_THROW(bit_unpack({a.words.astype(DType::i64), 5}), DTypeError);
  EXPECT_THROW(bit_counts(a, a, {.transposed = true, .dtype = DType::f32}), DTypeError);
}

TEST(Bits, TilesOfEveryInstructionSetAgree) {
  const BitTile& plain = *bit_tile_portable();
  std::mt19937_64 engine(1);
  for (const BitTile* t : {bit_tile_neon(), bit_tile_avx2(), bit_tile_avx512()}) {
    if (t == nullptr) continue;
    for (i64 steps : {i64{1}, i64{31}, i64{32}, i64{100}, most_steps}) {
      const auto n = static_cast<std::size_t>(steps * t->lane * tile_rows);
      Words a(n), b(n), pa(n), pb(n);
      for (auto& w : a) w = steps == most_steps ? ~std::uint64_t{0} : engine();
      for (auto& w : b) w = steps == most_steps ? ~std::uint64_t{0} : engine();
      for (std::size_t at = 0; at < n; ++at) {  // lanes one after the other: the portable order
        const auto lane = static_cast<std::size_t>(t->lane), s = at / (4 * lane), r = at / lane % 4,
                   l = at % lane;
        pa[(s * lane + l) * 4 + r] = a[at];
        pb[(s * lane + l) * 4 + r] = b[at];
      }
      std::uint32_t got[16], expected[16];
      t->count(steps, a.data(), b.data(), got);
      plain.count(steps * t->lane, pa.data(), pb.data(), expected);
      for (int i = 0; i < 16; ++i) ASSERT_EQ(got[i], expected[i]) << t->name << " " << steps;
    }
  }
}

}  // namespace
}  // namespace tessera
