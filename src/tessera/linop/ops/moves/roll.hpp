// SPDX-License-Identifier: Apache-2.0
#pragma once
// Some dims turned around their end, as NumPy's roll: y[i] = x[i - shift].
//   Roll({{"X", 3}}, dims("CX"))   // (C, X) -> (C, X1)

#include "tessera/linop/core/dim_sizes.hpp"
#include "tessera/linop/core/linop.hpp"

namespace tessera {

struct TESSERA_API Roll {
  DimSizes shifts;  // by dims of the input; any sign, any number of turns
  NamedShape names;

  static constexpr const char* kind = "Roll";
  static constexpr bool keeps_sizes = true;
  // An output name that repeats a rolled dim, or is not given, becomes the next unused name.
  Roll(DimSizes shifts, Dims ishape, Dims oshape = {});
  NamedShape shape() const { return names; }
  auto state() const { return std::tuple(shifts, names); }
  static Roll from_state(DimSizes by, const NamedShape& n) {
    return Roll(std::move(by), n.ishape, n.oshape);
  }
  Shape output_shape(const Shape& input) const { return input; }
  void apply(Recorder& r, const View& x, const View& y) const;
  Roll adjoint() const;
  NamedLinop normal() const;
  bool isometry() const { return true; }
  Roll renamed(const Renames& r) const;
  std::string details() const { return to_text(shifts); }
};

extern template struct NamedLinop::Model<Roll>;

}  // namespace tessera
