// SPDX-License-Identifier: Apache-2.0
#pragma once
// The Walsh-Hadamard transform of some dims, in the natural order and scaled to an isometry: sums
// and differences alone, for lengths that are powers of two. It is its own adjoint and inverse.
//   Hadamard(dims("X"), dims("CX"))   // (C, X) -> (C, X1)

#include "tessera/linop/core/dim_sizes.hpp"
#include "tessera/linop/core/linop.hpp"

namespace tessera {

struct TESSERA_API Hadamard {
  Dims over;  // dims of the input
  NamedShape names;

  static constexpr const char* kind = "Hadamard";
  static constexpr bool keeps_sizes = true;
  // An output name that repeats a transformed dim, or is not given, becomes the next unused name.
  Hadamard(Dims over, const Dims& ishape, const Dims& oshape = {});
  NamedShape shape() const { return names; }
  auto state() const { return std::tuple(over, names); }
  static Hadamard from_state(Dims over, const NamedShape& n) {
    return Hadamard(std::move(over), n.ishape, n.oshape);
  }
  Shape output_shape(const Shape& input) const;  // DimError for other lengths
  DType output_dtype(DType t) const { return is_inexact(t) ? t : DType::f64; }
  void apply(Recorder& r, const View& x, const View& y) const;
  Hadamard adjoint() const;
  NamedLinop normal() const;
  bool isometry() const { return true; }
  Hadamard renamed(const Renames& r) const;
  std::string details() const { return cat("over ", to_text(over)); }
  // What does not vary along one of its dims is passed there (Note [idle axes]).
  Shape separable_axes() const;
  Hadamard without_axes(const Shape& from_the_right) const;
  double gain(const SizeOf&) const { return 1; }
};

extern template struct NamedLinop::Model<Hadamard>;

}  // namespace tessera
