// SPDX-License-Identifier: Apache-2.0
// Views, and the two moves that only change the place of entries along an axis.
#include "tessera/distributed/functions/moves.hpp"

#include <algorithm>

#include "tessera/distributed/array/axis_list.hpp"
#include "tessera/distributed/array/relayout.hpp"
#include "tessera/distributed/exchange/point_to_point.hpp"
#include "tessera/distributed/functions/reshape.hpp"
#include "tessera/kernels/copy/copy.hpp"

namespace tessera::dist {
namespace {

Shape all_axes(i64 ndim) {
  Shape axes;
  for (i64 a = 0; a < ndim; ++a) axes.push_back(a);
  return axes;
}

// The distribution of x with its split axis at another place.
Distribution at_axis(const DNDarray& x, i64 axis) { return {axis, x.part()}; }

Shape distinct_axes(const Shape& axes, i64 ndim, std::string_view what) {
  Shape all;
  for (i64 a : axes) {
    a = normalize_axis(a, ndim, what);
    require<ArgumentError>(!contains(all, a), "repeated axis in `", what, "` argument");
    all.push_back(a);
  }
  return all;
}

Array squeezed(const Array& x, const Shape& axes) {  // axes ascending
  Array y = x;
  for (i64 i = axes.size() - 1; i >= 0; --i) y = y.squeeze(axes[i]);
  return y;
}

// The entries that go to rank r where y[i] = x[i - shift], as far as 0 <= i - shift.
struct Rolled {
  Boxes boxes;             // of x
  i64 begin = 0, end = 0;  // of y, on this rank
};
Rolled rolled_part(const DNDarray& x, i64 shift, i64 first, i64 last) {
  Rolled r;
  for (int q = 0; q < x.comm().size(); ++q) {
    const i64 begin = std::max(x.part().begin(q), first), end = std::min(x.part().end(q), last);
    r.boxes.push_back({*x.split(), begin - shift, std::max(begin, end) - shift});
    if (q == x.comm().rank()) r.begin = begin, r.end = std::max(begin, end);
  }
  return r;
}

// y[(i + shift) mod n] = x[i] along the split axis, distributed as x is.
Array rolled_along_split(const DNDarray& x, i64 shift) {
  const i64 axis = *x.split(), n = x.shape(axis), start = x.part().begin(x.comm().rank());
  const Array y = Array::empty(x.lshape(), x.dtype(), x.device());
  for (const Rolled& r : {rolled_part(x, shift, shift, n), rolled_part(x, shift - n, 0, shift)})
    Relayout(x, r.boxes)
        .run_into(x.local(), y.slice(axis, r.begin - start, r.end - start), x.comm());
  return y;
}

}  // namespace

DNDarray permute(const DNDarray& x, const Shape& axes) {
  const auto turn = [&](const Array& a) { return a.permute(axes); };
  (void)turn(stand_in(x.shape(), x.dtype()));  // its errors come first
  i64 split = 0;
  for (i64 i = 0; i < axes.size(); ++i)
    if (x.split() && normalize_axis(axes[i], x.ndim(), "") == *x.split()) split = i;
  return view_of(x, x.split() ? at_axis(x, split) : Distribution{}, turn);
}

DNDarray transpose(const DNDarray& x) {
  Shape axes = all_axes(x.ndim());
  std::reverse(axes.begin(), axes.end());
  return permute(x, axes);
}

DNDarray swapaxes(const DNDarray& x, i64 a, i64 b) {
  a = normalize_axis(a, x.ndim(), "swapaxes");
  b = normalize_axis(b, x.ndim(), "swapaxes");
  Shape axes = all_axes(x.ndim());
  std::swap(axes[a], axes[b]);
  return permute(x, axes);
}

DNDarray moveaxis(const DNDarray& x, const Shape& source, const Shape& destination) {
  const Shape from = distinct_axes(source, x.ndim(), "source");
  const Shape to = distinct_axes(destination, x.ndim(), "destination");
  require<ArgumentError>(
      from.size() == to.size(),
      "`source` and `destination` arguments must have the same number of elements");
  Shape axes;
  for (i64 a = 0, rest = 0; a < x.ndim(); ++a) {
    const i64* there = std::find(to.begin(), to.end(), a);
    if (there != to.end()) {
      axes.push_back(from[there - to.begin()]);
      continue;
    }
    while (contains(from, rest)) ++rest;
    axes.push_back(rest++);
  }
  return permute(x, axes);
}

DNDarray expand_dims(const DNDarray& x, i64 axis) {
  const i64 a = normalize_axis(axis, x.ndim() + 1, "expand_dims");
  const Distribution to = x.split() ? at_axis(x, *x.split() + (a <= *x.split())) : Distribution{};
  return view_of(x, to, [&](const Array& y) { return y.expand_dims(a); });
}

DNDarray squeeze(const DNDarray& x, const std::optional<Shape>& given) {
  Shape axes;
  if (given) {
    for (i64 a : *given) axes.push_back(normalize_axis(a, x.ndim(), "squeeze"));
    std::sort(axes.begin(), axes.end());
    for (i64 i = 0; i + 1 < axes.size(); ++i)
      require<ArgumentError>(axes[i] != axes[i + 1], "duplicate value in 'axis'");
  } else {
    for (i64 a = 0; a < x.ndim(); ++a)
      if (x.shape(a) == 1) axes.push_back(a);
  }
  const Array whole = squeezed(stand_in(x), axes);
  if (x.split() && contains(axes, *x.split())) {
    const int owner = x.part().owner(0);
    return x.owner_view(x.comm().rank() == owner ? squeezed(x.local(), axes) : Array(),
                        whole.layout(), owner);
  }
  const i64 below = std::count_if(axes.begin(), axes.end(), [&](i64 a) { return x.split() > a; });
  return view_of(x, x.split() ? at_axis(x, *x.split() - below) : Distribution{},
                 [&](const Array& y) { return squeezed(y, axes); });
}

DNDarray broadcast_to(const DNDarray& x, const Shape& shape) {
  const Layout whole = x.whole().broadcast_to(shape);
  if (!x.split())
    return view_of(x, {}, [&](const Array& y) { return y.broadcast_to(shape); }).read_only();
  const i64 axis = *x.split() + shape.size() - x.ndim();
  const int ranks = x.comm().size(), me = x.comm().rank();
  const bool repeats = x.shape(*x.split()) != shape[axis];
  const Distribution to{axis, repeats ? Partition::even(shape[axis], ranks) : x.part()};
  Shape lshape = shape;
  lshape[axis] = to.part.count(me);
  if (!repeats) return x.with(x.local().broadcast_to(lshape), whole, to).read_only();
  Boxes wanted;
  for (int r = 0; r < ranks; ++r) wanted.push_back({*x.split(), 0, to.part.count(r) > 0 ? 1 : 0});
  const Array entry = relayout(x, std::move(wanted));
  return DNDarray::lying(entry.broadcast_to(lshape), whole, to, x.comm()).read_only();
}

DNDarray flip(const DNDarray& x, const std::optional<Shape>& given) {
  Shape axes = given ? *given : all_axes(x.ndim());
  for (i64& a : axes) a = normalize_axis(a, x.ndim(), "flip");
  const i64 turns = x.split() ? std::count(axes.begin(), axes.end(), *x.split()) : 0;
  if (turns % 2 == 0)
    return view_of(x, x.distribution(), [&](const Array& y) { return tessera::flip(y, axes); });
  const i64 n = x.shape(*x.split());
  Boxes mirrored = boxes_of(x);
  for (Box& b : mirrored) b = {b.axis, n - b.end, n - b.begin};
  const Array mine = relayout(x, std::move(mirrored));
  const Layout whole =
      tessera::flip(stand_in(Layout::contiguous(x.shape()), x.dtype()), axes).layout();
  return DNDarray::lying(tessera::flip(mine, axes), whole, x.distribution(), x.comm()).moved_copy();
}

DNDarray roll(const DNDarray& x, const Shape& shifts, const Shape& axes) {
  (void)tessera::roll(Array::empty(Shape(x.ndim(), 0), x.dtype()), shifts, axes);
  if (!x.split()) return DNDarray(tessera::roll(x.local(), shifts, axes), x.shape(), {}, x.comm());
  if (axes.empty())
    return reshape(roll(ravel(x), shifts, {0}), x.shape(), x.split())
        .distributed_as(x.distribution())
        .owned();
  const i64 n = x.shape(*x.split());
  i64 along_split = 0;
  Shape other_axes, other_shifts;
  for (i64 k = 0; k < std::max(shifts.size(), axes.size()); ++k) {
    const i64 axis = normalize_axis(axes[axes.size() == 1 ? 0 : k], x.ndim(), "roll");
    const i64 shift = shifts[shifts.size() == 1 ? 0 : k];
    if (axis == *x.split()) {
      if (n > 0) along_split = ((along_split + shift % n) % n + n) % n;
      continue;
    }
    other_axes.push_back(axis);
    other_shifts.push_back(shift);
  }
  const Array mine = along_split == 0 ? x.local() : rolled_along_split(x, along_split);
  if (other_axes.empty())
    return DNDarray(along_split == 0 ? mine.copy() : mine, x.shape(), x.distribution(), x.comm());
  return DNDarray(tessera::roll(mine, other_shifts, other_axes), x.shape(), x.distribution(),
                  x.comm());
}

}  // namespace tessera::dist
