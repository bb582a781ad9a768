// SPDX-License-Identifier: Apache-2.0
#pragma once
// Conjugate gradients over ranks: A x = b with A Hermitian positive (semi)definite and b
// distributed. Vectors lie as b does; what travels in an iteration is what A(p) sends
// (dist/apply.hpp) and two sums of one number. The iterations are those of cg (cg.hpp), with the
// sums formed in another order; without its preconditioner and checkpoints.
//   RanksResult r = cg(A.N(), b, {.maxiter = 30});   cg(A.N(), image, {.along = "C"})

#include <functional>

#include "tessera/dist/apply.hpp"

namespace tessera {

struct RanksOptions {
  double rtol = 1e-6;
  double atol = 0;
  i64 maxiter = 100;
  DNDarray x0{};                          // zeros when empty
  std::optional<NamedDimension> along{};  // as dist::ApplyOptions
  // After each iteration, on every rank; false on any rank: stop here.
  std::function<bool(i64 iteration, double residual)> callback{};
};

struct RanksResult {
  DNDarray x;
  i64 iterations = 0;
  bool converged = false;
  std::string reason;
  std::vector<double> history;  // |b - A x| / |b|, by recurrence
};

// ShapeError when A does not map b's shape to itself. The same numbers and the same end on all
// ranks.
TESSERA_API RanksResult cg(const NamedLinop& A, const DNDarray& b,
                           const RanksOptions& options = {});

}  // namespace tessera
