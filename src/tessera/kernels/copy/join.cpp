// SPDX-License-Identifier: Apache-2.0
// Arrays from arrays: joined, stacked, rolled, turned.
#include "tessera/kernels/copy/copy.hpp"

namespace tessera {
namespace {

void check_parts(std::span<const Array> arrays, i64 axis) {
  const Shape& first = arrays[0].shape();
  for (std::size_t k = 1; k < arrays.size(); ++k) {
    const Shape& shape = arrays[k].shape();
    require<ShapeError>(
        shape.size() == first.size(),
        "all the input arrays must have same number of dimensions, but the array at index 0 has ",
        first.size(), " dimension(s) and the array at index ", k, " has ", shape.size(),
        " dimension(s)");
    for (i64 a = 0; a < first.size(); ++a)
      require<ShapeError>(
          a == axis || shape[a] == first[a],
          "all the input array dimensions except for the concatenation axis must match exactly, "
          "but along dimension ",
          a, ", the array at index 0 has size ", first[a], " and the array at index ", k,
          " has size ", shape[a]);
  }
}

// Copies x into y turned by shifts[k] along axes[k], for k and all that follow.
void roll_into(const Array& x, const Array& y, const Shape& shifts, const Shape& axes, i64 k) {
  if (k == axes.size()) {
    y.copy_from(x);
    return;
  }
  const i64 a = axes[k], n = x.shape(a);
  if (n == 0) return;
  const i64 shift = ((shifts[k] % n) + n) % n;
  roll_into(x.slice(a, 0, n - shift), y.slice(a, shift, n), shifts, axes, k + 1);
  if (shift > 0) roll_into(x.slice(a, n - shift, n), y.slice(a, 0, shift), shifts, axes, k + 1);
}

}  // namespace

Array concatenate(std::span<const Array> arrays, i64 axis) {
  require<ArgumentError>(!arrays.empty(), "need at least one array to concatenate");
  require<ShapeError>(arrays[0].ndim() > 0, "zero-dimensional arrays cannot be concatenated");
  axis = normalize_axis(axis, arrays[0].ndim(), "concatenate");
  check_parts(arrays, axis);
  Shape shape = arrays[0].shape();
  shape[axis] = 0;
  std::vector<DType> dtypes;
  std::vector<const Array*> pointers;
  for (const Array& a : arrays) {
    shape[axis] += a.shape(axis);
    dtypes.push_back(a.dtype());
    pointers.push_back(&a);
  }
  Array y = Array::empty(shape, promote(dtypes), common_device("concatenate", pointers));
  i64 begin = 0;
  for (const Array& a : arrays) {
    const i64 end = begin + a.shape(axis);
    y.slice(axis, begin, end).copy_from(a);
    begin = end;
  }
  return y;
}

Array stack(std::span<const Array> arrays, i64 axis) {
  require<ArgumentError>(!arrays.empty(), "need at least one array to stack");
  for (const Array& a : arrays)
    require<ShapeError>(a.shape() == arrays[0].shape(),
                        "all input arrays must have the same shape");
  axis = normalize_axis(axis, arrays[0].ndim() + 1, "stack");
  std::vector<Array> wide;
  for (const Array& a : arrays) wide.push_back(a.expand_dims(axis));
  return concatenate(wide, axis);
}

Array roll(const Array& x, const Shape& shifts, const Shape& axes) {
  if (axes.empty()) {  // over the flattened array
    require<ArgumentError>(shifts.size() == 1, "roll: without axes there is one shift, got ",
                           shifts.size());
    return roll(x.reshape({-1}), shifts, {0}).reshape(x.shape());
  }
  const i64 n = std::max(shifts.size(), axes.size());
  require<ArgumentError>(
      (shifts.size() == n || shifts.size() == 1) && (axes.size() == n || axes.size() == 1),
      "'shift' and 'axis' should be scalars or 1D sequences of one length, got ", shifts.size(),
      " shifts and ", axes.size(), " axes");
  Shape where, total;  // an axis named twice is turned by the sum
  for (i64 k = 0; k < n; ++k) {
    const i64 axis = normalize_axis(axes[axes.size() == 1 ? 0 : k], x.ndim(), "roll");
    const i64 shift = shifts[shifts.size() == 1 ? 0 : k];
    const i64* found = std::find(where.begin(), where.end(), axis);
    if (found != where.end()) {
      total[found - where.begin()] += shift;
    } else {
      where.push_back(axis);
      total.push_back(shift);
    }
  }
  Array y = Array::empty(x.shape(), x.dtype(), x.device());
  roll_into(x, y, total, where, 0);
  return y;
}

Array flip(const Array& x, const Shape& axes) {
  Layout l = x.layout();
  for (i64 a : axes) {
    a = normalize_axis(a, x.ndim(), "flip");
    l = l.slice(a, l.shape[a] - 1, l.shape[a], -1);
  }
  return x.view(std::move(l));
}

}  // namespace tessera
