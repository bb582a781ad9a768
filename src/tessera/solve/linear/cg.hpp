// SPDX-License-Identifier: Apache-2.0
#pragma once
// Conjugate gradients for A x = b with A Hermitian positive (semi)definite, for example A.N(). An
// iteration is one plan: A, the preconditioner, and three passes over the vectors with two small
// programs of scalars that stay on the device. Stops at the residual (by recurrence), at maxiter, or
// at a direction without positive curvature (breakdown), where x stays what it was.
//   SolveResult r = cg(A.N(), A.H()(y), {.maxiter = 30, .progress = true});

#include <optional>

#include "tessera/linop/core/linop.hpp"
#include "tessera/solve/core/options.hpp"

namespace tessera {

struct CgSettings {
  std::optional<NamedLinop> preconditioner{};  // near the inverse of A, Hermitian, positive
};

// ShapeError when A does not map b's shape to itself. History: |b - A x| / |b|.
TESSERA_API SolveResult cg(const NamedLinop& A, const Array& b, const SolveOptions& options = {},
                           const CgSettings& settings = {});

}  // namespace tessera
