// SPDX-License-Identifier: Apache-2.0
// Lines and columns of many lengths against the defining sum, in memory with gaps that must stay as
// they are, on registers of every width that the host has (TESSERA_INSTRUCTIONS).
#include "tessera/kernels/fft/smooth_lines.hpp"

#include <complex>
#include <limits>
#include <numbers>
#include <random>

#include "support/arrays.hpp"

namespace tessera {
namespace {

using Z = std::complex<double>;
using Field = std::vector<Z>;

Field transformed(const Field& x, int sign) {
  const std::size_t n = x.size();
  Field table, y(n);
  for (std::size_t j = 0; j < n; ++j)
    table.push_back(std::polar(1.0, sign * 2 * std::numbers::pi * double(j) / double(n)));
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t j = 0; j < n; ++j) y[k] += x[j] * table[j * k % n];
  return y;
}

template <class R>
class SmoothLinesTest : public testing::Test {
 protected:
  using C = Complex<R>;
  static constexpr R gap = -77;
  std::mt19937 engine_{3};

  C number() {
    std::uniform_real_distribution<R> uniform(-1, 1);
    const R re = uniform(engine_);
    return C(re, uniform(engine_));
  }
  // `count` columns of n numbers: element i of column c at i * step + c.
  std::vector<C> filled(i64 n, i64 count, i64 step) {
    std::vector<C> x(static_cast<std::size_t>(n * step), C(gap, gap));
    for (i64 i = 0; i < n; ++i)
      for (i64 c = 0; c < count; ++c) x[static_cast<std::size_t>(i * step + c)] = number();
    return x;
  }
  static Field column(const std::vector<C>& x, i64 n, i64 step, i64 c) {
    Field f;
    for (i64 i = 0; i < n; ++i) {
      const C z = x[static_cast<std::size_t>(i * step + c)];
      f.emplace_back(z.re, z.im);
    }
    return f;
  }
  static void expect_close(const Field& got, const Field& want, double scale, int transforms) {
    double error = 0, norm = 0;
    for (std::size_t i = 0; i < want.size(); ++i) {
      error += std::norm(got[i] - scale * want[i]);
      norm += std::norm(scale * want[i]);
    }
    const double bound = transforms * std::numeric_limits<R>::epsilon() *
                         (2 + std::log2(static_cast<double>(want.size())));
    ASSERT_LE(std::sqrt(error), bound * std::sqrt(norm)) << want.size() << " points";
  }
  static void expect_gaps(const std::vector<C>& x, i64 n, i64 count, i64 step) {
    for (i64 i = 0; i < n; ++i)
      for (i64 c = count; c < step; ++c) {
        const C z = x[static_cast<std::size_t>(i * step + c)];
        ASSERT_TRUE(z.re == gap && z.im == gap) << n << " points, " << count << " columns";
      }
  }
  // What `count` lines or columns ask for, and a few elements behind it that nobody may write to.
  static std::vector<R> scratch_of(const SmoothLines<R>& lines, i64 count) {
    return std::vector<R>(static_cast<std::size_t>(lines.scratch(count) + guard),
                          std::numeric_limits<R>::quiet_NaN());
  }
  static void expect_guard(const std::vector<R>& scratch, i64 n, i64 count) {
    for (i64 i = 1; i <= guard; ++i)
      ASSERT_TRUE(std::isnan(scratch[scratch.size() - static_cast<std::size_t>(i)]))
          << n << " points, " << count << " at once";
  }
  static constexpr i64 guard = 16;
};

using Precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(SmoothLinesTest, Precisions);

TYPED_TEST(SmoothLinesTest, HasProductsOfSmallPrimes) {
  using Lines = SmoothLines<TypeParam>;
  for (i64 n : {2, 3, 16, 34, 48, 61, 143, 256, 1001, 4096, 8192}) EXPECT_TRUE(Lines::has(n)) << n;
  for (i64 n : {-4, 0, 1, 67, 134, 1009}) EXPECT_FALSE(Lines::has(n)) << n;
  EXPECT_THROW(Lines(67), ArgumentError);
  EXPECT_EQ(smooth_lines<TypeParam>(64), smooth_lines<TypeParam>(64));
}

// Those of one pass, powers of two, other lengths whose dense lines fill registers, and lengths that
// do not.
std::vector<i64> lengths() {
  std::vector<i64> all;
  for (i64 n = 2; n <= 15; ++n) all.push_back(n);
  for (i64 n = 16; n <= 4096; n *= 2) all.push_back(n);
  for (i64 n : {20, 36, 45, 48, 50, 68, 77, 100, 114, 125, 169, 240, 250, 308, 1001, 1536})
    all.push_back(n);
  return all;
}

TYPED_TEST(SmoothLinesTest, DenseLines) {
  using C = Complex<TypeParam>;
  for (i64 n : lengths()) {
    const SmoothLines<TypeParam> lines(n);
    for (i64 count : {i64{1}, lines.most_lines() / 2 + 1, lines.most_lines()})
      for (int sign : {-1, 1}) {
        auto scratch = this->scratch_of(lines, count);
        // Lines with gaps between them, none on a boundary of registers.
        const i64 far = n + 3, wide = n + 5;
        auto x = this->filled(count * far + 1, 1, 1);
        const auto before = x;
        std::vector<C> y(static_cast<std::size_t>(count * wide + 1), C(this->gap, this->gap));
        lines.lines(count, x.data() + 1, far, y.data() + 1, wide, sign, TypeParam(0.5),
                    scratch.data());
        lines.lines(count, x.data() + 1, far, x.data() + 1, far, sign, TypeParam(2),
                    scratch.data());
        this->expect_guard(scratch, n, count);
        auto part = [n](const std::vector<C>& all, i64 first) {
          return std::vector<C>(all.begin() + first, all.begin() + first + n);
        };
        for (i64 l = 0; l < count; ++l) {
          for (i64 i = l * wide + 1 + n; i < (l + 1) * wide; ++i)
            ASSERT_EQ(y[static_cast<std::size_t>(i)].re, this->gap) << n << " points";
          if (l != 0 && l + 1 != count) continue;
          const Field want = transformed(this->column(part(before, l * far + 1), n, 1, 0), sign);
          this->expect_close(this->column(part(y, l * wide + 1), n, 1, 0), want, 0.5, 1);
          this->expect_close(this->column(part(x, l * far + 1), n, 1, 0), want, 2, 1);
        }
        for (i64 l = 0; l + 1 < count; ++l)
          for (i64 i = l * far + 1 + n; i < (l + 1) * far + 1; ++i)
            ASSERT_EQ(x[static_cast<std::size_t>(i)].im, before[static_cast<std::size_t>(i)].im);
        if (this->HasFatalFailure()) return;
      }
  }
}

TYPED_TEST(SmoothLinesTest, Columns) {
  using C = Complex<TypeParam>;
  for (i64 n : lengths()) {
    const SmoothLines<TypeParam> lines(n);
    const i64 group = lines.column_step;
    for (i64 count = group; count <= lines.most_columns(); count += group)
      for (int sign : {-1, 1}) {
        auto scratch = this->scratch_of(lines, count);
        const i64 step = count + 3, wide = step + 2;
        auto x = this->filled(n, count, step);
        const auto before = x;
        std::vector<C> y(static_cast<std::size_t>(n * wide), C(this->gap, this->gap));
        lines.columns(count, x.data(), step, y.data(), wide, sign, TypeParam(0.5), scratch.data());
        this->expect_gaps(y, n, count, wide);
        lines.columns(count, x.data(), step, x.data(), step, sign, TypeParam(1), scratch.data());
        this->expect_gaps(x, n, count, step);
        this->expect_guard(scratch, n, count);
        for (i64 c : {count / 2 - 1, count - 1}) {
          if (n > 1024 && c != count - 1) continue;  // the sum takes its time
          const Field want = transformed(this->column(before, n, step, c), sign);
          this->expect_close(this->column(y, n, wide, c), want, 0.5, 1);
          this->expect_close(this->column(x, n, step, c), want, 1, 1);
        }
        if (this->HasFatalFailure()) return;
      }
  }
}

TYPED_TEST(SmoothLinesTest, FiltersOfColumns) {
  using C = Complex<TypeParam>;
  for (i64 n : {16, 32, 64, 128, 256, 512, 1024, 45, 48, 125, 240, 1001})
    for (int sign : {-1, 1})
      for (bool real : {false, true})
        for (i64 inner : {0, 1}) {
          const SmoothLines<TypeParam> lines(n);
          // Whole registers of the widest, and of the others after them.
          const i64 most = lines.most_columns();
          const i64 count = sign < 0 || most == lines.column_step ? most : most - lines.column_step;
          auto scratch = this->scratch_of(lines, count);
          const i64 step = count + 1, weight_step = 2 * count;
          const auto x = this->filled(n, count, step),
                     w = this->filled(n, weight_step, weight_step);
          std::vector<TypeParam> parts;
          for (const C& z : w) parts.push_back(z.re);
          ColumnWeight<TypeParam> weight{real ? parts.data() : nullptr, w.data(), weight_step,
                                         inner};
          std::vector<C> y(x.size(), C(this->gap, this->gap));
          lines.filter_columns(count, x.data(), step, weight, y.data(), step, sign, TypeParam(0.25),
                               scratch.data());
          this->expect_gaps(y, n, count, step);
          this->expect_guard(scratch, n, count);
          for (i64 c : {i64{0}, count / 2, count - 1}) {
            Field f = transformed(this->column(x, n, step, c), sign);
            const Field factor = this->column(w, n, weight_step, c * inner);
            for (std::size_t i = 0; i < f.size(); ++i) f[i] *= real ? factor[i].real() : factor[i];
            this->expect_close(this->column(y, n, step, c), transformed(f, -sign), 0.25, 2);
          }
          if (this->HasFatalFailure()) return;
        }
}

}  // namespace
}  // namespace tessera
