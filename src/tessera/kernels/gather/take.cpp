// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/gather/gather.hpp"
#include "tessera/kernels/gather/key.hpp"

namespace tessera {
namespace {

// x[arange along every axis but one, indices along that one]: what the *_along_axis functions mean.
Index along_axis_key(const Array& x, const Array& indices, i64 axis) {
  require<ArgumentError>(indices.ndim() == x.ndim(),
                         "`indices` and `arr` must have the same number of dimensions");
  Index key;
  for (i64 a = 0; a < x.ndim(); ++a) {
    if (a == axis) {
      key.add(indices);
      continue;
    }
    const i64 n = x.shape(a);
    const Array count = arange(Value(0), Value(n), Value(1), DType::i64, x.device());
    Shape shape(x.ndim(), 1);
    shape[a] = n;
    key.add(count.reshape(shape));
  }
  return key;
}

void require_integers(const Array& indices) {
  require<IndexError>(is_integer(indices.dtype()), "`indices` must be an integer array");
}

void require_flat(const Array& indices) {
  require<ArgumentError>(indices.ndim() == 1,
                         "when axis=None, `indices` must have a single dimension.");
}

}  // namespace

Array take(const Array& x, const Array& indices, std::optional<i64> axis) {
  if (!axis) return take(x.reshape({-1}), indices, 0);
  require<DTypeError>(is_integer(indices.dtype()) || indices.dtype() == DType::b1,
                      "Cannot cast array data from dtype('", name(indices.dtype()),
                      "') to dtype('int64') according to the rule 'safe'");
  require<DeviceError>(indices.device() == x.device(), "take: the array is on ", x.device(),
                       " and the indices on ", indices.device(), "; move one of them with to()");
  const i64 at = normalize_axis(*axis, x.ndim(), "");
  if (Array out; at == 0 && take_few(x, indices, out)) return out;
  require<IndexError>(x.shape(at) > 0 || indices.size() == 0,
                      "cannot do a non-empty take from an empty axes.");
  Shape order{at};
  for (i64 a = 0; a < x.ndim(); ++a)
    if (a != at) order.push_back(a);
  IndexPlan plan;
  plan.kind = IndexPlan::Kind::advanced;
  plan.view = x.layout().permute(order);
  plan.arrays = {indices};
  plan.axes = {at};
  plan.lead = indices.shape();
  plan.position = at;
  for (i64 a = 0; a < x.ndim(); ++a) {
    if (a == at)
      plan.shape.append(plan.lead);
    else
      plan.shape.push_back(x.shape(a));
  }
  return gather_plan(x, plan);
}

Array take_along_axis(const Array& x, const Array& indices, std::optional<i64> axis) {
  require_integers(indices);
  if (axis) return x[along_axis_key(x, indices, normalize_axis(*axis, x.ndim(), ""))];
  require_flat(indices);
  return x.reshape({-1})[Index(indices)];
}

void put_along_axis(const Array& x, const Array& indices, const Array& values,
                    std::optional<i64> axis) {
  require_integers(indices);
  if (axis)
    return x.assign(along_axis_key(x, indices, normalize_axis(*axis, x.ndim(), "")), values);
  require_flat(indices);
  if (const auto flat = x.layout().reshape({x.size()}))
    return x.view(*flat).assign(Index(indices), values);
  const Array flat = x.reshape({-1});  // a copy: this layout has no flat view
  flat.assign(Index(indices), values);
  x.copy_from(flat.reshape(x.shape()));
}

}  // namespace tessera
