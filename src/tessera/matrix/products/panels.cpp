// SPDX-License-Identifier: Apache-2.0
#include "tessera/matrix/products/panels.hpp"

#include "tessera/linop/core/binding.hpp"

namespace tessera {
namespace {

NamedDimension own_dim(const NamedShape& names, const Dims& side, const Dims& other) {
  NamedDimension found;
  i64 count = 0;
  for (NamedDimension d : side)
    if (!contains(other, d)) {
      found = d;
      ++count;
    }
  require<DimError>(count == 1, "Matrix ", names.str(), ": ", to_text(side), " needs one dim that ",
                    to_text(other), " does not have");
  return found;
}

Shape as_panel(const Layout& arranged) {
  i64 columns = 1;
  for (i64 i = 1; i < arranged.ndim(); ++i) columns *= arranged.shape[i];
  return {arranged.shape[0], columns};
}

}  // namespace

MatrixSides::MatrixSides(const Dims& ishape, const Dims& oshape)
    : names(ishape, oshape),
      in(own_dim(names, ishape, oshape)),
      out(own_dim(names, oshape, ishape)) {}

Layout MatrixSides::arranged(const Layout& l, bool output) const {
  const Dims& side = output ? names.oshape : names.ishape;
  const i64 rank = l.ndim();
  Layout r;
  r.offset = l.offset;
  const auto take = [&](i64 axis) {
    r.shape.push_back(l.shape[axis]);
    r.strides.push_back(l.strides[axis]);
  };
  take(*axis_of(side, output ? out : in, rank));
  for (NamedDimension d : names.ishape) {
    if (d == in) continue;
    const i64 first = *axis_of(side, d, rank);
    const i64 count = d.is_ellipses() ? rank - (side.size() - 1) : 1;
    for (i64 k = 0; k < count; ++k) take(first + k);
  }
  return r;
}

bool MatrixSides::in_place(const View& y) const {
  const Layout l = arranged(y.layout, true);
  return l.reshape(as_panel(l)).has_value();
}

Panels MatrixSides::panels(Recorder& r, const View& x, const View& y, DType dtype) const {
  Panels p;
  const Layout from = arranged(x.layout, false), to = arranged(y.layout, true);
  const auto straight = from.reshape(as_panel(from));
  if (straight && x.dtype == dtype) {
    p.x = sub_view(x, *straight);
  } else {
    const View dense = r.temporary(from.shape, dtype, r.device(x));
    record::copy(r, sub_view(x, from), dense);
    p.x = sub_view(dense, Layout::contiguous(as_panel(from)));
  }
  if (const auto there = to.reshape(as_panel(to))) {
    p.y = sub_view(y, *there);
  } else {
    const View dense = r.temporary(to.shape, y.dtype, r.device(y));
    p.y = sub_view(dense, Layout::contiguous(as_panel(to)));
    p.far = sub_view(y, to);
  }
  return p;
}

void Panels::finish(Recorder& r) const {
  if (far) record::copy(r, sub_view(y, Layout::contiguous(far->shape())), *far);
}

}  // namespace tessera
