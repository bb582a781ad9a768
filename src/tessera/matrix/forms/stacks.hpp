// SPDX-License-Identifier: Apache-2.0
#pragma once
// A stack of matrices that meet one matrix from the left: side by side they are a single matrix.
// Private to matrix/.
//   stacked(matmul(m, side_by_side(x)), x.shape())   // m times each matrix of x

#include "tessera/array/array.hpp"

namespace tessera {

// (..., k, n) as (k, all others).
inline Array side_by_side(const Array& x) {
  const i64 rank = x.ndim();
  Shape order{rank - 2};
  for (i64 i = 0; i < rank; ++i)
    if (i != rank - 2) order.push_back(i);
  const i64 rows = x.shape(rank - 2);
  i64 columns = 1;
  for (i64 i = 0; i < rank; ++i)
    if (i != rank - 2) columns *= x.shape(i);
  return x.permute({order.begin(), order.end()}).reshape({rows, columns});
}

// The way back, with the rows that y has: (m, all others) as (..., m, n) in memory of its own.
inline Array stacked(const Array& y, const Shape& shape) {
  const i64 rank = shape.size();
  Shape apart{y.shape(0)}, order;
  for (i64 i = 0; i < rank; ++i)
    if (i != rank - 2) apart.push_back(shape[i]);
  for (i64 i = 1; i < rank - 1; ++i) order.push_back(i);
  order.push_back(0);
  order.push_back(rank - 1);
  return y.reshape(apart).permute({order.begin(), order.end()}).contiguous();
}

}  // namespace tessera
