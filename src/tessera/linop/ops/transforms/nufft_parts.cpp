// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "tessera/device/threads.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/interpolate/interpolate.hpp"
#include "tessera/kernels/wide.hpp"
#include "tessera/linop/ops/transforms/nufft.hpp"

namespace tessera::nufft {

using std::numbers::pi;

Shape padded_size(const Shape& grid, double oversamp, double least) {
  require<ArgumentError>(oversamp >= 1 && oversamp <= 16, "NUFFT: oversamp ", oversamp,
                         " is not between 1 and 16");
  Shape padded;
  for (i64 n : grid)
    padded.push_back(
        static_cast<i64>(std::ceil(std::max(static_cast<double>(n) * oversamp, least))));
  return padded;
}

double kaiser_bessel_beta(double width, double oversamp) {
  const double w = width / oversamp * (oversamp - 0.5), square = w * w - 0.8;
  require<ArgumentError>(square >= 0, "NUFFT: width ", width, " is too narrow for oversamp ",
                         oversamp, "; expected at least ",
                         std::sqrt(0.8) * oversamp / (oversamp - 0.5));
  return pi * std::sqrt(square);
}

double kernel_scale(double width, double oversamp) {
  // I0(beta) as a power series; its terms are positive.
  const double q = kaiser_bessel_beta(width, oversamp), square = q * q / 4;
  double term = 1, sum = 1;
  for (double k = 1; term > 1e-3 * sum; ++k) sum += term *= square / (k * k);
  return std::ldexp(1.0, -std::ilogb(sum));
}

namespace {
// a / sinh(a) as a function of a^2: for negative squares it is |a| / sin(|a|).
double inverse_sinhc(double square) {
  if (std::abs(square) < 1e-12) return 1;
  const double a = std::sqrt(std::abs(square));
  return square > 0 ? a / std::sinh(a) : a / std::sin(a);
}

// The same of squares from 1 to 1e5, in vector registers: 2 a e / (1 - e^2) with e = exp(-a), a power
// of two times a Taylor polynomial.
double inverse_sinhc_of_large(double square) {
  constexpr double whole = 6755399441055744.0,  // added to small numbers it rounds them
      high = 6.93147180369123816490e-01, low = 1.90821492927058770002e-10;  // the logarithm of 2
  constexpr double terms[] = {1.0 / 479001600,
                              1.0 / 39916800,
                              1.0 / 3628800,
                              1.0 / 362880,
                              1.0 / 40320,
                              1.0 / 5040,
                              1.0 / 720,
                              1.0 / 120,
                              1.0 / 24,
                              1.0 / 6,
                              0.5,
                              1.0,
                              1.0};
  const double a = std::sqrt(square), shifted = a * std::numbers::log2e + whole,
               k = shifted - whole, r = (k * high - a) + k * low;
  double e = 1.0 / 6227020800;
  for (double term : terms) e = e * r + term;
  const std::int64_t power =
      std::bit_cast<std::int64_t>(shifted) - std::bit_cast<std::int64_t>(whole);
  e *= std::bit_cast<double>((1023 - power) << 52);
  return 2 * a * e / (1 - e * e);
}

// At so many distances from the middle, `step` apart: of beta^2 - (step i)^2.
std::vector<double> from_the_middle(double beta, double step, i64 count) {
  std::vector<double> all(static_cast<std::size_t>(count));
  const double end = step * static_cast<double>(count - 1), square = beta * beta;
  const bool large = square - end * end >= 1 && square < 1e5;
  parallel_for(count, 1 << 12, [&, to = all.data()](i64 first, i64 last) {
    if (large)
      return wide([=] {
        for (i64 i = first; i < last; ++i) {
          const double t = step * static_cast<double>(i);
          to[i] = inverse_sinhc_of_large(square - t * t);
        }
      });
    for (i64 i = first; i < last; ++i) {
      const double t = step * static_cast<double>(i);
      to[i] = inverse_sinhc(square - t * t);
    }
  });
  return all;
}
}  // namespace

std::vector<Array> apodization(const Shape& grid, const Shape& padded, double w, double oversamp,
                               double scale) {
  const double beta = kaiser_bessel_beta(w, oversamp);
  std::vector<Array> along;
  for (i64 a = 0; a < grid.size(); ++a) {
    Shape shape{grid[a]};
    while (shape.size() < grid.size() - a) shape.push_back(1);
    along.push_back(empty_dense(shape, DType::f64));
    double* const to = along.back().host<double>();
    const i64 n = grid[a], centre = n / 2;
    const std::vector<double> half =
        from_the_middle(beta, pi * w / static_cast<double>(padded[a]), centre + 1);
    for (i64 i = 0; i < n; ++i)
      to[i] = half[static_cast<std::size_t>(i < centre ? centre - i : i - centre)] / scale;
    for (double v : half)
      require<ArgumentError>(std::isfinite(v) && v > 0, "NUFFT: width ", w, " and oversamp ",
                             oversamp, " leave no apodisation for axis ", a, " of the grid ", grid);
  }
  return along;
}

Array prepared_locs(const Array& locs, const Shape& grid, const Shape& padded, std::string_view who,
                    bool wrap) {
  Shape centre;
  for (i64 n : padded) centre.push_back(n / 2);
  const Frequencies of{grid, centre, wrap};
  check_locations(locs, padded, who, of);
  return grid_positions(locs, padded, of);
}

}  // namespace tessera::nufft
