// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/ops/moves/flip.hpp"

#include "tessera/linop/core/dim_sizes.hpp"
#include "tessera/linop/ops/basic/identity.hpp"

namespace tessera {

Flip::Flip(Dims along, Dims ishape, Dims oshape) : flipped(std::move(along)) {
  check_distinct("Flip", flipped);
  names = NamedShape(ishape, mixed_output("Flip", ishape, oshape, flipped));
}

void Flip::apply(Recorder& r, const View& x, const View& y) const {
  Layout turned = x.layout;
  for (NamedDimension d : flipped) {
    const i64 axis = *axis_of(names.ishape, d, x.layout.ndim()), n = turned.shape[axis];
    if (n > 0) turned = turned.slice(axis, n - 1, n, -1);
  }
  record::copy(r, sub_view(x, turned), y);
}

Flip Flip::adjoint() const {
  Dims out;
  for (NamedDimension d : flipped)
    out.push_back(names.oshape[*axis_of(names.ishape, d, names.ishape.size())]);
  return Flip(out, names.oshape, names.ishape);
}

NamedLinop Flip::normal() const { return Identity(names.ishape); }

Flip Flip::renamed(const Renames& r) const {
  return Flip(rename(flipped, r), rename(names.ishape, r), rename(names.oshape, r));
}

}  // namespace tessera
