// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "tessera/device/threads.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/reduce/reduce.hpp"
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
}  // namespace

Array apodization(const Shape& grid, const Shape& padded, double w, double oversamp, double scale) {
  const double beta = kaiser_bessel_beta(w, oversamp);
  std::vector<std::vector<double>> along;
  for (i64 a = 0; a < grid.size(); ++a) {
    along.emplace_back();
    const i64 centre = grid[a] / 2;
    for (i64 i = 0; i < grid[a]; ++i) {
      const double t = pi * w * static_cast<double>(i - centre) / static_cast<double>(padded[a]);
      along.back().push_back(inverse_sinhc(beta * beta - t * t) / scale);
      require<ArgumentError>(std::isfinite(along.back().back()) && along.back().back() > 0,
                             "NUFFT: width ", w, " and oversamp ", oversamp,
                             " leave no apodisation for axis ", a, " of the grid ", grid);
    }
  }
  const i64 n = count_of(grid), line = grid.back();
  const Array all(Storage::allocate(cpu, n * size_of(DType::f64)), Layout::contiguous(grid),
                  DType::f64);
  double* to = all.host<double>();
  parallel_for(n / line, 64, [&](i64 begin, i64 end) {
    for (i64 row = begin; row < end; ++row) {
      double product = 1;
      for (i64 a = grid.size() - 2, rest = row; a >= 0; rest /= grid[a--])
        product *= along[static_cast<std::size_t>(a)][static_cast<std::size_t>(rest % grid[a])];
      for (i64 i = 0; i < line; ++i)
        to[row * line + i] = along.back()[static_cast<std::size_t>(i)] * product;
    }
  });
  return all;
}

namespace {
Array on_device(const std::vector<double>& numbers, Device where) {
  const Array here = empty_dense({static_cast<i64>(numbers.size())}, DType::f64);
  std::copy(numbers.begin(), numbers.end(), here.host<double>());
  return here.to(where);
}

// As below, where the locations are: the same operations one after another, so the same numbers.
Array prepared_there(const Array& from, const Shape& grid, const Shape& padded) {
  std::vector<double> wide, narrow, centre;
  for (i64 a = 0; a < grid.size(); ++a) {
    wide.push_back(static_cast<double>(padded[a]));
    narrow.push_back(static_cast<double>(grid[a]));
    centre.push_back(std::floor(wide.back() / 2));
  }
  const Array p = on_device(wide, from.device()), n = on_device(narrow, from.device()),
              c = on_device(centre, from.device());
  const Array at = ops::add(ops::divide(ops::multiply(from, p), n), c);
  const Array wrapped = ops::subtract(at, ops::multiply(p, ops::floor(ops::divide(at, p))));
  return ops::where(ops::less(wrapped, p), wrapped, 0.0);
}
}  // namespace

Array prepared_locs(const Array& locs, const Shape& grid, const Shape& padded, std::string_view who,
                    bool wrap) {
  // Rounding of single precision and of scales takes points on the rim a little past it.
  std::vector<double> limits;
  for (i64 n : grid)
    limits.push_back(wrap ? std::numeric_limits<double>::max()
                          : static_cast<double>(n) / 2 * (1 + 1e-5));
  if (locs.device() != cpu && locs.size() > 0) {
    const Array there = locs.astype(DType::f64).contiguous();
    const Array within = ops::less_equal(ops::absolute(there), on_device(limits, there.device()));
    if (reduce(ReduceOp::all, within).item().as<bool>()) return prepared_there(there, grid, padded);
  }  // else the host names the location
  const Array from = locs.to(cpu).astype(DType::f64).contiguous();
  const Array to(Storage::allocate(cpu, from.bytes()), Layout::contiguous(from.shape()),
                 DType::f64);
  const i64 axes = grid.size();
  const double* in = from.host<double>();
  double* out = to.host<double>();
  i64 others = 0;
  for (i64 a = 0; a < axes; ++a)
    for (i64 i = a; i < from.size(); i += axes)
      others += !(std::abs(in[i]) <= limits[static_cast<std::size_t>(a)]);
  for (i64 i = 0; others > 0 && i < from.size(); ++i) {
    const i64 a = i % axes;
    require<ArgumentError>(std::isfinite(in[i]), who, ": location ", i / axes, " is ", in[i],
                           " along axis ", a, "; locations must be finite");
    const double half = static_cast<double>(grid[a]) / 2;
    require<ArgumentError>(std::abs(in[i]) <= limits[static_cast<std::size_t>(a)], who,
                           ": location ", i / axes, " is ", in[i], " along axis ", a, " of ",
                           grid[a], " points; expected cycles per field of view, from ", -half,
                           " to ", half, " (wrap=True takes ", in[i], " as a frequency within)");
  }
  parallel_for(from.size() / axes, 1 << 13, [&](i64 begin, i64 end) {
    for (i64 a = 0; a < axes; ++a) {
      const double p = static_cast<double>(padded[a]), n = static_cast<double>(grid[a]),
                   centre = std::floor(p / 2);
      wide([=] {
        for (i64 i = begin * axes + a; i < end * axes; i += axes) {
          const double at = in[i] * p / n + centre, wrapped = at - p * std::floor(at / p);
          out[i] = wrapped < p ? wrapped : 0;
        }
      });
    }
  });
  return to.to(locs.device());
}

}  // namespace tessera::nufft
