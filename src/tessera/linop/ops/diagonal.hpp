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

  static constexpr const char* kind = "Diagonal";
  // DimError when the weight has more axes than there are dims.
  explicit Diagonal(Array weight, Dims ioshape = {NamedDimension::ellipses()},
                    Dims broadcast_dims = {}, bool conjugated = false);
  NamedShape shape() const { return names; }
  std::optional<i64> size(NamedDimension d) const;
  std::optional<Device> device() const { return weight.device(); }
  Shape output_shape(const Shape& input) const;
  DType output_dtype(DType t) const { return promote(t, weight.dtype()); }
  void apply(Recorder& r, const View& x, const View& y) const;
  Diagonal adjoint() const {
    return Diagonal(weight, names.ishape, broadcast_dims,
                    !conjugated && is_complex(weight.dtype()));
  }
  Diagonal normal() const;  // |w|^2, real
  Diagonal to(Device d) const {
    return Diagonal(weight.to(d), names.ishape, broadcast_dims, conjugated);
  }
  std::string details() const {
    return cat("weight ", weight.shape(), " ", weight.dtype(), conjugated ? " conjugated" : "");
  }
};

}  // namespace tessera
