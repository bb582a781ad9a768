// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/fft/turns.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <mutex>
#include <numbers>

namespace tessera {
namespace {

// Below, a line and its result stay in the second cache, where one plan of FFTW is as quick.
constexpr i64 shortest_long_line = i64{1} << 17;
constexpr i64 most_columns = 4096;  // a line of a pass stays in the first cache, about

template <class R>
Complex<R> root(i64 numerator, i64 points) {
  const std::array<double, 2> parts = root_of_unity(numerator, points);
  return {static_cast<R>(parts[0]), static_cast<R>(parts[1])};
}

}  // namespace

// By the nearest quarter and what is past it, an angle in two parts: what rounding takes from it
// would be seen, in transforms of constants for instance, which are to be zeros.
std::array<double, 2> root_of_unity(i64 numerator, i64 points) {
  constexpr double pi = std::numbers::pi, rest_of_pi = 1.2246467991473532e-16;
  const i64 at = numerator % points, quarter = (8 * at / points + 1) / 2;
  const double above = static_cast<double>(4 * at - quarter * points),
               below = 2 * static_cast<double>(points), part = above / below, angle = part * pi;
  const double rest =
      std::fma(part, pi, -angle) + part * rest_of_pi + std::fma(-part, below, above) / below * pi;
  const double cosine = std::cos(angle), sine = std::sin(angle);
  const double c = cosine - rest * sine, s = -(sine + rest * cosine);
  switch (quarter % 4) {
    case 0: return {c, s};
    case 1: return {s, -c};
    case 2: return {-c, -s};
    default: return {-s, c};
  }
}

template <class R>
Turns<R>::Turns(i64 points, i64 rows)
    : columns_(points / rows), coarse_((columns_ + stride - 1) / stride) {
  roots_.reserve(static_cast<std::size_t>(rows * (coarse_ + stride)));
  for (i64 row = 0; row < rows; ++row) {
    for (i64 c = 0; c < coarse_; ++c) roots_.push_back(root<R>(row * c * stride, points));
    for (i64 c = 0; c < stride; ++c) roots_.push_back(root<R>(row * c, points));
  }
}

template <class R>
void Turns<R>::multiply(Complex<R>* line, i64 row, int sign) const {
  const Complex<R>* const coarse = roots_.data() + row * (coarse_ + stride);
  R re[stride], im[stride];
  const R side = sign < 0 ? R(1) : R(-1);
  for (i64 c = 0; c < stride; ++c) {
    re[c] = coarse[coarse_ + c].re;
    im[c] = side * coarse[coarse_ + c].im;
  }
  for (i64 b = 0; b < coarse_; ++b) {
    const R u = coarse[b].re, v = side * coarse[b].im;
    Complex<R>* const z = line + b * stride;
    const i64 count = std::min(stride, columns_ - b * stride);
    for (i64 c = 0; c < count; ++c) {
      const R p = u * re[c] - v * im[c], q = u * im[c] + v * re[c], x = z[c].re, y = z[c].im;
      z[c] = {x * p - y * q, x * q + y * p};
    }
  }
}

template <class R>
std::shared_ptr<const Turns<R>> turns(i64 points, i64 rows) {
  struct Kept {
    i64 points, rows;
    std::shared_ptr<const Turns<R>> turns;
  };
  struct Known {
    std::mutex mutex;
    std::deque<Kept> last;
  };
  constexpr std::size_t most = 8;
  static Known* known = new Known;  // leaked: outlives every transform
  std::lock_guard lock(known->mutex);
  for (const Kept& k : known->last)
    if (k.points == points && k.rows == rows) return k.turns;
  if (known->last.size() == most) known->last.pop_front();
  known->last.push_back({points, rows, std::make_shared<const Turns<R>>(points, rows)});
  return known->last.back().turns;
}

// The largest divisor up to the root, unless columns would be long all the same.
i64 long_line_rows(i64 points) {
  if (points < shortest_long_line || points > most_columns * most_columns) return 0;
  auto rows = static_cast<i64>(std::sqrt(static_cast<double>(points)));
  while (points % rows != 0) --rows;
  return points / rows <= most_columns ? rows : 0;
}

template class Turns<float>;
template class Turns<double>;
template std::shared_ptr<const Turns<float>> turns(i64 points, i64 rows);
template std::shared_ptr<const Turns<double>> turns(i64 points, i64 rows);

}  // namespace tessera
