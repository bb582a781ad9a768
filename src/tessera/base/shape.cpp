// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/shape.hpp"

#include <algorithm>
#include <limits>

#include "tessera/base/axis_error.hpp"

namespace tessera {

std::string to_text(const Shape& s) {
  if (s.size() == 1) return cat("(", s[0], ",)");
  return cat("(", join(s), ")");
}

std::string to_text(const Layout& l) {
  return cat(l.shape, " strides ", l.strides, " offset ", l.offset);
}

i64 count_of(const Shape& s) {
  i64 n = 1;
  bool empty = false;
  for (i64 v : s) {
    require<ShapeError>(v >= 0, "negative dimensions are not allowed: shape ", s);
    empty |= v == 0;
  }
  for (i64 v : s)  // sizes of 0 count as 1 here: the strides of an empty array are products too
    require<ShapeError>(!__builtin_mul_overflow(n, std::max<i64>(v, 1), &n), "shape ", s,
                        " has more elements than 63 bits can count");
  return empty ? 0 : n;
}

Shape broadcast_shapes(const Shape& a, const Shape& b) {
  const i64 n = std::max(a.size(), b.size());
  Shape r(n, 1);
  for (i64 i = 1; i <= n; ++i) {
    const i64 x = i <= a.size() ? a[a.size() - i] : 1, y = i <= b.size() ? b[b.size() - i] : 1;
    require<ShapeError>(x == y || x == 1 || y == 1,
                        "operands could not be broadcast together with shapes ", a, " ", b);
    r[n - i] = x == 1 ? y : x;
  }
  return r;
}

i64 normalize_axis(i64 axis, i64 ndim, std::string_view who) {
  require<AxisError>(axis >= -ndim && axis < ndim, who, who.empty() ? "" : ": ", "axis ", axis,
                     " is out of bounds for array of dimension ", ndim);
  return axis < 0 ? axis + ndim : axis;
}

Layout Layout::contiguous(const Shape& shape) {
  require<ShapeError>(shape.size() <= max_rank, "maximum supported dimension for an array is ",
                      max_rank, ", found ", shape.size());
  Layout l;
  l.shape = shape;
  l.strides.resize(shape.size());
  (void)count_of(shape);
  i64 n = 1;
  for (i64 i = shape.size() - 1; i >= 0; --i) {
    l.strides[i] = n;
    n *= std::max<i64>(shape[i], 1);
  }
  return l;
}

i64 Layout::size() const {
  i64 n = 1;
  for (i64 v : shape) n *= v;
  return n;
}

bool Layout::dense() const {
  i64 n = 1;
  for (i64 i = ndim() - 1; i >= 0; --i) {
    if (shape[i] == 0) return true;
    if (shape[i] != 1 && strides[i] != n) return size() == 0;
    n *= shape[i];
  }
  return true;
}

std::pair<i64, i64> Layout::span() const {
  i64 lo = offset, hi = offset;
  for (i64 i = 0; i < ndim(); ++i) {
    if (shape[i] == 0) return {0, -1};
    (strides[i] < 0 ? lo : hi) += (shape[i] - 1) * strides[i];
  }
  return {lo, hi};
}

bool Layout::self_overlaps() const {
  // Sorted by |stride|, each axis must step over everything inside it.
  SmallVec<i64, 6> order;
  for (i64 i = 0; i < ndim(); ++i) {
    if (shape[i] == 0) return false;
    if (shape[i] > 1) order.push_back(i);
  }
  auto step = [&](i64 i) { return strides[i] < 0 ? -strides[i] : strides[i]; };
  std::sort(order.begin(), order.end(), [&](i64 a, i64 b) { return step(a) < step(b); });
  i64 reach = 0;
  for (i64 i : order) {
    if (step(i) <= reach) return true;
    reach += (shape[i] - 1) * step(i);
  }
  return false;
}

bool Layout::overlaps(const Layout& o) const {
  const auto [a, b] = span();
  const auto [c, d] = o.span();
  return a <= d && c <= b && size() > 0 && o.size() > 0;
}

Layout Layout::slice(i64 axis, i64 start, i64 length, i64 step) const {
  Layout l = *this;
  if (length > 0) l.offset += start * strides[axis];
  l.shape[axis] = length;
  l.strides[axis] *= step;
  return l;
}

Layout Layout::select(i64 axis, i64 index) const {
  Layout l = *this;
  l.offset += index * strides[axis];
  l.shape.erase(axis);
  l.strides.erase(axis);
  return l;
}

Layout Layout::insert_axis(i64 axis) const {
  Layout l = *this;
  l.shape.insert(axis, 1);
  l.strides.insert(axis, 0);
  return l;
}

Layout Layout::permute(std::span<const i64> axes) const {
  Layout l;
  l.offset = offset;
  for (i64 a : axes) {
    l.shape.push_back(shape[a]);
    l.strides.push_back(strides[a]);
  }
  return l;
}

Layout Layout::broadcast_to(const Shape& to) const {
  Layout l;
  l.offset = offset;
  l.shape = to;
  l.strides.resize(to.size(), 0);
  const i64 lead = to.size() - ndim();
  bool ok = lead >= 0;
  for (i64 i = 0; ok && i < ndim(); ++i) {
    if (shape[i] == to[lead + i])
      l.strides[lead + i] = shape[i] == 1 ? 0 : strides[i];
    else
      ok = shape[i] == 1;
  }
  require<ShapeError>(ok, "could not broadcast input array from shape ", shape, " into shape ", to);
  return l;
}

std::optional<Layout> Layout::reshape(const Shape& to) const {
  Layout l = Layout::contiguous(to);
  l.offset = offset;
  if (size() == 0 || to.empty()) return l;
  // Axes of size 1 carry no information; the others are walked in blocks of equal element counts,
  // and a block must step evenly in itself to be cut anew.
  Layout packed;
  for (i64 i = 0; i < ndim(); ++i)
    if (shape[i] != 1) {
      packed.shape.push_back(shape[i]);
      packed.strides.push_back(strides[i]);
    }
  i64 old = 0, fresh = 0;
  while (fresh < to.size()) {
    const i64 old_first = old, fresh_first = fresh;
    i64 want = to[fresh++], have = 1;
    while (true) {
      if (have < want)
        have *= packed.shape[old++];
      else if (want < have || (fresh < to.size() && to[fresh] == 1))
        want *= to[fresh++];
      else
        break;
    }
    for (i64 i = old_first; i + 1 < old; ++i)
      if (packed.strides[i] != packed.strides[i + 1] * packed.shape[i + 1]) return std::nullopt;
    i64 step = old > old_first ? packed.strides[old - 1] : 1;
    for (i64 i = fresh - 1; i >= fresh_first; --i) {
      l.strides[i] = step;
      step *= to[i];
    }
  }
  return l;
}

}  // namespace tessera
