// SPDX-License-Identifier: Apache-2.0
// Our own plans of every length beside the defining sum: complex and real lines, forward, backward
// and in place, one line and several, with gaps between them that must stay as they are.
#include "tessera/kernels/fft/own_plans.hpp"

#include <complex>
#include <limits>
#include <numbers>
#include <random>
#include <utility>

#include "support/arrays.hpp"
#include "tessera/kernels/fft/turns.hpp"

namespace tessera {
namespace {

using Z = std::complex<double>;
using Line = std::vector<Z>;

// Element k of the transform of n points; by parts, so that sums of many points stay exact enough.
Z sum_at(const Line& x, i64 k, int sign) {
  const i64 n = static_cast<i64>(x.size());
  Z sum = 0, part = 0;
  for (i64 j = 0; j < n; ++j) {
    if (j % 64 == 0) sum += std::exchange(part, 0);
    const auto [re, im] = root_of_unity(static_cast<i64>(static_cast<__int128>(j) * k % n), n);
    part += x[static_cast<std::size_t>(j)] * Z(re, sign < 0 ? im : -im);
  }
  return sum + part;
}

template <class R>
class OwnPlansTest : public testing::Test {
 protected:
  using C = Complex<R>;
  static constexpr R gap = -77;
  std::mt19937 engine_{5};

  R number() { return std::uniform_real_distribution<R>(-1, 1)(engine_); }
  std::vector<i64> looked_at(i64 n) {
    std::vector<i64> all;
    for (i64 k = 0; k < n; k += std::max<i64>(1, n / 40)) all.push_back(k);
    if (n > 1) all.insert(all.end(), {1, n / 2, n - 1});
    return all;
  }
  // Lines as numbers of `parts` reals each, with gaps between them, 16 bytes aligned.
  struct Lines {
    i64 points, parts, distance, count;
    std::vector<R> memory;
    Lines(i64 n, i64 p, i64 lines, i64 extra) : points(n), parts(p), count(lines) {
      distance = (n + extra + 3) / 4 * 4;
      memory.assign(static_cast<std::size_t>(distance * lines * parts), gap);
    }
    R* at(i64 line, i64 i) { return memory.data() + (line * distance + i) * parts; }
    void expect_gaps() {
      for (i64 l = 0; l < count; ++l)
        for (i64 i = points; i < distance; ++i) ASSERT_EQ(*at(l, i), gap) << points << " points";
    }
  };
  void execute(const LineKey& key, Lines& x, Lines& y) {
    const auto plan = make_own_plan(key);
    std::vector<R> scratch(static_cast<std::size_t>(plan->scratch_bytes()) / sizeof(R) + 4,
                           std::numeric_limits<R>::quiet_NaN());
    const std::size_t end = scratch.size() - 4;
    for (std::size_t i = end; i < scratch.size(); ++i) scratch[i] = gap;
    plan->execute(x.memory.data(), y.memory.data(), scratch.data());
    for (std::size_t i = end; i < scratch.size(); ++i) ASSERT_EQ(scratch[i], gap);
    y.expect_gaps();
  }
  // `got` gives element k of a line, `want` is what is transformed.
  template <class Got>
  void expect_close(const Line& x, i64 outputs, int sign, const Got& got) {
    double norm = 0, error = 0;
    for (const Z& z : x) norm += std::norm(z);
    for (i64 k : looked_at(outputs)) error = std::max(error, std::abs(got(k) - sum_at(x, k, sign)));
    const double bound =
        3 * std::numeric_limits<R>::epsilon() * (3 + std::log2(static_cast<double>(x.size())));
    ASSERT_LE(error, bound * std::sqrt(norm)) << x.size() << " points, sign " << sign;
  }
  // `spoilt`: every other line is huge numbers or none, and the others are right all the same.
  void check(FftKind kind, i64 n, i64 count, int sign, bool in_place, bool spoilt = false) {
    const bool from_real = kind == FftKind::real_to_complex,
               to_real = kind == FftKind::complex_to_real;
    const i64 half = n / 2 + 1;
    Lines x(to_real ? half : n, from_real ? 1 : 2, count, 3),
        y(from_real ? half : n, to_real ? 1 : 2, count, in_place ? 3 : 9);
    for (i64 l = 0; l < count; ++l)
      for (i64 i = 0; i < x.points; ++i)
        for (i64 part = 0; part < x.parts; ++part) x.at(l, i)[part] = number();
    for (i64 l = 0; spoilt && l < count; l += 2)
      for (i64 i = 0; i < x.points; ++i)
        *x.at(l, i) = l % 4 == 0 ? std::numeric_limits<R>::quiet_NaN() : R(1e30) * number();
    std::vector<Line> wanted;
    for (i64 l = 0; l < count; ++l) {
      Line& line = wanted.emplace_back();
      for (i64 i = 0; i < n; ++i)
        if (from_real)
          line.emplace_back(*x.at(l, i), 0);
        else if (!to_real || i < half)
          line.emplace_back(x.at(l, i)[0], x.at(l, i)[1]);
        else
          line.push_back(std::conj(line[static_cast<std::size_t>(n - i)]));
      if (to_real)  // what a real line cannot have is left out
        for (i64 i : {i64{0}, n % 2 == 0 ? n / 2 : i64{0}})
          line[static_cast<std::size_t>(i)] = line[static_cast<std::size_t>(i)].real();
    }
    if (in_place) y = x;
    execute({sizeof(R) == 4, kind, n, count, x.distance, y.distance, in_place, sign},
            in_place ? y : x, y);
    for (i64 l = spoilt ? 1 : 0; l < count; l += spoilt ? 2 : 1)
      expect_close(wanted[static_cast<std::size_t>(l)], y.points, sign, [&](i64 k) {
        const R* const z = y.at(l, k);
        return to_real ? Z(z[0]) : Z(z[0], z[1]);
      });
  }
};

using Precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(OwnPlansTest, Precisions);

std::vector<i64> lengths() {
  std::vector<i64> all;
  for (i64 n = 1; n <= 70; ++n) all.push_back(n);
  for (i64 n : {74,   77,   79,   94,   96,   100,  101,   120,   121,  125,  128,  143,
                169,  180,  187,  210,  211,  240,  243,   250,   256,  343,  360,  500,
                509,  510,  512,  625,  640,  1000, 1001,  1009,  1018, 1024, 1331, 1536,
                2187, 2197, 3000, 4096, 4099, 8192, 10007, 20000, 65536})
    all.push_back(n);
  return all;
}

TYPED_TEST(OwnPlansTest, ComplexLines) {
  for (i64 n : lengths())
    for (i64 count : {1, 2, 3, 5})
      for (int sign : {-1, 1})
        for (bool in_place : {false, true}) {
          if (n > 2000 && (count == 2 || count == 3 || in_place)) continue;
          this->check(FftKind::complex, n, count, sign, in_place);
          if (this->HasFatalFailure()) return;
        }
}

TYPED_TEST(OwnPlansTest, RealLines) {
  for (i64 n : lengths())
    for (i64 count : {1, 2, 5}) {
      if (n > 2000 && count == 2) continue;
      this->check(FftKind::real_to_complex, n, count, -1, false);
      this->check(FftKind::complex_to_real, n, count, +1, false);
      if (this->HasFatalFailure()) return;
    }
}

TYPED_TEST(OwnPlansTest, LinesDoNotSeeTheirNeighbours) {
  for (i64 n : lengths())
    for (i64 count : {2, 7, 18}) {
      if (n > 300 && count > 2) continue;
      this->check(FftKind::complex, n, count, -1, false, true);
      this->check(FftKind::real_to_complex, n, count, -1, false, true);
      this->check(FftKind::complex_to_real, n, count, +1, false, true);
      if (this->HasFatalFailure()) return;
    }
}

TEST(OwnPlans, TakeNoPlanes) {
  LineKey key{.points = 8};
  key.rows = 4;
  EXPECT_THROW(make_own_plan(key), ArgumentError);
}

TEST(OwnPlans, RootsOfUnity) {
  for (i64 n : {1, 2, 3, 4, 5, 8, 12, 1000, 1 << 20})
    for (i64 at : {i64{0}, i64{1}, n / 4, n / 3, n / 2, n - 1, 3 * n + 1}) {
      const auto [re, im] = root_of_unity(at, n);
      const double angle = -2 * std::numbers::pi * double(at % n) / double(n);
      EXPECT_NEAR(re, std::cos(angle), 1e-15);
      EXPECT_NEAR(im, std::sin(angle), 1e-15);
    }
  using Root = std::array<double, 2>;
  EXPECT_EQ(root_of_unity(1, 4), Root({0.0, -1.0}));
  EXPECT_EQ(root_of_unity(2, 4)[0], -1.0);
  for (i64 many : {1, 5, 1000}) {  // halves are halves
    EXPECT_EQ(root_of_unity(many, 3 * many)[0], -0.5);
    EXPECT_EQ(root_of_unity(many, 6 * many)[0], 0.5);
    EXPECT_EQ(root_of_unity(many, 12 * many)[1], -0.5);
    EXPECT_EQ(root_of_unity(7 * many, 12 * many)[1], 0.5);
  }
}

}  // namespace
}  // namespace tessera
