// SPDX-License-Identifier: Apache-2.0
#pragma once
// Differences along several dims at once, one direction after another along a new first dim. Its
// adjoint is the (negative) divergence.
//   Gradient(dims("XY"), dims("CXY"))   // (C, X, Y) -> (D, C, X1, Y1), size of D is 2

#include "tessera/linop/ops/transforms/finite_difference.hpp"

namespace tessera {

struct TESSERA_API Gradient {
  Dims along;  // dims of the smaller side, in the order of the directions
  NamedShape names;
  Difference mode;
  Edge edge;
  bool transposed = false;  // directions are an input

  static constexpr const char* kind = "Gradient";
  static constexpr bool keeps_sizes = true;
  // oshape: the dim of the directions, then the input's, with new names for those of `along`;
  // default D and the next unused names.
  Gradient(Dims along, Dims ishape, Dims oshape = {}, Difference mode = Difference::forward,
           Edge edge = Edge::zero);
  NamedShape shape() const { return names; }
  auto state() const { return std::tuple(along, names, mode, edge, transposed); }
  static Gradient from_state(const Dims& along, const NamedShape& n, Difference mode, Edge edge,
                             bool transposed);
  NamedDimension directions() const { return (transposed ? names.ishape : names.oshape)[0]; }
  std::optional<i64> size(NamedDimension d) const;
  Shape output_shape(const Shape& input) const;
  DType output_dtype(DType t) const { return is_inexact(t) ? t : DType::f64; }
  void apply(Recorder& r, const View& x, const View& y) const;
  Gradient adjoint() const;
  Gradient renamed(const Renames& r) const;
  NamedLinop split(const Tile& tile) const;
  std::string details() const;
};

extern template struct NamedLinop::Model<Gradient>;

}  // namespace tessera
