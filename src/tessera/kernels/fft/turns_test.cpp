// SPDX-License-Identifier: Apache-2.0
// Lines that are cut in two passes, beside sums of the definition at some frequencies.
#include "tessera/kernels/fft/turns.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "support/arrays.hpp"
#include "tessera/kernels/eager.hpp"
#include "tessera/kernels/fft/fft.hpp"
#include "tessera/kernels/random/random.hpp"

namespace tessera {
namespace {

// In sums of sums: the rounding of a long one would be larger than that of the transform.
std::complex<double> by_definition(const std::vector<std::complex<double>>& x, i64 k, int sign) {
  const i64 n = static_cast<i64>(x.size()), piece = 256;
  std::complex<double> sum = 0;
  for (i64 begin = 0; begin < n; begin += piece) {
    std::complex<double> part = 0;
    for (i64 i = begin; i < std::min(n, begin + piece); ++i)
      part += x[static_cast<std::size_t>(i)] *
              std::polar(1.0, sign * 2 * std::numbers::pi * static_cast<double>(i * k % n) /
                                  static_cast<double>(n));
    sum += part;
  }
  return sum;
}

double energy_of(const std::vector<std::complex<double>>& x) {
  double sum = 0;
  for (const auto& v : x) sum += std::norm(v);
  return sum;
}

struct Line {
  i64 points;
  DType dtype;
  int sign;
  Lay lay;
};

void expect_transformed(const Line& line, bool in_place) {
  const auto [n, t, sign, lay] = line;
  ASSERT_GT(long_line_rows(n), 0);
  const Array dense = Random(5).normal({n}, t).to(test_device());
  i64 size = 0;
  const Layout layout = layout_of({n}, lay, &size);
  const Array in(Storage::allocate(test_device(), size * size_of(t)), layout, t),
      out(Storage::allocate(test_device(), size * size_of(t)), layout, t);
  in.copy_from(dense);
  FftSpec spec;
  spec.in = operand_of(in);
  spec.out = operand_of(out);
  spec.axes = {0};
  spec.sign = sign;
  spec.scale = 0.5;
  spec.in_place = in_place;
  const Array& y = in_place ? in : out;
  launch_now(&KernelTable::fft, "fft", spec, in.device(), {&in, &y});
  const auto x = numbers_of(dense), found = numbers_of(y);
  const double root = std::sqrt(static_cast<double>(n)), rounding = t == DType::c64 ? 1e-6 : 1e-14;
  for (const i64 k : {i64{0}, i64{777}, n - 1}) {
    const auto error =
        std::abs(found[static_cast<std::size_t>(k)] - 0.5 * by_definition(x, k, sign));
    EXPECT_FALSE(!(error < root * rounding)) << n << " " << to_text(t) << " at " << k;
  }
  const double kept = energy_of(found) / (0.25 * static_cast<double>(n) * energy_of(x));
  EXPECT_FALSE(!(std::abs(kept - 1) < 100 * rounding)) << n << " " << to_text(t);
}

TEST(LongLines, AreCutNearTheirRoot) {
  EXPECT_EQ(long_line_rows(1 << 16), 0);
  EXPECT_EQ(long_line_rows(1 << 20), 1024);
  EXPECT_EQ(long_line_rows(1000000), 1000);
  EXPECT_EQ(long_line_rows(3 << 16), 384);
  EXPECT_EQ(long_line_rows(131101), 0) << "a prime";
  EXPECT_EQ(long_line_rows(2 * 131101), 0) << "columns would be as long";
}

TEST(LongLines, EqualTheDefinition) {
  for (const i64 n : {i64{1} << 17, i64{250000}, i64{344 * 384}}) {
    expect_transformed({n, DType::c128, -1, Lay::dense}, false);
    expect_transformed({n, DType::c128, 1, Lay::dense}, true);
    expect_transformed({n, DType::c64, 1, Lay::gaps}, false);
    expect_transformed({n, DType::c64, -1, Lay::reversed}, true);
  }
}

}  // namespace
}  // namespace tessera
