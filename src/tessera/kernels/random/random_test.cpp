// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/random/random.hpp"

#include <cmath>
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

// `n` numbers of draw 7 of seed 11 from counter `first` on.
template <class T>
std::vector<T> drawn_from(std::uint64_t first, i64 n, RandomSpec spec) {
  spec.seed = 11;
  spec.draw = 7;
  spec.first = static_cast<i64>(first);
  const Array y = Array::empty({n}, dtype_of<T>, test_device());
  draw_into(y, spec);
  return values_of<T>(y);
}

// However long a run is and wherever it begins, also where the upper half of the counter changes.
TEST(Random, EveryRunIsItsCountersOneByOne) {
  const std::uint64_t starts[] = {0, 5, (1ull << 32) - 70, (1ull << 32) - 1, (1ull << 40) + 3};
  const i64 lengths[] = {1, 15, 16, 17, 63, 64, 65, 200};
  for (const std::uint64_t first : starts)
    for (const i64 n : lengths) {
      RandomSpec spec;
      const auto uniform = drawn_from<double>(first, n, spec);
      spec.distribution = Distribution::normal;
      const auto normal = drawn_from<double>(first, n, spec);
      const auto single = drawn_from<float>(first, n, spec);
      const auto later = drawn_from<double>(first + static_cast<std::uint64_t>(n / 2), n, spec);
      spec.distribution = Distribution::integers;
      for (i64 i = 0; i < n; ++i) {
        const std::size_t at = static_cast<std::size_t>(i);
        const Philox p = philox(11, 7, first + at);
        EXPECT_EQ(uniform[at], draw_between<double>(p, 0, 1));
        const double want = draw_normal<double>(p, 0, 1), radius = std::abs(want) + 1;
        EXPECT_FALSE(!(std::abs(normal[at] - want) < radius * 1e-15)) << first << " " << i;
        const float short_want = draw_normal<float>(p, 0, 1);
        EXPECT_FALSE(!(std::abs(single[at] - short_want) < (std::abs(short_want) + 1) * 6e-7f));
        if (i >= n / 2) {
          EXPECT_EQ(normal[at], later[at - static_cast<std::size_t>(n / 2)]);
        }
      }
      const std::uint64_t ranges[] = {1, 100, 0xfffffffb, 1ull << 40, 3ull << 62, 0};
      for (const std::uint64_t range : ranges) {
        spec.integer_range = range;
        const auto whole = drawn_from<std::uint64_t>(first, n, spec);
        for (i64 i = 0; i < n; ++i)
          EXPECT_EQ(whole[static_cast<std::size_t>(i)],
                    draw_below(11, 7, first + static_cast<std::uint64_t>(i), range));
      }
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
  EXPECT_THROW(r.integers(0, 3, {3}, DType::f32), DTypeError);
  EXPECT_LT(draw_below(1, 2, 3, std::uint64_t{3} << 62), std::uint64_t{3} << 62)
      << "a quarter is rejected";
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
}

}  // namespace
}  // namespace tessera
