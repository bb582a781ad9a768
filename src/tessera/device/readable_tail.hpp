// SPDX-License-Identifier: Apache-2.0
#pragma once
// How far behind a block of host memory a kernel may read.
//
// Note [reading beyond the end]
// cgemv_n and zgemv_n of OpenBLAS 0.3.21 read one element behind their vector, and the svd of a
// complex matrix gives them its rows: that element lies in the column behind the last one, as far
// from its start as the row is, at most min(m, n) elements. Where a mapping ends with the matrix
// that is a segmentation fault. So whatever is handed out can be read for as many bytes more as a
// row of a square matrix of that size has. Nobody writes there: mapped pages cost no memory.

#include <cmath>

#include "tessera/base/api.hpp"

namespace tessera {

inline i64 readable_tail(i64 bytes) {
  constexpr double largest_element = 16;
  constexpr i64 line = 64;
  const double row = std::sqrt(largest_element * static_cast<double>(bytes));
  return (static_cast<i64>(row) / line + 1) * line;
}

}  // namespace tessera
