// SPDX-License-Identifier: Apache-2.0
#pragma once
// Dense linear algebra over ranks, with the shapes, dtypes and errors of kernels/linalg, whose
// functions these are for arrays of one rank. Large matrices of ranks that mpirun started are
// factored by ScaLAPACK (a plug-in, opened at the first need) on a two-dimensional grid of ranks;
// all others are gathered and factored on every rank. Stacks of matrices are distributed: each rank
// treats its own. Where a result lies follows from the operands alone: matrices as the operand a
// (solve: as b, matmul: split 0 when a is split, else 1), values on every rank.
//   DNDarray x = dist::linalg::solve(a, b);   auto [w, v] = dist::linalg::eigh(a);

#include "tessera/distributed/array/dnd_array.hpp"

namespace tessera::dist::linalg {

TESSERA_API DNDarray matmul(const DNDarray& a, const DNDarray& b);  // matrices only
TESSERA_API DNDarray solve(const DNDarray& a, const DNDarray& b);
TESSERA_API DNDarray inverse(const DNDarray& a);
TESSERA_API DNDarray cholesky(const DNDarray& a);

struct Qr {
  DNDarray q, r;
};
TESSERA_API Qr qr(const DNDarray& a);  // reduced

struct Eigh {
  DNDarray values, vectors;
};
TESSERA_API Eigh eigh(const DNDarray& a);

struct Svd {
  DNDarray u, s, vh;
};
TESSERA_API Svd svd(const DNDarray& a);  // reduced: full_matrices=False

TESSERA_API DNDarray det(const DNDarray& a);
struct SlogDet {
  DNDarray sign, logabsdet;
};
TESSERA_API SlogDet slogdet(const DNDarray& a);

struct Lstsq {
  DNDarray x, residuals;
  i64 rank = 0;
  DNDarray s;
};
TESSERA_API Lstsq lstsq(const DNDarray& a, const DNDarray& b, double rcond = -1);

// "ScaLAPACK", or why it is not used by these ranks.
TESSERA_API std::string backend(const Communicator& comm);

}  // namespace tessera::dist::linalg
