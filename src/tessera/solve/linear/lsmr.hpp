// SPDX-License-Identifier: Apache-2.0
#pragma once
// LSMR of Fong and Saunders: as LSQR, but |A.H r| falls in every iteration, so that a solve which
// is stopped early has the smaller error in the normal equations.
//   SolveResult r = lsmr(A, b, {.rtol = 1e-10}, {.damp = 0.1});

#include "tessera/linop/core/linop.hpp"
#include "tessera/solve/core/options.hpp"
#include "tessera/solve/linear/least_squares.hpp"

namespace tessera {

// History: |b - A x| / |b| (with damping: of the extended system), estimated by recurrence.
TESSERA_API SolveResult lsmr(const NamedLinop& A, const Array& b, const SolveOptions& options = {},
                             const LeastSquaresSettings& settings = {});

}  // namespace tessera
