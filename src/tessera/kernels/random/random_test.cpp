// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/random/random.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "support/arrays.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/kernels/eager.hpp"
#include "tessera/kernels/random/random_functors.hpp"

namespace tessera {
namespace {

// Known answers of Philox 4x32-10, from its authors' test vectors.
TEST(Philox, KnownAnswers) {
  const Philox zero = philox(0, 0, 0);
  EXPECT_EQ(zero.word[0], 0x6627e8d5u);
  EXPECT_EQ(zero.word[1], 0xe169c58du);
  EXPECT_EQ(zero.word[2], 0xbc57ac4cu);
  EXPECT_EQ(zero.word[3], 0x9b00dbd8u);
  const std::uint64_t ones = ~std::uint64_t{0};
  const Philox full = philox(ones, ones, ones);
  EXPECT_EQ(full.word[0], 0x408f276du);
  EXPECT_EQ(full.word[1], 0x41c83b0eu);
  EXPECT_EQ(full.word[2], 0xa20bc7c6u);
  EXPECT_EQ(full.word[3], 0x6d5451fdu);
}

TEST(Random, AFunctionOfSeedDrawAndPosition) {
  Random a(42), b(42), c(43);
  const auto x = values_of<double>(a.uniform({7, 5}, DType::f64, test_device()));
  EXPECT_EQ(values_of<double>(b.uniform({35}, DType::f64, cpu)), x) << "not of shape or device";
  EXPECT_NE(values_of<double>(c.uniform({35}, DType::f64, cpu)), x);
  EXPECT_NE(values_of<double>(a.uniform({35}, DType::f64, cpu)), x)
      << "the next draw is another one";
  Random copy = a;
  EXPECT_EQ(values_of<double>(copy.normal({9}, DType::f64)),
            values_of<double>(a.normal({9}, DType::f64)));
}

TEST(Random, TilesAndLayoutsAndThreadsDoNotMatter) {
  RandomSpec spec;
  spec.seed = 9;
  spec.draw = 2;
  i64 size = 0;
  const Shape shape{60, 101};
  std::vector<std::vector<float>> found;
  const int before = num_threads();
  for (Lay lay : all_lays) {
    set_num_threads(lay == Lay::gaps ? 1 : 3);
    const Layout layout = layout_of(shape, lay, &size);
    const Array y(Storage::allocate(test_device(), size * 4), layout, DType::f32);
    spec.out = operand_of(y);
    launch_now(&KernelTable::random, "random", spec, y.device(), {&y});
    found.push_back(values_of<float>(y));
    EXPECT_EQ(found.back(), found[0]);
  }
  set_num_threads(before);
  spec.first = 101 * 17;  // a tile of rows
  const Array tile = Array::empty({5, 101}, DType::f32, test_device());
  spec.out = operand_of(tile);
  launch_now(&KernelTable::random, "random", spec, tile.device(), {&tile});
  EXPECT_EQ(values_of<float>(tile),
            (std::vector<float>(found[0].begin() + 101 * 17, found[0].begin() + 101 * 22)));
}

// The element at a position from its own block alone: what every kernel has to give.
template <class Draw>
typename Draw::Element drawn_alone(const Draw& draw, const RandomSpec& spec,
                                   std::uint64_t position) {
  constexpr std::uint64_t blocks = tile_blocks, parts = Draw::per_block;
  const std::uint64_t tile = position / (blocks * parts), part = position / blocks % parts;
  typename Draw::Element x[parts];
  draw.of_block(philox(spec.seed, spec.draw, tile * blocks + position % blocks),
                position - part * blocks, x);
  return x[part];
}

double distance_of(double a, double b) { return std::abs(a - b); }
double distance_of(float a, float b) { return std::abs(a - b); }
double distance_of(Half a, Half b) {
  return distance_of(static_cast<float>(a), static_cast<float>(b));
}
double distance_of(BFloat16 a, BFloat16 b) {
  return distance_of(static_cast<float>(a), static_cast<float>(b));
}
template <class R>
double distance_of(Complex<R> a, Complex<R> b) {
  return std::max(distance_of(a.re, b.re), distance_of(a.im, b.im));
}

// Wherever a run begins and ends within tiles, also where the upper half of the counter changes.
template <class T>
void expect_every_run(Distribution distribution, std::uint64_t range = 1, double tolerance = 0) {
  RandomSpec spec;
  spec.distribution = distribution;
  spec.seed = 11;
  spec.draw = 7;
  spec.integer_range = range;
  spec.out.dtype = dtype_of<T>;
  for (const std::uint64_t first :
       {0ull, 5ull, 17ull, (1ull << 32) - 70, (1ull << 33) - 9, (1ull << 34) - 1, (1ull << 40) + 3})
    for (const i64 n : {1, 15, 16, 17, 63, 64, 65, 200}) {
      spec.first = static_cast<i64>(first);
      const Array y = laid_out<T>({n}, std::vector<T>(static_cast<std::size_t>(n), T(1)));
      draw_into(y, spec);
      const std::vector<T> found = values_of<T>(y);
      with_draw(spec, [&](const auto& draw) {
        if constexpr (std::is_same_v<typename std::decay_t<decltype(draw)>::Element, T>) {
          for (i64 i = 0; i < n; ++i) {
            const T want = drawn_alone(draw, spec, first + static_cast<std::uint64_t>(i)),
                    got = found[static_cast<std::size_t>(i)];
            if constexpr (std::is_integral_v<T>)
              ASSERT_EQ(got, want) << range << " at " << first << " + " << i;
            else
              ASSERT_FALSE(!(distance_of(got, want) <= tolerance)) << first << " + " << i;
          }
        }
      });
    }
}

TEST(Random, EveryRunIsItsElementsOneByOne) {
  expect_every_run<std::uint64_t>(Distribution::bits);
  expect_every_run<double>(Distribution::uniform);
  expect_every_run<float>(Distribution::uniform);
  expect_every_run<Half>(Distribution::uniform);
  expect_every_run<BFloat16>(Distribution::uniform);
  expect_every_run<double>(Distribution::normal, 1, 4e-15);
  expect_every_run<float>(Distribution::normal, 1, 2e-6);
  expect_every_run<Half>(Distribution::normal, 1, 4e-3);
  expect_every_run<BFloat16>(Distribution::normal, 1, 4e-2);
  expect_every_run<c128>(Distribution::normal, 1, 4e-15);
  expect_every_run<c64>(Distribution::normal, 1, 2e-6);
  // Short and long words, those of which half or a quarter are replaced, and all of 2^32 and 2^64.
  for (const std::uint64_t range :
       {1ull, 100ull, 1ull << 24, (1ull << 24) + 1, (1ull << 31) + 1, 0xfffffffbull, 1ull << 32,
        (1ull << 32) + 1, 1ull << 40, (1ull << 63) + 1, 3ull << 62, 0ull}) {
    expect_every_run<std::uint64_t>(Distribution::integers, range);
    expect_every_run<i64>(Distribution::integers, range);
  }
  expect_every_run<std::int8_t>(Distribution::integers, 100);
  expect_every_run<std::uint32_t>(Distribution::integers, 1ull << 32);
  expect_every_run<bool>(Distribution::integers, 2);
}

// Normal numbers have the same bits wherever a run begins, whichever loop makes them.
TEST(Random, SlicesHaveTheBitsOfTheWhole) {
  Random source(3);
  for (const DType t : {DType::f16, DType::f32, DType::f64, DType::c64, DType::c128}) {
    RandomSpec spec = source.next_normal(t, 0.3, 1.7);
    const Array whole = Array::empty({300}, t, test_device());
    draw_into(whole, spec);
    const auto all = numbers_of(whole);
    for (const i64 first : {1, 15, 16, 31, 64, 100})
      for (const i64 n : {1, 2, 33, 150}) {
        spec.first = first;
        const Array part = Array::empty({n}, t, test_device());
        draw_into(part, spec);
        EXPECT_EQ(numbers_of(part),
                  (std::vector<std::complex<double>>(all.begin() + first, all.begin() + first + n)))
            << to_text(t) << " from " << first;
      }
  }
}

// As they are scaled on every device: g++ and nvcc would fuse the product into the sum.
TEST(Random, UniformProductsAreRounded) {
  Random unit(8), scaled(8);
  const auto u = values_of<double>(unit.uniform({500}, DType::f64, test_device()));
  const auto x = values_of<double>(scaled.uniform({500}, DType::f64, test_device(), -2.5, 3.7));
  for (std::size_t i = 0; i < u.size(); ++i) {
    volatile double product = u[i] * (3.7 - -2.5);
    EXPECT_EQ(x[i], -2.5 + product);
  }
}

// The largest distance between the distribution of numbers and the one that they should have, times
// the root of their number: above 2.2 once in 10^4 (Kolmogorov and Smirnov).
template <class F>
double kolmogorov_distance(std::vector<double> x, F&& distribution) {
  std::sort(x.begin(), x.end());
  const double n = static_cast<double>(x.size());
  double most = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double p = distribution(x[i]), at = static_cast<double>(i);
    most = std::max({most, std::abs(p - at / n), std::abs(p - (at + 1) / n)});
  }
  return most * std::sqrt(n);
}

std::vector<double> reals_of(const Array& x) {
  std::vector<double> r;
  for (const auto v : numbers_of(x)) r.push_back(v.real());
  return r;
}

TEST(Random, DistributionsAreWhatTheySay) {
  Random r(21);
  for (const DType t : {DType::f32, DType::f64}) {
    EXPECT_LT(kolmogorov_distance(reals_of(r.uniform({100000}, t, test_device())),
                                  [](double x) { return x; }),
              2.2);
    const auto z = reals_of(r.normal({100000}, t, test_device()));
    EXPECT_LT(kolmogorov_distance(z, [](double x) { return std::erfc(-x / std::sqrt(2)) / 2; }),
              2.2);
    // 270 beyond three deviations, 6.3 beyond four.
    const auto beyond = [&](double d) {
      return static_cast<double>(
          std::count_if(z.begin(), z.end(), [&](double v) { return std::abs(v) > d; }));
    };
    EXPECT_NEAR(beyond(3), 270, 80);
    EXPECT_LT(beyond(4), 21);
    EXPECT_GE(beyond(4), 1);
  }
}

// Words of one block lie sixteen elements apart, those of neighbouring blocks side by side.
TEST(Random, NeighboursAndElementsOfOneBlockAreIndependent) {
  Random r(22);
  const i64 n = 100000;
  for (const DType t : {DType::f32, DType::f64})
    for (const bool squares : {false, true}) {
      auto z = reals_of(r.normal({n}, t, test_device()));
      if (squares)
        for (double& v : z) v = (v * v - 1) / std::sqrt(2.0);
      for (const std::size_t apart : {1, 2, 15, 16, 17, 32, 48, 64}) {
        double sum = 0;
        for (std::size_t i = 0; i + apart < z.size(); ++i) sum += z[i] * z[i + apart];
        EXPECT_LT(std::abs(sum) / std::sqrt(static_cast<double>(n)), 5) << apart;
      }
    }
}

TEST(Random, IntegersOfEveryKindOfWordAreEven) {
  Random r(23);
  for (const i64 range : {i64{2}, i64{10}, i64{100}, i64{1} << 24, (i64{1} << 31) + 1,
                          (i64{1} << 40) + 7, std::numeric_limits<i64>::max()}) {
    const i64 n = 50000, bins = std::min<i64>(range, 50);
    std::vector<double> count(static_cast<std::size_t>(bins));
    for (const i64 v : values_of<i64>(r.integers(0, range, {n}, DType::i64, test_device())))
      ++count[static_cast<std::size_t>(v / (range / bins + (range % bins != 0)))];
    double square = 0;
    const double even = static_cast<double>(n) / static_cast<double>(bins);
    for (const double c : count) square += (c - even) * (c - even) / even;
    const double freedom = static_cast<double>(bins - 1);
    EXPECT_LT(square, freedom + 5 * std::sqrt(2 * freedom) + 10) << range;
  }
}

TEST(Random, BlocksOfColumnsAreDrawnAlone) {
  for (const Lay lay : all_lays) {
    Random whole(5), part(5);
    const auto all = values_of<i64>(whole.integers(-50, 50, {7, 30, 3}, DType::i64));
    RandomSpec spec = part.next_integers(-50, 50, DType::i64);
    spec.first = 11 * 3;  // columns 11 to 16
    spec.row = 5 * 3;
    spec.pitch = 30 * 3;
    const Array block = laid_out<i64>({7, 5, 3}, std::vector<i64>(105, 99), lay, test_device());
    draw_into(block, spec);
    const auto found = values_of<i64>(block);
    for (i64 i = 0; i < 105; ++i)
      EXPECT_EQ(found[static_cast<std::size_t>(i)],
                all[static_cast<std::size_t>(i / 15 * 90 + 33 + i % 15)]);
  }
}

TEST(Random, UniformFillsItsInterval) {
  Random r(1);
  for (DType t : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    const auto x = numbers_of(r.uniform({40000}, t, test_device(), -2, 6));
    double sum = 0, low = 99, high = -99;
    for (auto v : x) {
      sum += v.real();
      low = std::min(low, v.real());
      high = std::max(high, v.real());
    }
    EXPECT_GE(low, -2);
    EXPECT_LT(high, 6);
    EXPECT_NEAR(sum / 40000, 2, 0.1)
        << to_text(t);  // five deviations: 8/sqrt(12*40000) = 0.0115, and bfloat16's grid
    EXPECT_LT(low, -1.9);
    EXPECT_GT(high, 5.8);
  }
  EXPECT_THROW(r.uniform({2}, DType::i32), DTypeError);
  EXPECT_THROW(r.uniform({2}, DType::f32, cpu, 3, 2), ArgumentError);
}

TEST(Random, NormalHasItsMoments) {
  Random r(2);
  const double n = 50000;
  for (DType t : {DType::f32, DType::f64, DType::c64, DType::c128}) {
    const auto x = numbers_of(r.normal({static_cast<i64>(n)}, t, test_device(), 3, 2));
    std::complex<double> mean = 0;
    double square = 0, fourth = 0, imaginary = 0;
    for (auto v : x) {
      const auto z = (v - 3.0) / 2.0;
      mean += z / n;
      square += std::norm(z) / n;
      fourth += std::pow(z.real(), 4) / n;
      imaginary += z.imag() * z.imag() / n;
    }
    EXPECT_LT(std::abs(mean), 0.03) << to_text(t);
    EXPECT_NEAR(square, 1, 0.04) << to_text(t);
    EXPECT_NEAR(fourth, is_complex(t) ? 0.75 : 3, 0.3) << to_text(t);
    EXPECT_NEAR(imaginary, is_complex(t) ? 0.5 : 0, 0.02) << to_text(t);
  }
  EXPECT_THROW(r.normal({2}, DType::i8), DTypeError);
  EXPECT_THROW(r.normal({2}, DType::f32, cpu, 0, -1), ArgumentError);
}

TEST(Random, IntegersCoverTheirRangeEvenly) {
  Random r(3);
  std::vector<int> count(7);
  for (std::int8_t v :
       values_of<std::int8_t>(r.integers(-3, 4, {70000}, DType::i8, test_device()))) {
    ASSERT_GE(v, -3);
    ASSERT_LT(v, 4);
    ++count[static_cast<std::size_t>(v + 3)];
  }
  for (int c : count) EXPECT_NEAR(c, 10000, 500);  // five deviations
  const i64 low = std::numeric_limits<i64>::min(), high = std::numeric_limits<i64>::max();
  const auto wide = values_of<i64>(r.integers(low, high, {2000}));
  EXPECT_NEAR(
      static_cast<double>(std::count_if(wide.begin(), wide.end(), [](i64 v) { return v < 0; })),
      1000, 120);
  EXPECT_THROW(r.integers(5, 5, {3}), ArgumentError);
  EXPECT_THROW(r.integers(0, 300, {3}, DType::u8), OverflowError);
  EXPECT_THROW(r.integers(2, 3, {3}, DType::b1), OverflowError);
  EXPECT_THROW(r.integers(-1, 2, {3}, DType::b1), OverflowError);
  EXPECT_THROW(r.integers(0, 3, {3}, DType::f32), DTypeError);
}

TEST(Random, PermutationsHoldEveryNumberOnce) {
  Random r(4);
  const auto p = values_of<i64>(r.permutation(1000, test_device())),
             q = values_of<i64>(r.permutation(1000));
  EXPECT_EQ(std::set<i64>(p.begin(), p.end()).size(), 1000u);
  EXPECT_EQ(*std::max_element(p.begin(), p.end()), 999);
  EXPECT_NE(p, q);
  EXPECT_FALSE(std::is_sorted(p.begin(), p.end()));
  EXPECT_EQ(r.permutation(0).size(), 0);
  EXPECT_EQ(values_of<i64>(r.permutation(1)), std::vector<i64>{0});
}

TEST(Random, EveryOrderOfFourIsAsLikely) {
  Random r(6);
  std::map<std::vector<i64>, int> count;
  for (int i = 0; i < 24000; ++i) ++count[values_of<i64>(r.permutation(4))];
  EXPECT_EQ(count.size(), 24u);
  for (const auto& [order, times] : count) EXPECT_NEAR(times, 1000, 170);  // 5.5 deviations
}

}  // namespace
}  // namespace tessera
