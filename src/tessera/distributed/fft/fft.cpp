// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/fft/fft.hpp"

#include <algorithm>

#include "tessera/distributed/array/axis_list.hpp"
#include "tessera/distributed/exchange/panels.hpp"
#include "tessera/distributed/exchange/point_to_point.hpp"
#include "tessera/distributed/fft/fft_line.hpp"
#include "tessera/distributed/functions/join.hpp"
#include "tessera/distributed/functions/moves.hpp"
#include "tessera/distributed/functions/reshape.hpp"
#include "tessera/kernels/copy/copy.hpp"

namespace tessera::dist {
namespace {

using Sizes = std::optional<Shape>;

// One of the four functions.
struct Transform {
  Array (*local)(const Array&, const Shape&, Norm, const Sizes&);
  FftKind kind;
  int sign;
};
constexpr Transform forward{&tessera::fftn, FftKind::complex, -1};
constexpr Transform backward{&tessera::ifftn, FftKind::complex, +1};
constexpr Transform from_real{&tessera::rfftn, FftKind::real_to_complex, -1};
constexpr Transform to_real{&tessera::irfftn, FftKind::complex_to_real, +1};

// A part of the axes, with the sizes that were asked for.
struct Along {
  Shape axes;
  Sizes n;
};

// The errors of the local function, called with axes of the length 1 (2 where a length 1 means
// nothing) and sizes to match.
void check_arguments(const Transform& f, const DNDarray& x, const Shape& axes, Norm norm,
                     const Sizes& n) {
  Shape small = x.shape();
  const i64 limit = f.kind == FftKind::complex_to_real ? 2 : 1;
  for (i64& s : small) s = std::min(s, limit);
  Sizes sizes = n;
  if (sizes)
    for (i64& s : *sizes) s = std::min<i64>(s, 1);
  (void)f.local(stand_in(small, x.dtype()), axes, norm, sizes);
}

bool repeats(const Shape& axes) {
  for (i64 i = 0; i < axes.size(); ++i)
    if (std::find(axes.begin(), axes.begin() + i, axes[i]) != axes.begin() + i) return true;
  return false;
}

Along only(const Along& all, i64 i) {
  return {Shape{all.axes[i]}, all.n ? Sizes(Shape{(*all.n)[i]}) : Sizes()};
}
Along without(const Along& all, i64 i) {
  Along rest = all;
  rest.axes.erase(i);
  if (rest.n) rest.n->erase(i);
  return rest;
}

// None of the axes is split.
DNDarray in_place(const Transform& f, const DNDarray& x, const Along& along, Norm norm) {
  const Array y = f.local(x.local(), along.axes, norm, along.n);
  Shape shape = x.shape();
  for (i64 a : along.axes) shape[a] = y.shape(a);
  return DNDarray(y, shape, x.distribution(), x.comm());
}

bool is_line(const Shape& shape, i64 axis) {
  for (i64 k = 0; k < shape.size(); ++k)
    if (k != axis && shape[k] != 1) return false;
  return true;
}

// The axis is split, and all others have the length 1.
DNDarray as_line(const Transform& f, const DNDarray& x, i64 points, Norm norm) {
  const i64 axis = *x.split();
  const DNDarray y =
      transform_line(ravel(x), f.kind, f.sign, fft_scale(norm, f.sign, points), points);
  Shape shape = x.shape();
  shape[axis] = y.shape(0);
  return reshape(y, shape, axis).owned();
}

// Where the transform of `points` points along the split axis goes: x itself where it may and can.
DNDarray result_of(const Transform& f, const DNDarray& x, i64 points, bool overwrite) {
  const i64 axis = *x.split(), n = f.kind == FftKind::real_to_complex ? points / 2 + 1 : points;
  const Array one = stand_in(Shape(x.ndim(), 1), x.dtype());
  const DType dtype = f.local(one, Shape{axis}, Norm::backward, Shape{1}).dtype();
  const bool same = n == x.shape(axis);
  if (overwrite && same && dtype == x.dtype() && x.writable()) return x;
  const Distribution to{axis, same ? x.part() : Partition::even(n, x.comm().size())};
  Shape shape = x.shape(), local = x.lshape();
  shape[axis] = n;
  local[axis] = to.part.count(x.comm().rank());
  return DNDarray(empty_dense(local, dtype, x.device()), shape, to, x.comm());
}

// The axis is split: whole lines of it lie together while another axis is. `overwrite`: nobody else
// sees the operand.
DNDarray across(const Transform& f, const DNDarray& given, const Along& along, Norm norm,
                bool overwrite = false) {
  const i64 axis = along.axes[0], asked = along.n ? along.n->front() : -1;
  const bool back = f.kind == FftKind::complex_to_real;
  const i64 points = asked != -1 ? asked : back ? 2 * (given.shape(axis) - 1) : given.shape(axis);
  if (given.comm().alone()) {
    const Array y = f.local(given.local(), along.axes, norm, along.n);
    return DNDarray(y, y.shape(), {axis, Partition::even(y.shape(axis), 1)}, given.comm());
  }
  if (is_line(given.shape(), axis)) return as_line(f, given, points, norm);
  const i64 used = back ? points / 2 + 1 : points;  // what lies behind is not looked at
  const DNDarray x = used < given.shape(axis) ? split(given, Shape{used}, axis).front() : given;
  const DNDarray y = result_of(f, given, points, overwrite);
  const Shape length{points};
  by_panels(x, y,
            [&](const Array& lines, i64) { return f.local(lines, along.axes, norm, length); });
  return y;
}

DNDarray complex_transform(const Transform& f, const DNDarray& x, const Along& along, Norm norm) {
  if (repeats(along.axes)) {  // an axis named twice is transformed twice, the last one first
    DNDarray y = x;
    for (i64 i = along.axes.size() - 1; i >= 0; --i)
      y = complex_transform(f, y, only(along, i), norm);
    return y;
  }
  const i64* split =
      x.split() ? std::find(along.axes.begin(), along.axes.end(), *x.split()) : along.axes.end();
  if (split == along.axes.end()) return in_place(f, x, along, norm);
  const i64 i = split - along.axes.begin();
  const Along rest = without(along, i);
  if (rest.axes.empty()) return across(f, x, only(along, i), norm);
  return across(f, in_place(f, x, rest, norm), only(along, i), norm, true);
}

DNDarray one_axis(const Transform& f, const DNDarray& x, const Along& along, Norm norm) {
  return x.split() == along.axes[0] ? across(f, x, along, norm) : in_place(f, x, along, norm);
}

// Checked by the local function, axes counted from the front.
Along checked(const Transform& f, const DNDarray& x, const Shape& axes, Norm norm, const Sizes& n) {
  check_arguments(f, x, axes, norm, n);
  Along along{{}, n};
  for (i64 a : axes) along.axes.push_back(normalize_axis(a, x.ndim(), "fft"));
  return along;
}

bool is_local(const DNDarray& x, const Along& along) {
  return !(x.split() && contains(along.axes, *x.split())) && !repeats(along.axes);
}

}  // namespace

DNDarray fftn(const DNDarray& x, const Shape& axes, Norm norm, const std::optional<Shape>& n) {
  return complex_transform(forward, x, checked(forward, x, axes, norm, n), norm);
}

DNDarray ifftn(const DNDarray& x, const Shape& axes, Norm norm, const std::optional<Shape>& n) {
  return complex_transform(backward, x, checked(backward, x, axes, norm, n), norm);
}

// The last axis first, real to complex, then the others.
DNDarray rfftn(const DNDarray& x, const Shape& axes, Norm norm, const std::optional<Shape>& n) {
  const Along all = checked(from_real, x, axes, norm, n);
  if (is_local(x, all)) return in_place(from_real, x, all, norm);
  const i64 last = all.axes.size() - 1;
  const DNDarray y = one_axis(from_real, x, only(all, last), norm);
  return last == 0 ? y : complex_transform(forward, y, without(all, last), norm);
}

// The last axis last, complex to real.
DNDarray irfftn(const DNDarray& x, const Shape& axes, Norm norm, const std::optional<Shape>& n) {
  const Along all = checked(to_real, x, axes, norm, n);
  if (is_local(x, all)) return in_place(to_real, x, all, norm);
  const i64 last = all.axes.size() - 1;
  const DNDarray y = last == 0 ? x : complex_transform(backward, x, without(all, last), norm);
  return one_axis(to_real, y, only(all, last), norm);
}

DNDarray fftshift(const DNDarray& x, const Shape& axes, bool inverse) {
  Shape shifts, all;
  for (i64 a : axes) {
    all.push_back(normalize_axis(a, x.ndim(), "fftshift"));
    shifts.push_back(inverse ? -(x.shape(all.back()) / 2) : x.shape(all.back()) / 2);
  }
  return all.empty() ? x.copy() : roll(x, shifts, all);
}

}  // namespace tessera::dist
