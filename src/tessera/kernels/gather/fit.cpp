// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/gather/fit.hpp"

#include <algorithm>

namespace tessera {

Shape trimmed_shape(Shape shape, i64 ndim) {
  while (shape.size() > ndim && shape[0] == 1) shape.erase(0);
  return shape;
}

bool fits(const Shape& value, const Shape& to) {
  const Shape from = trimmed_shape(value, to.size());
  bool nothing = false;
  for (i64 i = 1; i <= std::min(from.size(), to.size()); ++i) {
    const i64 a = from[from.size() - i], b = to[to.size() - i];
    if (a != 1 && a != b && b >= 0) return false;
    nothing = nothing || a == 0;
  }
  return nothing || from.size() <= to.size();
}

void require_fit(const Shape& value, const IndexPlan& plan) {
  if (plan.kind == IndexPlan::Kind::advanced)
    require<ShapeError>(fits(value, plan.shape), "shape mismatch: value array of shape ",
                        tight_text(value), " could not be broadcast to indexing result of shape ",
                        tight_text(plan.shape));
  else
    require<ShapeError>(fits(value, plan.shape) &&
                            trimmed_shape(value, plan.shape.size()).size() <= plan.shape.size(),
                        "could not broadcast input array from shape ",
                        tight_text(trimmed_shape(value, plan.shape.size())), " into shape ",
                        tight_text(plan.shape));
}

}  // namespace tessera
