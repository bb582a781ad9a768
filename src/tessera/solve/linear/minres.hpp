// SPDX-License-Identifier: Apache-2.0
#pragma once
// MINRES of Paige and Saunders: (A - shift I) x = b with A Hermitian, indefinite or singular. The
// residual never grows; for a singular system without a solution it ends at a least-squares one.
//   SolveResult r = minres(A, b, {.rtol = 1e-8}, {.shift = 0.5});

#include <optional>

#include "tessera/linop/core/linop.hpp"
#include "tessera/solve/core/options.hpp"

namespace tessera {

struct MinresSettings {
  double shift = 0;
  std::optional<NamedLinop> preconditioner{};  // Hermitian positive definite
};

// History: |b - A x| / |b|, in the norm of the preconditioner where there is one.
TESSERA_API SolveResult minres(const NamedLinop& A, const Array& b,
                               const SolveOptions& options = {},
                               const MinresSettings& settings = {});

}  // namespace tessera
