// SPDX-License-Identifier: Apache-2.0
#pragma once
// Multiplication by an array, point by point. The weight is aligned to the right of the dims; axes
// of size 1 and dims named in broadcast_dims apply to any size.
//   NamedLinop D = Diagonal(w, dims("CNxNy"), dims("C"));   // w of shape (1, nx, ny) or (nx, ny)

#include "tessera/linop/linop.hpp"

namespace tessera {

struct TESSERA_API Diagonal {
  Array weight;
  NamedShape names;
  Dims broadcast_dims;
  bool conjugated = false;  // conj(weight), without a copy
  bool squared = false;     // |weight|^2, formed in the precision of the data when a plan is made

  static constexpr const char* kind = "Diagonal";
  // DimError when the weight has more axes than there are dims.
  explicit Diagonal(Array weight, Dims ioshape = {NamedDimension::ellipses()},
                    Dims broadcast_dims = {}, bool conjugated = false);
  NamedShape shape() const { return names; }
  std::optional<i64> size(NamedDimension d) const;
  std::optional<Device> device() const { return weight.device(); }
  Shape output_shape(const Shape& input) const;
  DType output_dtype(DType t) const {
    return promote(t, squared ? real_of(weight.dtype()) : weight.dtype());
  }
  void apply(Recorder& r, const View& x, const View& y) const;
  Diagonal adjoint() const;
  std::optional<NamedLinop> normal() const;
  Diagonal to(Device d) const;
  std::string details() const {
    return cat("weight ", weight.shape(), " ", weight.dtype(),
               squared      ? " squared"
               : conjugated ? " conjugated"
                            : "");
  }
};

}  // namespace tessera
