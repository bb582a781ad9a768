// SPDX-License-Identifier: Apache-2.0
#pragma once
// Conjugate gradients for A x = b with A Hermitian positive (semi)definite, for example A.N().
// Vectors stay on their device; per iteration: one planned application of A, fused vector updates,
// two scalars read. Stops at the residual, at maxiter, or when A shows a direction without positive
// curvature (breakdown).
//   SolveResult r = cg(A.N(), A.H()(y), {.maxiter = 30, .progress = true});

#include <functional>
#include <string>
#include <vector>

#include "tessera/linop/linop.hpp"

namespace tessera {

struct Iteration {
  i64 number;       // 1, 2, …
  double residual;  // |b - A x| / |b| by recurrence
};

struct SolveOptions {
  double rtol = 1e-6;
  double atol = 0;
  i64 maxiter = 100;
  Array x0{};                                        // zeros when empty
  bool progress = false;                             // a bar on stderr
  std::function<bool(const Iteration&)> callback{};  // false: stop here
};

struct SolveResult {
  Array x;
  i64 iterations = 0;
  bool converged = false;
  std::string reason;  // why it stopped
  std::vector<double>
      history;  // relative residual after each iteration, history[0] before the first
};

// ShapeError when A does not map b's shape to itself.
TESSERA_API SolveResult cg(const NamedLinop& A, const Array& b, const SolveOptions& options = {});

}  // namespace tessera
