// SPDX-License-Identifier: Apache-2.0
// exp(-2 pi i u v) as a sum of few products of functions of u and of v.
#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/linalg/linalg.hpp"
#include "tessera/kernels/matmul/matmul.hpp"
#include "tessera/linop/ops/transforms/field_map.hpp"

namespace tessera {
namespace nufft {

Array host_numbers(const Array& x) { return x.to(cpu).astype(DType::f64).contiguous(); }

std::span<const double> numbers_of(const Array& x) {
  return {x.host<double>(), static_cast<std::size_t>(x.size())};
}

Array turned(std::span<const double> u, std::span<const double> v) {
  const i64 rows = static_cast<i64>(u.size()), columns = static_cast<i64>(v.size());
  const Array all = empty_dense({rows, columns}, DType::c128);
  c128* to = all.host<c128>();
  for (const double a : u)
    for (const double b : v) {
      const double turns = a * b, rest = turns - std::nearbyint(turns);
      const std::complex<double> value = std::polar(1.0, -2 * std::numbers::pi * rest);
      *to++ = {value.real(), value.imag()};
    }
  return all;
}

}  // namespace nufft

namespace {

using nufft::host_numbers;
using nufft::numbers_of;

struct Range {
  double low = 0, high = 0;
  explicit Range(const Array& x) {
    if (x.size() == 0) return;
    const auto [least, largest] =
        std::minmax_element(x.host<double>(), x.host<double>() + x.size());
    low = *least;
    high = *largest;
  }
  double length() const { return high - low; }
};

// Numbers from the least to the largest of each bin that holds one: what a fit must be good at.
// Bins without a number, as between the frequencies of water and fat, ask for nothing. So many in
// each that a function that turns by half determines the polynomial through them to 1e-9.
Array representatives(const Array& x, i64 bins) {
  const Range all(x);
  std::vector<Range> in(static_cast<std::size_t>(bins), all);
  std::vector<bool> holds(in.size(), false);
  for (i64 i = 0; i < x.size(); ++i) {
    const double v = x.host<double>()[i];
    const double at = all.length() > 0 ? (v - all.low) / all.length() : 0;
    const auto b = static_cast<std::size_t>(
        std::min(static_cast<i64>(at * static_cast<double>(bins)), bins - 1));
    in[b].low = holds[b] ? std::min(in[b].low, v) : v;
    in[b].high = holds[b] ? std::max(in[b].high, v) : v;
    holds[b] = true;
  }
  std::vector<double> found;
  for (std::size_t b = 0; b < in.size(); ++b) {
    if (!holds[b]) continue;
    constexpr int inside = 12;
    const double middle = (in[b].low + in[b].high) / 2, half = (in[b].high - in[b].low) / 2;
    for (int i = 0; i < (half > 0 ? inside : 1); ++i)
      found.push_back(middle - half * std::cos(std::numbers::pi * i / (inside - 1)));
  }
  if (found.empty()) found.push_back(0);
  const Array all_found = empty_dense({static_cast<i64>(found.size())}, DType::f64);
  std::copy(found.begin(), found.end(), all_found.host<double>());
  return all_found;
}

double size_of_number(const c128& z) { return std::hypot(z.re, z.im); }

// Even nodes need the fewest where errors are large; nodes that are dense near the ends need fewer
// for small errors, and have smaller mixtures, whose products with other errors stay small.
std::vector<double> placed_nodes(const Range& range, i64 count, bool even) {
  std::vector<double> nodes;
  for (i64 i = 0; i < count; ++i) {
    const double n = static_cast<double>(count), k = static_cast<double>(i);
    const double at = count == 1 ? 0.5
                      : even     ? k / (n - 1)
                                 : 0.5 - 0.5 * std::cos(std::numbers::pi * (k + 0.5) / n);
    nodes.push_back(range.low + at * range.length());
  }
  return nodes;
}

struct Fit {
  Array u, v;     // representatives
  Array product;  // exp(-2 pi i u v)
  Range range;    // of v
  double tolerance, turns;

  nufft::Segments with(i64 count, bool even) const {
    nufft::Segments s;
    s.nodes = placed_nodes(range, count, even);
    s.samples = u;
    const Array basis = nufft::turned(numbers_of(u), s.nodes);
    // What is left out of the basis costs less than is allowed, and mixtures stay small. The two
    // factors are applied one after the other: rounding in their product would be as large as the
    // inverse of the smallest singular value.
    const linalg::Svd f = linalg::svd(basis, false);
    const Array sizes = f.s.contiguous();
    i64 rank = 0;
    const double least = std::max(1e-2 * tolerance, 1e-13) * sizes.host<double>()[0];
    while (rank < sizes.size() && sizes.host<double>()[rank] > least) ++rank;
    s.left = ops::conj(f.u.slice(1, 0, rank)).permute(Axes{1, 0}).contiguous();
    s.right =
        ops::divide(ops::conj(f.vh.slice(0, 0, rank)).permute(Axes{1, 0}), f.s.slice(0, 0, rank))
            .contiguous();
    const Array mixed = s.mixed(product), made = matmul(basis, mixed).contiguous();
    const i64 columns = v.size();
    for (i64 i = 0; i < made.size(); ++i) {
      const c128 got = made.host<c128>()[i], want = product.host<c128>()[i];
      s.error = std::max(s.error, size_of_number({got.re - want.re, got.im - want.im}));
    }
    for (i64 j = 0; j < columns; ++j) {
      double sum = 0;
      for (i64 k = 0; k < count; ++k) sum += size_of_number(mixed.host<c128>()[k * columns + j]);
      s.gain = std::max(s.gain, sum);
    }
    return s;
  }
  // No fewer will do: a sum of k products differs from m x n numbers by at least their singular value
  // k + 1 over sqrt(m n) in one of them. Told from every third number each way.
  i64 fewest() const {
    constexpr i64 step = 3;
    const Array some = product.slice(0, 0, product.shape(0), step)
                           .slice(1, 0, product.shape(1), step)
                           .contiguous();
    const Array sizes = linalg::svdvals(some).contiguous();
    const double least = tolerance * std::sqrt(static_cast<double>(some.size()));
    i64 k = 0;
    while (k < sizes.size() && sizes.host<double>()[k] > least) ++k;
    return std::max<i64>(k, 1);
  }
  nufft::Segments best(i64 count) const {
    nufft::Segments a = with(count, true), b = with(count, false);
    const bool both = std::max(a.error, b.error) <= tolerance;
    return (both ? a.gain <= b.gain : a.error <= b.error) ? a : b;
  }
};

Fit fit_of(const Array& u, const Array& v, double tolerance) {
  const Array of_u = host_numbers(u), of_v = host_numbers(v);
  const Range range(of_v);
  const double turns = Range(of_u).length() * range.length();
  require<ArgumentError>(turns <= nufft::most_turns, "FieldMapNUFFT: field map and times span ",
                         turns, " turns; expected at most ", nufft::most_turns,
                         ": is the field map in hertz and are the times in seconds?");
  const i64 bins = 8 + 2 * static_cast<i64>(std::ceil(turns));
  Fit fit{representatives(of_u, bins), representatives(of_v, bins), {}, range, tolerance, turns};
  fit.product = nufft::turned(numbers_of(fit.u), numbers_of(fit.v));
  return fit;
}

}  // namespace

namespace nufft {

Array Segments::mixed(const Array& turns) const {
  return matmul(right, matmul(left, turns)).contiguous();
}

Array Segments::mixture(const Array& v) const {
  const Array at = host_numbers(v);
  const i64 count = static_cast<i64>(nodes.size()), n = at.size();
  constexpr i64 together = 4096;  // numbers whose products with all samples are held at once
  const Array all = empty_dense({count, n}, DType::c128);
  for (i64 first = 0; first < n; first += together) {
    const i64 here = std::min(together, n - first);
    const Array part =
        mixed(turned(numbers_of(samples), numbers_of(at).subspan(static_cast<std::size_t>(first),
                                                                 static_cast<std::size_t>(here))));
    for (i64 s = 0; s < count; ++s)
      std::copy_n(part.host<c128>() + s * here, here, all.host<c128>() + s * n + first);
  }
  return all;
}

double range_of(const Array& x) { return Range(x).length(); }

i64 fewest_segments(const Array& u, const Array& v, double tolerance) {
  return fit_of(u, v, tolerance).fewest();
}

Segments segments_for(const Array& u, const Array& v, double tolerance, std::optional<i64> count) {
  const Fit fit = fit_of(u, v, tolerance);
  if (count) return fit.best(*count);
  const i64 most = 64 + 4 * static_cast<i64>(std::ceil(fit.turns));
  i64 enough = std::min(most, fit.fewest()), few = enough - 1;
  Segments found = fit.best(enough);
  for (i64 more = 1; found.error > tolerance && enough < most; more *= 2) {
    few = enough;
    enough = std::min(most, enough + more);
    found = fit.best(enough);
  }
  require<ArgumentError>(found.error <= tolerance, "FieldMapNUFFT: ", most,
                         " segments leave an error of ", found.error, "; expected ", tolerance);
  while (enough - few > 1) {
    const i64 middle = (few + enough) / 2;
    Segments s = fit.best(middle);
    if (s.error <= tolerance) {
      enough = middle;
      found = std::move(s);
    } else {
      few = middle;
    }
  }
  return found;
}

}  // namespace nufft

}  // namespace tessera
