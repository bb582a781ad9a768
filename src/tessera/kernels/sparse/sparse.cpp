// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/sparse/sparse.hpp"

#include <algorithm>
#include <numeric>

#include "tessera/kernels/eager.hpp"
#include "tessera/kernels/gather/gather.hpp"

namespace tessera {
namespace {

Array plain(const Shape& shape, DType dtype) {
  return Array(Storage::allocate(cpu, count_of(shape) * size_of(dtype)), Layout::contiguous(shape),
               dtype);
}

Array list_of(const std::vector<i64>& values) {
  const Array a = plain({static_cast<i64>(values.size())}, DType::i64);
  std::copy(values.begin(), values.end(), a.host<i64>());
  return a;
}

Array integers(const Array& a, std::string_view what, std::string_view who) {
  require<DTypeError>(is_integer(a.dtype()), who, ": ", what, " of ", name(a.dtype()),
                      "; expected integers");
  require<ShapeError>(a.ndim() == 1, who, ": ", what, " of shape ", a.shape(),
                      "; expected one axis");
  return a.to(cpu).astype(DType::i64).contiguous();
}

void check_positions(const Array& positions, i64 end, std::string_view what, std::string_view who) {
  const i64* p = positions.host<i64>();
  for (i64 k = 0; k < positions.size(); ++k)
    require<IndexError>(p[k] >= 0 && p[k] < end, who, ": ", what, " ", p[k], " of entry ", k,
                        " is out of bounds for ", end, " ", what, "s");
}

void check_values(const Array& values, std::string_view who) {
  require<ShapeError>(values.ndim() == 1, who, ": values of shape ", values.shape(),
                      "; expected one axis");
}

// The matrix with its entries in the order `from`.
CsrMatrix arranged(const Array& values, const std::vector<i64>& from,
                   const std::vector<i64>& column, const std::vector<i64>& start, i64 columns,
                   Device device) {
  CsrMatrix m;
  m.rows = static_cast<i64>(start.size()) - 1;
  m.columns = columns;
  m.values = take(values.to(cpu), list_of(from), 0);
  m.indices = list_of(column);
  m.starts = list_of(start);
  return m.to(device);
}

}  // namespace

CsrMatrix CsrMatrix::to(Device d) const {
  CsrMatrix m = *this;
  m.values = values.to(d);
  m.indices = indices.to(d);
  m.starts = starts.to(d);
  return m;
}

CsrMatrix CsrMatrix::transposed() const {
  const Array index = indices.to(cpu), begin = starts.to(cpu);
  const i64 *column = index.host<i64>(), *start = begin.host<i64>();
  const auto n = static_cast<std::size_t>(entries());
  std::vector<i64> next(static_cast<std::size_t>(columns) + 1, 0), from(n), row(n);
  for (std::size_t k = 0; k < n; ++k) ++next[static_cast<std::size_t>(column[k]) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  const std::vector<i64> new_start = next;
  for (i64 r = 0; r < rows; ++r)
    for (i64 k = start[r]; k < start[r + 1]; ++k) {
      const auto to = static_cast<std::size_t>(next[static_cast<std::size_t>(column[k])]++);
      from[to] = k;
      row[to] = r;
    }
  return arranged(values, from, row, new_start, rows, device());
}

CsrMatrix CsrMatrix::part(std::span<const i64> keep_rows, std::span<const i64> new_column,
                          i64 new_columns) const {
  const Array index = indices.to(cpu), begin = starts.to(cpu);
  const i64 *column = index.host<i64>(), *start = begin.host<i64>();
  std::vector<i64> from, kept, new_start{0};
  for (i64 r : keep_rows) {
    for (i64 k = start[r]; k < start[r + 1]; ++k) {
      const i64 c = new_column[static_cast<std::size_t>(column[k])];
      if (c < 0) continue;
      from.push_back(k);
      kept.push_back(c);
    }
    new_start.push_back(static_cast<i64>(from.size()));
  }
  return arranged(values, from, kept, new_start, new_columns, device());
}

CsrMatrix make_csr(Array values, const Array& indices, const Array& starts, i64 rows, i64 columns,
                   std::string_view who) {
  require<ShapeError>(rows >= 0 && columns >= 0, who, ": a matrix of shape (", rows, ", ", columns,
                      ")");
  check_values(values, who);
  const Array index = integers(indices, "column indices", who),
              begin = integers(starts, "row starts", who);
  require<ShapeError>(begin.size() == rows + 1, who, ": ", begin.size(), " row starts for ", rows,
                      " rows; expected one more than rows");
  require<ShapeError>(index.size() == values.size(), who, ": ", index.size(),
                      " column indices for ", values.size(), " values");
  const i64* start = begin.host<i64>();
  require<ShapeError>(start[0] == 0 && start[rows] == values.size(), who, ": row starts from ",
                      start[0], " to ", start[rows], "; expected 0 to ", values.size());
  for (i64 r = 0; r < rows; ++r)
    require<ShapeError>(start[r] <= start[r + 1], who, ": row starts decrease after row ", r);
  check_positions(index, columns, "column", who);
  CsrMatrix m{rows, columns, values.contiguous(), index, begin};
  return m.to(values.device());
}

CsrMatrix csr_from_coo(const Array& values, const Array& row, const Array& column, i64 rows,
                       i64 columns, std::string_view who) {
  check_values(values, who);
  const Array r = integers(row, "row indices", who), c = integers(column, "column indices", who);
  require<ShapeError>(r.size() == values.size() && c.size() == values.size(), who, ": ", r.size(),
                      " row and ", c.size(), " column indices for ", values.size(), " values");
  check_positions(r, rows, "row", who);
  check_positions(c, columns, "column", who);
  const i64 *pr = r.host<i64>(), *pc = c.host<i64>();
  const auto n = static_cast<std::size_t>(values.size());
  std::vector<i64> from(n), sorted(n), start(static_cast<std::size_t>(rows) + 1, 0);
  std::iota(from.begin(), from.end(), i64{0});
  std::stable_sort(from.begin(), from.end(),
                   [&](i64 a, i64 b) { return pr[a] != pr[b] ? pr[a] < pr[b] : pc[a] < pc[b]; });
  for (std::size_t k = 0; k < n; ++k) {
    sorted[k] = pc[from[k]];
    ++start[static_cast<std::size_t>(pr[k]) + 1];
  }
  std::partial_sum(start.begin(), start.end(), start.begin());
  return arranged(values, from, sorted, start, columns, values.device());
}

CsrMatrix csr_from_dense(const Array& matrix, std::string_view who) {
  require<ShapeError>(matrix.ndim() == 2, who, ": an array of shape ", matrix.shape(),
                      "; expected a matrix");
  const Array dense = matrix.to(cpu).contiguous();
  const i64 rows = dense.shape(0), columns = dense.shape(1);
  std::vector<i64> from, column, start{0};
  const Array kept = dense.astype(DType::c128).contiguous();
  const c128* p = kept.host<c128>();
  for (i64 r = 0; r < rows; ++r) {
    for (i64 c = 0; c < columns; ++c) {
      if (p[r * columns + c] == c128(0)) continue;
      from.push_back(r * columns + c);
      column.push_back(c);
    }
    start.push_back(static_cast<i64>(from.size()));
  }
  return arranged(dense.reshape({rows * columns}), from, column, start, columns, matrix.device());
}

Array multiply(const CsrMatrix& a, const Array& x) {
  const i64 batch = x.ndim() - 1;
  require<ShapeError>(batch >= 0 && x.shape(batch) == a.columns, "sparse: a matrix of shape (",
                      a.rows, ", ", a.columns, ") on an array of shape ", x.shape());
  const DType t = promote(x.dtype(), a.values.dtype());
  require<DTypeError>(is_inexact(t), "sparse: products in ", name(t),
                      "; values or vector must be floating-point");
  Shape shape(x.shape().begin(), x.shape().begin() + batch);
  shape.push_back(a.rows);
  const Array in = x.astype(t),
              values = a.values.astype(is_complex(a.values.dtype()) ? t : real_of(t)),
              y = Array::empty(shape, t, x.device());
  const SparseSpec spec{operand_of(in), operand_of(values), operand_of(y), batch, false};
  launch_now(&KernelTable::sparse, "sparse", spec, x.device(),
             {&in, &values, &a.indices, &a.starts, &y});
  return y;
}

}  // namespace tessera
