// SPDX-License-Identifier: Apache-2.0
// Note [four steps]: the line of n1 n2 points is a matrix of n1 rows. Its columns are transformed,
// each entry (k, j) is turned by k j / (n1 n2) of a circle, the rows are transformed, and the
// matrix is read by columns. Ranks have whole rows; columns come together a panel at a time. Every
// element moves three times, and the matrix is the one copy beside the result.
#include "tessera/dist/fft_line.hpp"

#include <array>
#include <cmath>
#include <numbers>

#include "tessera/dist/elementwise.hpp"
#include "tessera/dist/join.hpp"
#include "tessera/dist/moves.hpp"
#include "tessera/dist/panels.hpp"
#include "tessera/dist/reshape.hpp"
#include "tessera/kernels/copy/copy.hpp"

namespace tessera::dist {
namespace {

constexpr i64 short_line = 1024;         // up to here a gather is quicker than three exchanges
constexpr i64 turned_at_once = 1 << 18;  // phases in memory
constexpr i64 transformed_at_once = 1 << 20;

// The local transform without a scale.
Array plain(const Array& x, i64 axis, int sign) {
  return sign < 0 ? tessera::fftn(x, {axis}, Norm::backward)
                  : tessera::ifftn(x, {axis}, Norm::forward);
}

// The largest divisor up to the square root; 1 for primes.
i64 lower_factor(i64 n) {
  i64 k = static_cast<i64>(std::sqrt(static_cast<double>(n)));
  while (k > 1 && n % k != 0) --k;
  return std::max<i64>(1, k);
}

// x[k, j] *= exp(sign 2 pi i k (j + first) / n)
void turn(const Array& x, i64 first, i64 n, int sign) {
  const i64 rows = x.shape(0), columns = x.shape(1);
  if (x.size() == 0) return;
  const auto count = [&](i64 start, i64 length) {
    return tessera::arange(Value(start), Value(start + length), Value(1), DType::i64, x.device());
  };
  const Array j = count(first, columns);
  const double unit = sign * 2 * std::numbers::pi / static_cast<double>(n);
  const i64 step = std::max<i64>(1, turned_at_once / columns);
  for (i64 k = 0; k < rows; k += step) {
    const Array part = x.slice(0, k, k + step);
    const Array places = ops::multiply(count(k, part.shape(0)).expand_dims(1), j);
    const Array phases = ops::multiply(places, Value(unit));
    const Array factors = Array::empty(part.shape(), x.dtype(), x.device());
    factors.real().copy_from(ops::cos(phases));
    factors.imag().copy_from(ops::sin(phases));
    const ArrayOrValue both[] = {part, factors};
    tessera::elementwise(ElementOp::multiply, both, part);
  }
}

// x becomes its transform along its rows, some rows at a time.
void transform_rows(const Array& x, int sign) {
  const i64 step = std::max<i64>(1, transformed_at_once / std::max<i64>(1, x.shape(1)));
  for (i64 k = 0; k < x.shape(0); k += step) {
    const Array part = x.slice(0, k, std::min(k + step, x.shape(0)));
    part.copy_from(plain(part, 1, sign));
  }
}

DNDarray in_four_steps(const DNDarray& x, i64 rows, int sign) {
  const i64 n = x.shape(0), columns = n / rows;
  const DNDarray given = reshape(x, {rows, columns}, 0);
  const DType dtype = complex_of(x.dtype());
  // What reshape copied may be overwritten.
  const bool own =
      given.dtype() == dtype && given.local().storage().data() != x.local().storage().data();
  const DNDarray matrix = own ? given
                              : DNDarray(empty_dense(given.lshape(), dtype, x.device()),
                                         given.shape(), given.spread(), x.comm());
  by_panels(given, matrix, [&](const Array& some, i64 first) {
    const Array y = plain(some, 0, sign);
    turn(y, first, n, sign);
    return y;
  });
  transform_rows(matrix.local(), sign);
  return reshape(transpose(matrix), {n});
}

DNDarray resized(const DNDarray& x, i64 n) {
  if (n < x.shape(0)) return split(x, Shape{n}, 0).front();
  return n > x.shape(0) ? pad(x, {{0, n - x.shape(0)}}) : x;
}

DNDarray scaled(const DNDarray& x, double scale) {
  if (scale != 1) {
    const Operand both[] = {x, Value(scale)};
    elementwise(ElementOp::multiply, both, x);
  }
  return x;
}

// The n points of a real signal's spectrum, of which n / 2 + 1 are given.
DNDarray mirrored(const DNDarray& half, i64 n) {
  const i64 missing = n - half.shape(0);
  const DNDarray tail = split(half, Shape{1, 1 + missing}, 0)[1];
  return concatenate(std::array{half, conj(flip(tail))}, 0);
}

// Everything on every rank, each keeps its part.
DNDarray gathered(const DNDarray& x, FftKind kind, int sign, double scale, i64 points) {
  const Array all = x.gathered();
  const Shape n{points};
  Array y;
  if (kind == FftKind::real_to_complex)
    y = tessera::rfftn(all, {0}, Norm::backward, n);
  else if (kind == FftKind::complex_to_real)
    y = tessera::irfftn(all, {0}, Norm::forward, n);
  else
    y = sign < 0 ? tessera::fftn(all, {0}, Norm::backward, n)
                 : tessera::ifftn(all, {0}, Norm::forward, n);
  return scaled(DNDarray::replicated(y, x.comm()).resplit(0), scale);
}

}  // namespace

DNDarray transform_line(const DNDarray& x, FftKind kind, int sign, double scale, i64 points) {
  const i64 rows = lower_factor(points);
  if (points < short_line || rows < x.comm().size()) return gathered(x, kind, sign, scale, points);
  const bool to_real = kind == FftKind::complex_to_real;
  DNDarray line = resized(x, to_real ? points / 2 + 1 : points);
  if (to_real) line = mirrored(line.astype(complex_of(x.dtype())), points);
  const DNDarray y = scaled(in_four_steps(line, rows, sign), scale);
  if (to_real) return real(y);
  if (kind == FftKind::complex) return y;
  return split(y, Shape{points / 2 + 1}, 0).front().balance();
}

}  // namespace tessera::dist
