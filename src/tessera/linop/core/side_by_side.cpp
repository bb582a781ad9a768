// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/core/side_by_side.hpp"

namespace tessera {

Value factor_product(const Value& a, const Value& b) {
  const c128 w = a.as<c128>() * b.as<c128>();
  const bool real = a.kind() != Value::Kind::complex && b.kind() != Value::Kind::complex;
  return real ? Value(w.re) : Value(w);
}

bool same_value(const Value& a, const Value& b) {
  return a.kind() == b.kind() && a.as<c128>() == b.as<c128>();
}

bool same_view(const Array& a, const Array& b) {
  return a.storage() == b.storage() && a.layout() == b.layout() && a.dtype() == b.dtype();
}

bool same_names(const NamedShape& a, const NamedShape& b) {
  return a.ishape == b.ishape && a.oshape == b.oshape;
}

std::optional<Array> side_by_side(const Array& a, const Array& b, i64 axis) {
  if (!(a.storage() == b.storage()) || a.dtype() != b.dtype() || a.ndim() != b.ndim()) return {};
  Layout both = a.layout();
  const Layout& next = b.layout();
  for (i64 i = 0; i < both.ndim(); ++i)
    if (i != axis && (both.shape[i] != next.shape[i] ||
                      (both.shape[i] > 1 && both.strides[i] != next.strides[i])))
      return {};
  const i64 n = both.shape[axis], step = n > 1                  ? both.strides[axis]
                                         : next.shape[axis] > 1 ? next.strides[axis]
                                                                : next.offset - both.offset;
  if (step == 0 || n == 0 || next.offset != both.offset + n * step ||
      (next.shape[axis] > 1 && next.strides[axis] != step))
    return {};
  both.strides[axis] = step;
  both.shape[axis] += next.shape[axis];
  return a.view(both);
}

}  // namespace tessera
