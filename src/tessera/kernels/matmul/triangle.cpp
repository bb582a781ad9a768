// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/matmul/triangle.hpp"

#include <algorithm>

namespace tessera {
namespace {

// Rows or columns that are all stored and worth a product of their own.
bool worth_it(i64 full, i64 all, i64 most) { return full == all || full >= most; }

void cut(const MatmulSpec& s, TriangleBlock b, i64 most, std::vector<TriangleBlock>& out) {
  const bool upper = s.stored == MatmulSpec::Stored::upper;
  // Rows and columns of which nothing is stored go.
  const i64 d = s.diagonal, bottom = b.row + b.rows, right = b.column + b.columns;
  if (upper) {
    b.rows = std::min(bottom, right - d) - b.row;
    b.column = std::max(b.column, b.row + d);
    b.columns = right - b.column;
  } else {
    b.columns = std::min(right, bottom + d) - b.column;
    b.row = std::max(b.row, b.column - d);
    b.rows = bottom - b.row;
  }
  if (b.rows <= 0 || b.columns <= 0) return;
  // Upper: the first rows and the last columns are full; lower: the last rows, the first columns.
  const i64 last_row = b.row + b.rows - 1, last_column = b.column + b.columns - 1;
  const i64 full_rows =
      std::clamp<i64>(upper ? b.column - d - b.row + 1 : last_row + d - last_column + 1, 0, b.rows);
  if (full_rows > 0 && worth_it(full_rows, b.rows, most)) {
    const i64 rest = b.rows - full_rows;
    out.push_back({upper ? b.row : b.row + rest, full_rows, b.column, b.columns, true});
    return cut(s, {upper ? b.row + full_rows : b.row, rest, b.column, b.columns, false}, most, out);
  }
  const i64 full_columns = std::clamp<i64>(
      upper ? last_column - (last_row + d) + 1 : b.row + d - b.column + 1, 0, b.columns);
  if (full_columns > 0 && worth_it(full_columns, b.columns, most)) {
    const i64 rest = b.columns - full_columns;
    out.push_back({b.row, b.rows, upper ? b.column + rest : b.column, full_columns, true});
    return cut(s, {b.row, b.rows, upper ? b.column : b.column + full_columns, rest, false}, most,
               out);
  }
  if (b.rows <= most && b.columns <= most) return out.push_back(b);
  const i64 half = (b.rows / 2 + most - 1) / most * most, rows = std::min(half, b.rows - 1);
  cut(s, {b.row, rows, b.column, b.columns, false}, most, out);
  cut(s, {b.row + rows, b.rows - rows, b.column, b.columns, false}, most, out);
}

}  // namespace

std::vector<TriangleBlock> triangle_blocks(const MatmulSpec& spec, i64 most) {
  const Shape& a = spec.a.layout.shape;
  require<ShapeError>(a.size() == 2, "matmul: a matrix of shape ", a,
                      " of which a triangle is stored; expected two axes");
  std::vector<TriangleBlock> blocks;
  cut(spec, {0, a[0], 0, a[1], false}, most, blocks);
  return blocks;
}

BlockProduct block_product(const MatmulSpec& spec, const TriangleBlock& block) {
  BlockProduct p{spec};
  const Layout &a = spec.a.layout, &b = spec.b.layout, &out = spec.out.layout;
  p.spec.stored = MatmulSpec::Stored::all;
  p.spec.beta = c128(1, 0);
  p.spec.a.layout = a.slice(0, block.row, block.rows).slice(1, block.column, block.columns);
  p.spec.b.layout = b.slice(0, block.column, block.columns);
  p.spec.out.layout = out.slice(0, block.row, block.rows);
  p.a = block.row * a.strides[0] + block.column * a.strides[1];
  p.b = block.column * b.strides[0];
  p.out = block.row * out.strides[0];
  return p;
}

}  // namespace tessera
