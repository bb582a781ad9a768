// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/functions/elementwise.hpp"
#include "tessera/distributed/sorting/take.hpp"
#include "tessera/distributed/sorting/take_keys.hpp"
#include "tessera/kernels/gather/gather.hpp"

namespace tessera::dist {
namespace {

void require_integers(const DNDarray& indices) {
  require<IndexError>(is_integer(indices.dtype()), "`indices` must be an integer array");
}

void require_flat(const DNDarray& indices) {
  require<ArgumentError>(indices.ndim() == 1,
                         "when axis=None, `indices` must have a single dimension.");
}

bool broadcasts_to(const Shape& a, const Shape& to) {
  if (a.size() > to.size()) return false;
  for (i64 k = 0; k < a.size(); ++k) {
    const i64 n = a[a.size() - 1 - k];
    if (n != 1 && n != to[to.size() - 1 - k]) return false;
  }
  return true;
}

// The shape of the result when every rank can do its part of x: x is split along another axis, and
// that extent is the result's too.
std::optional<Shape> shape_beside(const DNDarray& x, const DNDarray& indices, i64 axis) {
  if (!x.split() || *x.split() == axis || indices.ndim() != x.ndim()) return std::nullopt;
  Shape shape = x.shape();
  shape[axis] = indices.shape(axis);
  for (i64 a = 0; a < x.ndim(); ++a)
    if (shape[a] == 1 && a != *x.split()) shape[a] = indices.shape(a);
  if (!broadcasts_to(indices.shape(), shape)) return std::nullopt;
  return shape;
}

Array apart_from(const Array& x, const Array& a) { return may_share_memory(x, a) ? a.copy() : a; }

}  // namespace

DNDarray take_along_axis(const DNDarray& x, const DNDarray& indices, std::optional<i64> axis) {
  require_same_group("take_along_axis", x, indices);
  require_integers(indices);
  if (!axis) {
    require_flat(indices);
    return take(x, indices);
  }
  const i64 along = normalize_axis(*axis, x.ndim(), "");
  const auto shape = shape_beside(x, indices, along);
  if (!shape) return x[along_axis_key(x, indices, along)];
  if (count_of(*shape) > 0) require_inside(indices, x.shape(along), along);
  const Array part = part_for(indices, *shape, x.distribution());
  return DNDarray(tessera::take_along_axis(x.local(), part, along), *shape, x.distribution(),
                  x.comm());
}

void put_along_axis(const DNDarray& x, const DNDarray& indices, const DNDarray& values,
                    std::optional<i64> axis) {
  x.require_writable();
  require_same_group("put_along_axis", x, indices);
  require_same_group("put_along_axis", x, values);
  require_integers(indices);
  if (!axis) {
    require_flat(indices);
    return x.assign(x.ndim() == 1 ? DistIndex(indices) : flat_key(x, indices), values);
  }
  const i64 along = normalize_axis(*axis, x.ndim(), "");
  const auto shape = shape_beside(x, indices, along);
  if (!shape || !broadcasts_to(values.shape(), *shape))
    return x.assign(along_axis_key(x, indices, along), values);
  if (count_of(*shape) == 0) return;
  require_inside(indices, x.shape(along), along);
  const Array at = apart_from(x.local(), part_for(indices, *shape, x.distribution()));
  const Array from = apart_from(x.local(), part_for(values, *shape, x.distribution()));
  tessera::put_along_axis(x.local(), at, from, along);
  x.touch();
}

}  // namespace tessera::dist
