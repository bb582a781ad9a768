// SPDX-License-Identifier: Apache-2.0
#pragma once
// New names for the same array, axis by axis: what stands between operators whose names differ.
//   ShapeSpec(dims("NM"), dims("KL"))

#include "tessera/linop/core/linop.hpp"

namespace tessera {

struct TESSERA_API ShapeSpec {
  NamedShape names;

  static constexpr const char* kind = "ShapeSpec";
  static constexpr bool keeps_sizes = true;
  // DimError when the two sides have different numbers of dims, or a name moves to another axis.
  ShapeSpec(Dims ishape, Dims oshape);
  NamedShape shape() const { return names; }
  auto state() const { return std::tuple(names); }
  static ShapeSpec from_state(const NamedShape& n) { return ShapeSpec(n.ishape, n.oshape); }
  Shape output_shape(const Shape& input) const { return input; }
  void apply(Recorder& r, const View& x, const View& y) const { record::copy(r, x, y); }
  ShapeSpec adjoint() const { return ShapeSpec(names.oshape, names.ishape); }
  ShapeSpec normal() const { return ShapeSpec(names.ishape, names.ishape); }
  bool isometry() const { return true; }
  ShapeSpec renamed(const Renames& r) const {
    return ShapeSpec(rename(names.ishape, r), rename(names.oshape, r));
  }
};

extern template struct NamedLinop::Model<ShapeSpec>;

}  // namespace tessera
