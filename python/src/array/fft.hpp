// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arguments of the transforms that local and distributed arrays have alike.
//   const Transform t = transform_from(x.ndim(), n, axes, norm);   fftn(x, t.axes, t.norm, t.sizes)

#include "core/common.hpp"
#include "tessera/kernels/fft/fft.hpp"

namespace tessera::python {

// --- fft.cpp
struct Transform {
  std::optional<Shape> sizes;  // along the axes
  Shape axes;
  Norm norm = Norm::backward;
};
Transform transform_from(i64 ndim, nb::handle n, nb::handle axes, nb::handle norm);
// All of them when None.
Shape axes_or_all(nb::handle axes, i64 ndim);

// Which of four functions of one signature a kind names.
template <class F>
F kind_of_transform(std::string_view kind, F fftn, F ifftn, F rfftn, F irfftn) {
  if (kind == "fftn") return fftn;
  if (kind == "ifftn") return ifftn;
  if (kind == "rfftn") return rfftn;
  require<ArgumentError>(kind == "irfftn", "fft: no transform named ", kind);
  return irfftn;
}

}  // namespace tessera::python
