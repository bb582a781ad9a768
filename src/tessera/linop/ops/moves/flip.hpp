// SPDX-License-Identifier: Apache-2.0
#pragma once
// Some dims read backwards: y[i] = x[n-1-i].
//   Flip(dims("X"), dims("CX"))   // (C, X) -> (C, X1)

#include "tessera/linop/core/linop.hpp"

namespace tessera {

struct TESSERA_API Flip {
  Dims flipped;  // dims of the input
  NamedShape names;

  static constexpr const char* kind = "Flip";
  static constexpr bool keeps_sizes = true;
  // An output name that repeats a flipped dim, or is not given, becomes the next unused name.
  Flip(Dims flipped, Dims ishape, Dims oshape = {});
  NamedShape shape() const { return names; }
  auto state() const { return std::tuple(flipped, names); }
  static Flip from_state(Dims flips, const NamedShape& n) {
    return Flip(std::move(flips), n.ishape, n.oshape);
  }
  Shape output_shape(const Shape& input) const { return input; }
  void apply(Recorder& r, const View& x, const View& y) const;
  Flip adjoint() const;
  NamedLinop normal() const;
  bool isometry() const { return true; }
  Flip renamed(const Renames& r) const;
  std::string details() const { return to_text(flipped); }
};

extern template struct NamedLinop::Model<Flip>;

}  // namespace tessera
