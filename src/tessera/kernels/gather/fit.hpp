// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether a value can be assigned to what a key picks, by NumPy's rules and with NumPy's texts: for
// local and for distributed arrays. Shapes only.
//   require_fit(value.shape(), plan);   value.shape() becomes trimmed_shape(…, plan.shape.size())

#include "tessera/array/index.hpp"

namespace tessera {

// Without the leading axes of size 1 beyond `ndim`, which assignments drop.
TESSERA_API Shape trimmed_shape(Shape shape, i64 ndim);
// To what arrays in a key pick. An extent of -1 in `to` is not known: everything goes there. As in
// NumPy, of a value without elements only the last axes count, as many as `to` has, if they are
// empty already.
TESSERA_API bool fits(const Shape& value, const Shape& to);
TESSERA_API void require_fit(const Shape& value, const IndexPlan& plan);  // ShapeError

}  // namespace tessera
