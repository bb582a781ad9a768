// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/sorting/take_keys.hpp"

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/gather/gather.hpp"

namespace tessera::dist {

void require_inside(const DNDarray& indices, i64 size, i64 axis) {
  // Only its extents are looked at.
  Shape shape(axis + 1, 1);
  shape[axis] = size;
  const Array bounds = Array::scalar(Value(false), DType::b1).broadcast_to(shape);
  const Array all[] = {indices.local()};
  if (!indices.distributed()) return check_indices(all, bounds, axis);
  std::string problem;
  try {
    check_indices(all, bounds, axis);
  } catch (const IndexError& e) {
    problem = e.what();
  }
  indices.comm().agree<IndexError>(problem);
}

DistIndex flat_key(const DNDarray& x, const DNDarray& positions) {
  const i64 size = x.size();
  require<IndexError>(size > 0 || positions.size() == 0,
                      "cannot do a non-empty take from an empty axes.");
  require_inside(positions, size, 0);
  Array rest = positions.local().astype(DType::i64);
  rest = ops::where(ops::less(rest, Value(i64{0})), ops::add(rest, Value(size)), rest);
  std::vector<Array> at(static_cast<std::size_t>(x.ndim()));
  for (i64 a = x.ndim() - 1; a >= 0; --a) {
    const Value n(std::max<i64>(x.shape(a), 1));  // without elements there are no positions
    at[static_cast<std::size_t>(a)] = a > 0 ? ops::remainder(rest, n) : rest;
    rest = ops::floor_divide(rest, n);
  }
  DistIndex key;
  for (const Array& a : at)
    key.add(DNDarray(a, positions.shape(), positions.distribution(), positions.comm()));
  return key;
}

DistIndex along_axis_key(const DNDarray& x, const DNDarray& indices, i64 axis) {
  require<ArgumentError>(indices.ndim() == x.ndim(),
                         "`indices` and `arr` must have the same number of dimensions");
  DistIndex key;
  for (i64 a = 0; a < x.ndim(); ++a) {
    if (a == axis) {
      key.add(indices);
      continue;
    }
    const i64 n = x.shape(a);
    Shape shape(x.ndim(), 1);
    shape[a] = n;
    key.add(tessera::arange(Value(0), Value(n), Value(1), DType::i64, x.device()).reshape(shape));
  }
  return key;
}

}  // namespace tessera::dist
