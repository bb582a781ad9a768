// SPDX-License-Identifier: Apache-2.0
#pragma once
// The k largest singular values of any operator with their vectors, by Golub-Kahan-Lanczos
// bidiagonalisation with full reorthogonalisation and thick restarts. Works on A and A.H, so that
// small singular values are as accurate as large ones are.
//   SvdResult r = svd(A, {.shape = {5}}, {.k = 3});   // r.U (*o, 3), r.S (3,), r.Vh (3, *i)

#include "tessera/linop/core/linop.hpp"
#include "tessera/solve/spectra/eigen.hpp"

namespace tessera {

struct SvdSettings {
  i64 k = 6;
  i64 ncv = 0;             // pairs of vectors of the basis; 0 = max(2 k + 1, 20)
  std::uint64_t seed = 0;  // of the first vector where no x0 is given
};

// Iterations are applications of A and A.H. Converged when every |A.H u - s v| is at most max(rtol
// S[0], atol); history: the largest of them, relative to S[0].
TESSERA_API SvdResult svd(const NamedLinop& A, const Space& space, const SvdSettings& settings = {},
                          const SolveOptions& options = {});

}  // namespace tessera
