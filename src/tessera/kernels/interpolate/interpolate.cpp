// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/interpolate/interpolate.hpp"

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/eager.hpp"

namespace tessera {

Array interpolate(const Array& values, const GridPoints& p) {
  const i64 axes = p.grid.size(), batch = values.ndim() - axes;
  require<ShapeError>(
      batch >= 0 && Shape(values.shape().begin() + batch, values.shape().end()) == p.grid,
      "interpolate: values of shape ", values.shape(), " on a grid of shape ", p.grid);
  Shape shape(values.shape().begin(), values.shape().begin() + batch);
  shape.push_back(p.count());
  const Array out = Array::empty(shape, values.dtype(), values.device());
  const InterpolateSpec spec{false, operand_of(values), operand_of(out), batch, p.kernel};
  launch_now(&KernelTable::interpolate, "interpolate", spec, values.device(),
             {&values, &p.locs, &p.order, &p.starts, &out});
  return out;
}

Array interpolate_adjoint(const Array& values, const GridPoints& p) {
  const i64 batch = values.ndim() - 1;
  require<ShapeError>(batch >= 0 && values.shape(batch) == p.count(),
                      "interpolate_adjoint: values of shape ", values.shape(), " for ", p.count(),
                      " points");
  Shape shape(values.shape().begin(), values.shape().begin() + batch);
  shape.append(p.grid);
  const Array out = zeros(shape, values.dtype(), values.device());
  const InterpolateSpec spec{true, operand_of(out), operand_of(values), batch, p.kernel};
  launch_now(&KernelTable::interpolate, "interpolate", spec, values.device(),
             {&values, &p.locs, &p.order, &p.starts, &out});
  return out;
}

}  // namespace tessera
