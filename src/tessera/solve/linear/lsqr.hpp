// SPDX-License-Identifier: Apache-2.0
#pragma once
// LSQR of Paige and Saunders: A x = b, or the least-squares solution, for any A, square or not; the
// one of least norm when started from zero. Works on A and A.H, never on A.N, and so keeps small
// singular values. Stops as its authors: the residual, or A.H times the residual, is small beside
// rtol times the norms involved; or A looks singular (conlim).
//   SolveResult r = lsqr(A, b, {.rtol = 1e-10}, {.damp = 0.1});

#include "tessera/linop/core/linop.hpp"
#include "tessera/solve/core/options.hpp"
#include "tessera/solve/linear/least_squares.hpp"

namespace tessera {

// History: |b - A x| / |b| (with damping: of the extended system), estimated by recurrence.
TESSERA_API SolveResult lsqr(const NamedLinop& A, const Array& b, const SolveOptions& options = {},
                             const LeastSquaresSettings& settings = {});

}  // namespace tessera
