// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/matmul/few_columns.hpp"

#include <algorithm>

#include "tessera/kernels/register.hpp"

namespace tessera {
namespace {

constexpr i64 depth = 1024;  // elements of a row and of the columns that stay in the nearest cache
constexpr i64 most_columns = 8, group = 4;

// Two rows times N columns, over k elements, added to what `sums` has for each row.
template <class T, int N>
void add_dots(const T* row, i64 rows, const T* columns, i64 step, i64 k, T* sums) {
  Register<T> first[N] = {}, second[N] = {};
  i64 j = 0;
  for (; j + lanes<T> <= k; j += lanes<T>) {
    const auto x = load_register(row + j), y = load_register(row + rows + j);
    for (int i = 0; i < N; ++i) {
      const auto v = load_register(columns + i * step + j);
      first[i] += x * v;
      second[i] += y * v;
    }
  }
  for (int i = 0; i < N; ++i) {
    T x = sum_of_lanes<T>(first[i]), y = sum_of_lanes<T>(second[i]);
    for (i64 rest = j; rest < k; ++rest) {
      x += row[rest] * columns[i * step + rest];
      y += row[rows + rest] * columns[i * step + rest];
    }
    sums[i] += x;
    sums[most_columns + i] += y;
  }
}

template <class T>
void add_group(int n, const T* row, i64 rows, const T* columns, i64 step, i64 k, T* sums) {
  switch (n) {
    case 1: return add_dots<T, 1>(row, rows, columns, step, k, sums);
    case 2: return add_dots<T, 2>(row, rows, columns, step, k, sums);
    case 3: return add_dots<T, 3>(row, rows, columns, step, k, sums);
    default: return add_dots<T, 4>(row, rows, columns, step, k, sums);
  }
}

}  // namespace

template <class T>
void few_columns(const FewColumns& s, const T* a, const T* b, T* c, i64 begin, i64 end) {
  const T alpha = static_cast<T>(s.alpha), beta = static_cast<T>(s.beta);
  for (i64 i = begin; i < end; i += 2) {
    const bool pair = i + 1 < end;  // the last row may be alone: it is taken twice
    T sums[2 * most_columns] = {};
    for (i64 p = 0; p < s.k; p += depth)
      for (i64 j = 0; j < s.n; j += group)
        add_group(static_cast<int>(std::min(group, s.n - j)), a + i * s.a_rows + p,
                  pair ? s.a_rows : 0, b + j * s.b_columns + p, s.b_columns,
                  std::min(depth, s.k - p), sums + j);
    for (i64 row = 0; row < (pair ? 2 : 1); ++row)
      for (i64 j = 0; j < s.n; ++j) {
        T& out = c[(i + row) * s.c_rows + j * s.c_columns];
        const T sum = alpha * sums[row * most_columns + j];
        out = beta == T(0) ? sum : sum + beta * out;
      }
  }
}

template void few_columns(const FewColumns&, const float*, const float*, float*, i64, i64);
template void few_columns(const FewColumns&, const double*, const double*, double*, i64, i64);

}  // namespace tessera
