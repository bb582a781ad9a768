// SPDX-License-Identifier: Apache-2.0
#pragma once
// GMRES of Saad and Schultz for A x = b with any square A, restarted: the residual is minimised
// over a growing Krylov space of at most `restart` vectors, then begun again from there. The
// preconditioner stands on the right, so residuals are those of A x = b.
//   SolveResult r = gmres(A, b, {.rtol = 1e-8, .maxiter = 200}, {.restart = 40});

#include <optional>

#include "tessera/linop/core/linop.hpp"
#include "tessera/solve/core/options.hpp"

namespace tessera {

struct GmresSettings {
  i64 restart = 30;
  std::optional<NamedLinop> preconditioner{};  // near the inverse of A
};

// maxiter counts applications of A. History: |b - A x| / |b|. The callback's x is that of the last
// restart.
TESSERA_API SolveResult gmres(const NamedLinop& A, const Array& b, const SolveOptions& options = {},
                              const GmresSettings& settings = {});

}  // namespace tessera
