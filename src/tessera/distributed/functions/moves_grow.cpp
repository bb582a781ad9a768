// SPDX-License-Identifier: Apache-2.0
// Padding, repetition and differences: what changes the length of axes.
#include <algorithm>
#include <numeric>

#include "tessera/distributed/array/relayout.hpp"
#include "tessera/distributed/functions/join.hpp"
#include "tessera/distributed/functions/moves.hpp"
#include "tessera/distributed/functions/reshape.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/copy/repeat.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/gather/gather.hpp"

namespace tessera::dist {
namespace {

Array index_array(const std::vector<i64>& values, Device device) {
  const Array a = empty_dense({static_cast<i64>(values.size())}, DType::i64);
  std::copy(values.begin(), values.end(), a.host<i64>());
  return a.to(device);
}

// ---- pad ----

PadWidths checked(const PadWidths& given, i64 ndim) {
  require<ShapeError>(given.size() == 1 || static_cast<i64>(given.size()) == ndim,
                      "operands could not be broadcast together with remapped shapes "
                      "[original->remapped]: (",
                      given.size(), ",2)  and requested shape (", ndim, ",2)");
  for (const auto& [before, after] : given)
    require<ArgumentError>(before >= 0 && after >= 0, "index can't contain negative values");
  return given.size() == 1 ? PadWidths(static_cast<std::size_t>(ndim), given[0]) : given;
}

// The entry of an axis of length n that stands at place i of its continuation to both sides.
i64 continued(i64 i, i64 n, PadMode mode) {
  const auto modulo = [](i64 a, i64 m) { return ((a % m) + m) % m; };
  switch (mode) {
    case PadMode::edge: return std::clamp<i64>(i, 0, n - 1);
    case PadMode::wrap: return modulo(i, n);
    case PadMode::symmetric: {
      const i64 k = modulo(i, 2 * n);
      return k < n ? k : 2 * n - 1 - k;
    }
    default: {  // reflect: a single entry reflects itself
      if (n == 1) return 0;
      const i64 k = modulo(i, 2 * n - 2);
      return k < n ? k : 2 * n - 2 - k;
    }
  }
}

std::vector<i64> continuation(i64 begin, i64 end, i64 n, PadMode mode) {
  std::vector<i64> entries;
  for (i64 i = begin; i < end; ++i) entries.push_back(continued(i, n, mode));
  return entries;
}

Array padded(const Array& x, i64 axis, i64 before, i64 after, PadMode mode) {
  const i64 n = x.shape(axis);
  if (before == 0 && after == 0) return x;
  return tessera::take(x, index_array(continuation(-before, n + after, n, mode), x.device()), axis);
}

// The entries of the split axis that rank `who` wants in order, there; nothing elsewhere.
Array entries_for(const DNDarray& x, int who, const std::vector<i64>& wanted) {
  const i64 axis = *x.split();
  i64 low = 0, high = 0;  // all of them lie in between, and between are no others
  if (!wanted.empty()) {
    low = *std::min_element(wanted.begin(), wanted.end());
    high = *std::max_element(wanted.begin(), wanted.end()) + 1;
  }
  Boxes to(static_cast<std::size_t>(x.comm().size()), Box{axis, 0, 0});
  to[static_cast<std::size_t>(who)] = {axis, low, high};
  const Array mine = relayout(x, std::move(to));
  if (x.comm().rank() != who || wanted.empty()) return mine;
  std::vector<i64> places = wanted;
  for (i64& i : places) i -= low;
  return tessera::take(mine, index_array(places, x.device()), axis);
}

// This rank's part, with what continues the axis at its ends on the first and the last rank.
Array continued_along_split(const DNDarray& x, i64 before, i64 after, PadMode mode) {
  const i64 axis = *x.split(), n = x.shape(axis);
  const Array parts[] = {entries_for(x, 0, continuation(-before, 0, n, mode)), x.local(),
                         entries_for(x, x.comm().size() - 1, continuation(n, n + after, n, mode))};
  return tessera::concatenate(parts, axis);
}

Array filled(const DNDarray& x, const PadWidths& widths, const Shape& lshape, const Value& value) {
  const Array y = Array::empty(lshape, x.dtype(), x.device());
  Array middle = y;
  for (i64 a = 0; a < x.ndim(); ++a) {
    const bool later = x.split() == a && x.comm().rank() > 0;  // the first rank has the beginning
    const i64 begin = later ? 0 : widths[static_cast<std::size_t>(a)].first;
    const i64 end = begin + x.local().shape(a), size = middle.shape(a);
    if (begin > 0) middle.slice(a, 0, begin).fill(value);
    if (end < size) middle.slice(a, end, size).fill(value);
    middle = middle.slice(a, begin, end);
  }
  middle.copy_from(x.local());
  return y;
}

// ---- repeat ----

std::vector<i64> counts_from(const Array& repeats, i64 n) {
  require<DTypeError>(!is_inexact(repeats.dtype()) && repeats.dtype() != DType::u64,
                      "Cannot cast array data from dtype('", repeats.dtype(),
                      "') to dtype('int64') according to the rule 'safe'");
  require<ArgumentError>(repeats.ndim() <= 1, "object too deep for desired array");
  require<ShapeError>(repeats.size() == n || repeats.size() == 1,
                      "operands could not be broadcast together with shape (", n, ",) (",
                      repeats.size(), ",)");
  const Array wide = empty_dense({repeats.size()}, DType::i64);
  wide.copy_from(repeats.to(cpu).astype(DType::i64).reshape({-1}));
  const i64* p = wide.host<i64>();
  std::vector<i64> counts(p, p + wide.size());
  for (i64 c : counts) require<ArgumentError>(c >= 0, "repeats may not contain negative values.");
  if (wide.size() == 1) counts.assign(static_cast<std::size_t>(n), counts[0]);
  return counts;
}

// ---- diff ----

// Differences of neighbours of `own` followed by `next`, whose first entry is the neighbour of
// own's last.
Array differences(const Array& own, const Array& next, i64 axis) {
  const ElementOp op = own.dtype() == DType::b1 ? ElementOp::not_equal : ElementOp::subtract;
  const i64 n = own.shape(axis), inside = std::max<i64>(0, n - 1);
  const bool crosses = n > 0 && next && next.shape(axis) > 0;
  Shape shape = own.shape();
  shape[axis] = inside + crosses;
  const Array y = Array::empty(shape, own.dtype(), own.device());
  const auto subtract = [&](const Array& a, const Array& b, const Array& out) {
    const ArrayOrValue both[] = {a, b};
    if (out.size() > 0) tessera::elementwise(op, both, out);
  };
  subtract(own.slice(axis, 1, n), own.slice(axis, 0, inside), y.slice(axis, 0, inside));
  if (crosses)
    subtract(next.slice(axis, 0, 1), own.slice(axis, n - 1, n), y.slice(axis, inside, n));
  return y;
}

Array diff_along_split(const DNDarray& x, i64 order) {
  const i64 axis = *x.split(), n = std::max<i64>(0, x.shape(axis) - order);
  Boxes wanted;  // what follows each block, as far as its differences reach
  for (int r = 0; r < x.comm().size(); ++r) {
    const i64 begin = x.part().begin(r), end = x.part().end(r), last = std::min(end, n);
    wanted.push_back({axis, end, last > begin ? std::max(end, last + order) : end});
  }
  Array next = relayout(x, std::move(wanted));
  const i64 begin = x.part().begin(x.comm().rank()), end = x.part().end(x.comm().rank());
  Array own = x.local();
  if (std::min(end, n) <= begin) return own.slice(axis, 0, 0).copy();
  own = own.slice(axis, 0, std::min(end, n + order) - begin);
  for (i64 k = 0; k < order; ++k) {
    own = differences(own, next, axis);
    next = differences(next, Array(), axis);
  }
  return own;
}

}  // namespace

DNDarray pad(const DNDarray& x, const PadWidths& given, PadMode mode, const Value& value) {
  const PadWidths widths = checked(given, x.ndim());
  Shape shape = x.shape();
  for (i64 a = 0; a < x.ndim(); ++a) {
    const auto [before, after] = widths[static_cast<std::size_t>(a)];
    require<ArgumentError>(mode == PadMode::constant || x.shape(a) > 0 || before + after == 0,
                           "can't extend empty axis ", a,
                           " using modes other than 'constant' or 'empty'");
    shape[a] += before + after;
  }
  Distribution to;
  if (x.split()) {
    const auto [before, after] = widths[static_cast<std::size_t>(*x.split())];
    std::vector<i64> counts = x.part().counts();
    counts.front() += before;
    counts.back() += after;
    to = {x.split(), Partition::of(counts)};
  }
  Shape lshape = shape;
  if (to.split) lshape[*to.split] = to.part.count(x.comm().rank());
  if (mode == PadMode::constant)
    return DNDarray(filled(x, widths, lshape, value), shape, to, x.comm());
  Array y = x.local();
  if (x.split()) {
    const auto [before, after] = widths[static_cast<std::size_t>(*x.split())];
    if (before + after > 0) y = continued_along_split(x, before, after, mode);
  }
  for (i64 a = 0; a < x.ndim(); ++a)
    if (x.split() != a) {
      const auto [before, after] = widths[static_cast<std::size_t>(a)];
      y = padded(y, a, before, after, mode);
    }
  const bool same = y.storage() == x.local().storage();
  return DNDarray(same ? y.copy() : y, shape, to, x.comm());
}

DNDarray repeat(const DNDarray& x, i64 repeats, std::optional<i64> axis) {
  if (!axis) return repeat(ravel(x), repeats, 0);
  const i64 a = normalize_axis(*axis, x.ndim(), "repeat");
  require<ArgumentError>(repeats >= 0, "repeats may not contain negative values.");
  Shape wide = x.local().expand_dims(a + 1).shape(), shape = x.shape();
  wide[a + 1] = repeats;
  shape[a] *= repeats;
  Distribution to = x.distribution();
  if (x.split() == a) {
    std::vector<i64> counts = x.part().counts();
    for (i64& c : counts) c *= repeats;
    to = {a, Partition::of(counts)};
  }
  Shape lshape = shape;
  if (to.split) lshape[*to.split] = to.part.count(x.comm().rank());
  const Array y = x.local().expand_dims(a + 1).broadcast_to(wide).copy();
  return DNDarray(y.reshape(lshape), shape, to, x.comm());
}

DNDarray repeat(const DNDarray& x, const Array& repeats, std::optional<i64> axis) {
  if (!axis) return repeat(ravel(x), repeats, 0);
  const i64 a = normalize_axis(*axis, x.ndim(), "repeat");
  const std::vector<i64> times = counts_from(repeats, x.shape(a));
  const bool along = x.split() == a;
  std::span<const i64> mine = times;
  Shape shape = x.shape();
  shape[a] = std::accumulate(times.begin(), times.end(), i64{0});
  Distribution to = x.distribution();
  if (along) {
    std::vector<i64> counts;
    counts.reserve(static_cast<std::size_t>(x.comm().size()));
    for (int r = 0; r < x.comm().size(); ++r)
      counts.push_back(std::accumulate(times.begin() + x.part().begin(r),
                                       times.begin() + x.part().end(r), i64{0}));
    to = {a, Partition::of(counts)};
    const int rank = x.comm().rank();
    mine = mine.subspan(static_cast<std::size_t>(x.part().begin(rank)),
                        static_cast<std::size_t>(x.part().count(rank)));
  }
  return DNDarray(tessera::repeat(x.local(), mine, a), shape, to, x.comm());
}

DNDarray tile(const DNDarray& given, const Shape& repeats) {
  DNDarray x = given;
  Shape times = repeats;
  while (times.size() < x.ndim()) times.insert(0, 1);
  while (x.ndim() < times.size()) x = expand_dims(x, 0);
  for (i64 t : times) require<ArgumentError>(t >= 0, "negative dimensions are not allowed");
  Shape between, wide, lshape = x.local().shape(), shape = x.shape();
  for (i64 a = 0; a < x.ndim(); ++a) {
    const i64 t = x.split() == a ? 1 : times[a], n = lshape[a];
    between.push_back(1);
    between.push_back(n);
    wide.push_back(t);
    wide.push_back(n);
    lshape[a] *= t;
    shape[a] *= t;
  }
  const Array local = x.local().reshape(between).broadcast_to(wide).copy().reshape(lshape);
  const DNDarray y(local, shape, x.distribution(), x.comm());
  if (!x.split() || times[*x.split()] == 1) return y;
  if (times[*x.split()] == 0) return split(y, Shape{0}, *x.split()).front();
  return concatenate(std::vector<DNDarray>(static_cast<std::size_t>(times[*x.split()]), y),
                     *x.split());
}

DNDarray diff(const DNDarray& x, i64 order, i64 axis) {
  require<ArgumentError>(order >= 0, "order must be non-negative but got ", order);
  require<ArgumentError>(x.ndim() > 0, "diff requires input that is at least one dimensional");
  const i64 a = normalize_axis(axis, x.ndim(), "diff");
  if (order == 0) return x;
  Shape shape = x.shape();
  shape[a] = std::max<i64>(0, shape[a] - order);
  if (x.split() == a)
    return DNDarray(diff_along_split(x, std::min(order, x.shape(a))), shape,
                    {a, x.part().sliced({0, shape[a], 1})}, x.comm());
  Array y = x.local();
  for (i64 k = 0; k < std::min(order, x.shape(a)); ++k) y = differences(y, Array(), a);
  return DNDarray(y, shape, x.distribution(), x.comm());
}

}  // namespace tessera::dist
