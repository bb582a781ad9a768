// SPDX-License-Identifier: Apache-2.0
#pragma once
// Conjugate gradients with all vectors on disk: as cg of linear/cg.hpp, for right sides that memory
// does not hold. An iteration applies A tile by tile (streaming/operators) and makes three passes
// over vectors: <p, A p>; x, r and |r|^2 in one; p.
//   StoredSolveResult r = stored_cg(A.N(), b, {.maxiter = 30});   r.x[...]

#include "tessera/linop/core/linop.hpp"
#include "tessera/streaming/stored/stored_array.hpp"

namespace tessera {

struct StoredSolveOptions {
  double rtol = 1e-6;
  double atol = 0;
  i64 maxiter = 100;
  std::optional<streaming::StoredArray> x0{};  // zeros without
  std::optional<NamedLinop> preconditioner{};  // near the inverse of A, Hermitian, positive
};

struct StoredSolveResult {
  streaming::StoredArray x;
  i64 iterations = 0;
  bool converged = false;
  std::string reason;
  std::vector<double> history;  // |b - A x| / |b|, before the first iteration and after each
};

// ShapeError when A does not map b's shape to itself; OutOfMemory, before anything is written, when
// A cannot be cut to fit the budget.
TESSERA_API StoredSolveResult stored_cg(const NamedLinop& A, const streaming::StoredArray& b,
                                        const StoredSolveOptions& options = {});

}  // namespace tessera
