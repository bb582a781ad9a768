// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/sort/sort.hpp"

#include "tessera/base/axis_error.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/eager.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/gather/gather.hpp"
#include "tessera/kernels/nonzero/nonzero.hpp"
#include "tessera/kernels/scan/scan.hpp"
#include "tessera/kernels/sort/classes.hpp"
#include "tessera/kernels/sort/distinct.hpp"

namespace tessera {
namespace {

Array sorted(const Array& given, std::optional<i64> axis, bool positions) {
  const Array x = axis ? given : given.reshape({-1});
  require<AxisError>(x.ndim() > 0, "axis ", *axis, " is out of bounds for array of dimension 0");
  const i64 along = normalize_axis(axis.value_or(-1), x.ndim(), "");
  const Array out = Array::empty(x.shape(), positions ? DType::i64 : x.dtype(), x.device());
  if (x.size() == 0) return out;
  const Array from = x.swap_axes(along, -1), to = out.swap_axes(along, -1);
  launch_now(&KernelTable::sort, positions ? "argsort" : "sort",
             SortSpec{operand_of(from), operand_of(to), positions}, x.device(), {&from, &to});
  return out;
}

// True where a sorted row starts another value; NaNs count as one value, as NumPy's equal_nan.
Array starts(const Array& s) {
  const i64 n = s.size();
  const Array mask = Array::empty({n}, DType::b1, s.device());
  mask.slice(0, 0, 1).fill(Value(true));
  const Array left = s.slice(0, 0, n - 1), right = s.slice(0, 1, n);
  Array differ = ops::not_equal(left, right);
  if (is_inexact(s.dtype()))
    differ = ops::logical_and(
        differ, ops::logical_not(ops::logical_and(ops::isnan(left), ops::isnan(right))));
  mask.slice(0, 1, n).copy_from(differ);
  return mask;
}

}  // namespace

Array sort(const Array& x, std::optional<i64> axis) { return sorted(x, axis, false); }
Array argsort(const Array& x, std::optional<i64> axis) { return sorted(x, axis, true); }

Array distinct(const Array& x) {
  if (x.size() == 0) return Array::empty({0}, x.dtype(), x.device());
  const Array values = sort(x, std::nullopt);
  if (x.device() == cpu && !is_complex(x.dtype())) return without_repeats(values).copy();
  return take(values, nonzero(starts(values))[0], 0);
}

Unique unique(const Array& x) {
  const Device device = x.device();
  const Array flat = x.reshape({-1});
  const i64 n = flat.size();
  if (n == 0) {
    auto none = [&] { return Array::empty({0}, DType::i64, device); };
    return {Array::empty({0}, x.dtype(), device), none(),
            Array::empty(x.shape(), DType::i64, device), none()};
  }
  const Array order = argsort(flat);
  const Array values = take(flat, order, 0);
  const Array mask = starts(values);
  const Array running = scan(ScanOp::sum, mask, 0, DType::i64);
  const Array first = nonzero(mask)[0];
  const i64 found = first.size();
  Unique u;
  u.values = take(values, first, 0);
  u.index = take(order, first, 0);
  u.counts = Array::empty({found}, DType::i64, device);
  u.counts.slice(0, found - 1, found).fill(Value(n));
  u.counts.slice(0, 0, found - 1).copy_from(first.slice(0, 1, found));
  u.counts.copy_from(ops::subtract(u.counts, first));
  const Array inverse = Array::empty({n}, DType::i64, device);
  const Array place = ops::subtract(running, Value(i64{1}));
  launch_now(
      &KernelTable::scatter, "unique",
      ScatterSpec{ScatterOp::assign, operand_of(place), {operand_of(order)}, operand_of(inverse)},
      device, {&place, &order, &inverse});
  u.inverse = inverse.reshape(x.shape());
  return u;
}

}  // namespace tessera
