// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products of a matrix and a few columns, for which reading the matrix is all the work: it is read
// once for all of them, where a general product copies it into panels first. Private to matmul.
//   if (is_for_few_columns(m, n, k)) few_columns(args, a, b, c, 0, m);

#include "tessera/base/dtype.hpp"

namespace tessera {

struct FewColumns {
  i64 n = 0, k = 0;
  i64 a_rows = 0;  // strides; the elements of a row of a, and of a column of b, are neighbours
  i64 b_columns = 0, c_rows = 0, c_columns = 0;
  double alpha = 1, beta = 0;
};

// Matrices that a cache near the core holds are copied quickly.
constexpr bool is_for_few_columns(i64 m, i64 n, i64 k) {
  return n >= 2 && n <= 8 && m >= 64 && k >= 64 && m * k >= (i64{1} << 16);
}

// Rows [begin, end) of c = alpha a b + beta c; beta == 0 does not read c.
template <class T>
void few_columns(const FewColumns& s, const T* a, const T* b, T* c, i64 begin, i64 end);

}  // namespace tessera
