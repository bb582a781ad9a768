// SPDX-License-Identifier: Apache-2.0
// Note [four steps]: the line of high x wide points is a matrix of `high` rows. Its columns are
// transformed, entry q of column j is turned by q j / (high wide) of a circle, and column j becomes
// row j of a second matrix, of `wide` rows, whose columns are transformed. Read by rows that is the
// transform, in order: the second matrix is the result's own memory, and nothing of the size of the
// line lies beside it. Each element moves three times: columns come together a panel at a time,
// once for good, then there and back.
#include "tessera/distributed/fft/fft_line.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>
#include <vector>

#include "tessera/distributed/array/relayout.hpp"
#include "tessera/distributed/exchange/panels.hpp"
#include "tessera/distributed/fft/fft_line_matrices.hpp"
#include "tessera/distributed/fft/fft_real_line.hpp"
#include "tessera/distributed/functions/elementwise.hpp"
#include "tessera/distributed/functions/join.hpp"
#include "tessera/distributed/functions/moves.hpp"
#include "tessera/kernels/copy/copy.hpp"

namespace tessera::dist {
namespace {

constexpr i64 short_line = 1024;         // up to here a gather is quicker than three exchanges
constexpr i64 turned_at_once = 1 << 17;  // phases in memory
constexpr i64 transformed_at_once = 1 << 19;

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

// Columns [boxes[r].begin, boxes[r].end) of the first matrix, on rank r.
using FirstColumns = std::function<Array(const Boxes& columns)>;

// `step`: columns at a time.
DNDarray in_four_steps(const FirstColumns& first, const SecondMatrix& second, i64 step, int sign) {
  const Communicator& comm = second.matrix.comm();
  const i64 n = second.part.size();
  i64 most = 0;
  for (int r = 0; r < comm.size(); ++r) most = std::max(most, second.rows.count(r));
  for (i64 j = 0; j < most; j += step) {
    Boxes some;
    for (int r = 0; r < comm.size(); ++r) {
      const i64 begin = std::min(second.rows.begin(r) + j, second.rows.end(r));
      some.push_back({1, begin, std::min(begin + step, second.rows.end(r))});
    }
    const Array columns = first(some);
    if (columns.size() == 0) continue;
    const Array y = plain(columns, 0, sign);
    turn(y, some[static_cast<std::size_t>(comm.rank())].begin, n, sign);
    second.matrix.local().slice(0, j, j + y.shape(1)).copy_from(y.transpose());
  }
  by_panels(
      second.matrix, second.matrix, [&](const Array& lines, i64) { return plain(lines, 0, sign); },
      transformed_at_once * size_of(second.matrix.dtype()));
  return second.finished();
}

i64 columns_at_once(i64 high, i64 points) { return std::max<i64>(1, points / high); }

// Points of `unit` elements of x; the result has `behind` more, which are not written.
DNDarray transformed(const DNDarray& x, i64 high, i64 unit, i64 behind, int sign) {
  const Communicator& comm = x.comm();
  std::vector<i64> counts = Partition::even(x.shape(0) / unit + behind, comm.size()).counts();
  counts.back() -= behind;
  const SecondMatrix second(Partition::of(counts), behind, 0, high, complex_of(x.dtype()),
                            x.device(), comm);
  const FirstMatrix first(x, high, unit, second.columns());
  return in_four_steps([&](const Boxes& some) { return first.columns(some); }, second,
                       columns_at_once(high, transformed_at_once), sign);
}

// Complex numbers as twice as many reals, of which some may follow or come before them.
Array as_reals(const Array& z, i64 before, i64 count) {
  Layout layout = Layout::contiguous({count});
  layout.offset = 2 * z.layout().offset - before;
  return Array(z.storage(), layout, real_of(z.dtype()));
}

// Points of two reals, distributed so that each begins on the rank where its first real is wanted.
Partition pairs_of(const Partition& reals) {
  std::vector<i64> counts;
  counts.reserve(static_cast<std::size_t>(reals.ranks()));
  for (int r = 0; r < reals.ranks(); ++r)
    counts.push_back((reals.end(r) + 1) / 2 - (reals.begin(r) + 1) / 2);
  return Partition::of(counts);
}

// Where a rank's reals begin with the second one of a point, that comes from the rank before.
DNDarray distributed_as_reals(const DNDarray& z, const Partition& reals) {
  const Communicator& comm = z.comm();
  Boxes from, to;
  for (int r = 0; r < comm.size(); ++r) {
    from.push_back({0, 2 * z.part().begin(r), 2 * z.part().end(r)});
    const i64 begin = reals.begin(r);
    to.push_back({0, begin, std::min(reals.end(r), begin + begin % 2)});
  }
  const i64 before = reals.begin(comm.rank()) % 2, count = reals.count(comm.rank());
  const Array line = as_reals(z.local(), before, count);
  Relayout({reals.size()}, std::move(from), std::move(to))
      .run_into(as_reals(z.local(), 0, 2 * z.local().size()),
                line.slice(0, 0, std::min(before, count)), comm);
  return DNDarray(line, {reals.size()}, {0, reals}, comm);
}

// The real line of 2 m points, without a scale, from the m + 1 of x: see Note [real lines].
DNDarray transformed_to_real(const DNDarray& x, i64 high, int sign) {
  const Communicator& comm = x.comm();
  const i64 m = x.shape(0) - 1, wide = m / high;
  const Partition reals = Partition::even(2 * m, comm.size());
  const SecondMatrix second(pairs_of(reals), 0, 1, high, x.dtype(), x.device(), comm);
  const auto mirrored = [&](Boxes boxes) {
    for (Box& box : boxes) box = {box.axis, wide - box.end, wide - box.begin};
    return boxes;
  };
  const FirstMatrix ahead(split(x, Shape{m}, 0)[0], high, 1, second.columns()),
      back(split(x, Shape{1}, 0)[1], high, 1, mirrored(second.columns()));
  const auto tangled = [&](const Boxes& some) {
    const Array points = ahead.columns(some), images = back.columns(mirrored(some));
    return tangle_real(points, images, some[static_cast<std::size_t>(comm.rank())].begin, wide,
                       sign);
  };
  const i64 step = columns_at_once(high, transformed_at_once / 8);
  return distributed_as_reals(in_four_steps(tangled, second, step, sign), reals);
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
  const i64 rows = lower_factor(points), ranks = x.comm().size();
  if (points < short_line || rows < ranks) return gathered(x, kind, sign, scale, points);
  const bool to_real = kind == FftKind::complex_to_real;
  DNDarray line = resized(x, to_real ? points / 2 + 1 : points);
  if (to_real) line = line.astype(complex_of(x.dtype()));
  // Of real numbers two are a point.
  const i64 high = points % 2 == 0 ? lower_factor(points / 2) : 0;
  if (to_real && high >= ranks) return scaled(transformed_to_real(line, high, sign), scale);
  if (to_real) return real(scaled(transformed(mirrored(line, points), rows, 1, 0, sign), scale));
  if (kind == FftKind::complex) return scaled(transformed(line, rows, 1, 0, sign), scale);
  if (high >= ranks) {
    const DNDarray y = transformed(line, high, 2, 1, sign);
    untangle_real(y, sign);
    return scaled(y, scale);
  }
  const DNDarray y = scaled(transformed(line, rows, 1, 0, sign), scale);
  return split(y, Shape{points / 2 + 1}, 0).front().balance();
}

}  // namespace tessera::dist
