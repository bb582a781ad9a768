// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products with a matrix of which one side of a diagonal is not stored: full blocks, which are
// plain products, and the blocks on the diagonal, of which only what is there is multiplied.
// Private to matmul.
//   for (const TriangleBlock& b : triangle_blocks(spec, 32)) b.full ? product(b) : corner(b);

#include <vector>

#include "tessera/kernels/matmul/matmul.hpp"

namespace tessera {

struct TriangleBlock {
  i64 row = 0, rows = 0, column = 0, columns = 0;  // of a
  bool full = false;
  // The columns of a that are stored of one of its rows, within this block: [begin, end).
  i64 begin_of(const MatmulSpec& s, i64 r) const {
    return s.stored == MatmulSpec::Stored::upper ? std::max(column, r + s.diagonal) : column;
  }
  i64 end_of(const MatmulSpec& s, i64 r) const {
    const i64 end = column + columns;
    return s.stored == MatmulSpec::Stored::lower ? std::min(end, r + s.diagonal + 1) : end;
  }
};

// Everything that is stored, once; blocks that are not full have at most `most` rows and columns.
TESSERA_API std::vector<TriangleBlock> triangle_blocks(const MatmulSpec& spec, i64 most);
// The plain product out += a b of a full block: its spec, and where it begins, in elements.
struct BlockProduct {
  MatmulSpec spec;
  i64 a = 0, b = 0, out = 0;
};
TESSERA_API BlockProduct block_product(const MatmulSpec& spec, const TriangleBlock& block);

Prepared prepare_triangle_cpu(const MatmulSpec& spec, Device device);

}  // namespace tessera
