// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/einsum/row_dots.hpp"

#include <algorithm>

#include "tessera/base/tags.hpp"
#include "tessera/base/trace.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/matmul/blas.hpp"

namespace tessera {
namespace {

constexpr i64 longest_piece = 8192;  // OpenBLAS stays on the calling thread
constexpr i64 longest_row = 65536;   // which one thread multiplies sooner than several begin

bool are_dense_pair(const Array& a, const Array& b) {
  const DType t = a.dtype();
  return (t == DType::f32 || t == DType::f64) && b.dtype() == t && a.device() == cpu &&
         b.device() == cpu && a.shape() == b.shape() && a.is_contiguous() && b.is_contiguous();
}

template <class T>
T dot_of(const T* a, const T* b, i64 n) {
  T sum = 0;
  for (i64 i = 0; i < n; i += longest_piece)
    sum += blas::dot<T>(std::min(longest_piece, n - i), a + i, 1, false, b + i, 1, false);
  return sum;
}

// How many subscripts "ijk,ijk->ij" keeps of how many; nothing for another form.
struct RowSubscripts {
  i64 rank = 0, kept = -1;
};
RowSubscripts row_subscripts(std::string_view text) {
  const std::size_t rank = text.find(',');
  if (rank == std::string_view::npos || rank == 0 || text.size() < 2 * rank + 3) return {};
  const std::string_view letters = text.substr(0, rank), arrow = text.substr(2 * rank + 1, 2),
                         kept = text.substr(2 * rank + 3);
  if (text.substr(rank + 1, rank) != letters || arrow != "->" || kept.size() >= rank ||
      letters.substr(0, kept.size()) != kept)
    return {};
  for (std::size_t i = 0; i < rank; ++i) {
    const char c = letters[i];
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!letter || letters.find(c, i + 1) != std::string_view::npos) return {};
  }
  return {static_cast<i64>(rank), static_cast<i64>(kept.size())};
}

}  // namespace

Array row_dots(std::string_view subscripts, std::span<const Array> operands) {
  if (operands.size() != 2) return {};
  const Array &a = operands[0], &b = operands[1];
  if (!are_dense_pair(a, b)) return {};
  const RowSubscripts s = row_subscripts(subscripts);
  if (s.kept < 0 || s.rank != a.ndim()) return {};
  const Shape shape(a.shape().begin(), a.shape().begin() + s.kept);
  i64 rows = 1, row = 1;
  for (i64 i = 0; i < s.rank; ++i) (i < s.kept ? rows : row) *= a.shape(i);
  if (row > longest_row) return {};
  const Array out = empty_dense(shape, a.dtype());
  a.storage().wait();
  b.storage().wait();
  dispatch<float, double>(a.dtype(), "einsum", [&]<class T>() {
    const T *const x = static_cast<const T*>(a.data()), *const y = static_cast<const T*>(b.data());
    T* const to = static_cast<T*>(out.data());
    parallel_for(rows, std::max<i64>(1, 32768 / std::max<i64>(row, 1)), [=](i64 begin, i64 end) {
      for (i64 i = begin; i < end; ++i) to[i] = dot_of(x + i * row, y + i * row, row);
    });
  });
  count(Counter::launches);
  tag_launch(name(Kind::cpu), "einsum", a.dtype());
  return out;
}

bool has_dot_line(const Array& a, const Array& b) {
  return a.ndim() == 1 && a.size() <= longest_row && are_dense_pair(a, b);
}

void dot_line(const Array& a, const Array& b, void* sum) {
  a.storage().wait();
  b.storage().wait();
  dispatch<float, double>(a.dtype(), "dot", [&]<class T>() {
    *static_cast<T*>(sum) =
        dot_of(static_cast<const T*>(a.data()), static_cast<const T*>(b.data()), a.size());
  });
  count(Counter::launches);
  tag_launch(name(Kind::cpu), "matmul", a.dtype());
}

}  // namespace tessera
