// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/fft/chirp_lines.hpp"

#include "tessera/kernels/fft/turns.hpp"

namespace tessera {
namespace {

// The shortest length of at least so many points that is 16 times a product of 2, 3 and 5, so that
// its passes fill registers.
i64 padded_length(i64 least) {
  i64 best = 16;
  while (best < least) best *= 2;
  for (i64 five = 16; five < best; five *= 5)
    for (i64 three = five; three < best; three *= 3) {
      i64 length = three;
      while (length < least) length *= 2;
      best = std::min(best, length);
    }
  return best;
}

template <class R>
Complex<R> product(const Complex<R>& a, const Complex<R>& b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

}  // namespace

template <class R>
ChirpLines<R>::ChirpLines(i64 points)
    : points_(points),
      padded_(padded_length(2 * points - 1)),
      inner_(smooth_lines<R>(padded_)),
      chirp_(static_cast<std::size_t>(points)),
      filter_(static_cast<std::size_t>(padded_)) {
  // Squares modulo 2 n, by their differences: they do not fit 64 bits for long lines.
  const R scale = R(1) / static_cast<R>(padded_);
  for (i64 j = 0, square = 0; j < points; square = (square + 2 * j + 1) % (2 * points), ++j) {
    const auto [re, im] = root_of_unity(square, 2 * points);
    chirp_[static_cast<std::size_t>(j)] = {static_cast<R>(re), static_cast<R>(im)};
    for (i64 at : {j, (padded_ - j) % padded_})
      filter_[static_cast<std::size_t>(at)] = {static_cast<R>(re) * scale,
                                               static_cast<R>(-im) * scale};
  }
  std::vector<R> scratch(static_cast<std::size_t>(inner_->line_scratch(1)));
  inner_->lines(1, filter_.data(), padded_, filter_.data(), padded_, -1, R(1), scratch.data());
}

template <class R>
void ChirpLines<R>::transform(const C* from, C* to, int sign, R* scratch) const {
  C* const line = reinterpret_cast<C*>(scratch);
  R* const inner = scratch + 2 * padded_;
  const bool swap = sign > 0;  // a forward transform of swapped parts, swapped again
  for (i64 j = 0; j < points_; ++j)
    line[j] =
        product(swap ? C{from[j].im, from[j].re} : from[j], chirp_[static_cast<std::size_t>(j)]);
  for (i64 j = points_; j < padded_; ++j) line[j] = {};
  inner_->lines(1, line, padded_, line, padded_, -1, R(1), inner);
  for (i64 j = 0; j < padded_; ++j)
    line[j] = product(line[j], filter_[static_cast<std::size_t>(j)]);
  inner_->lines(1, line, padded_, line, padded_, +1, R(1), inner);
  for (i64 j = 0; j < points_; ++j) {
    const C z = product(line[j], chirp_[static_cast<std::size_t>(j)]);
    to[j] = swap ? C{z.im, z.re} : z;
  }
}

template class ChirpLines<float>;
template class ChirpLines<double>;

}  // namespace tessera
