// SPDX-License-Identifier: Apache-2.0
#pragma once
// The Lanczos method with thick restarts: a few extreme eigenvalues and eigenvectors of a Hermitian
// operator. Memory for `ncv` + 1 vectors; iterations are applications of A.
//   EigenResult r = lanczos(A, {.shape = {64}}, {.k = 4, .which = Which::smallest});

#include "tessera/linop/core/linop.hpp"
#include "tessera/solve/spectra/eigen.hpp"

namespace tessera {

enum class Which : std::uint8_t { magnitude, largest, smallest, both_ends };

struct LanczosSettings {
  i64 k = 6;
  Which which = Which::magnitude;
  i64 ncv = 0;  // vectors of the basis; 0 = max(2 k + 1, 20)
  // Each new vector is made orthogonal to all before it, twice; false: to the last two only, which
  // is quicker and may find an eigenvalue more than once.
  bool reorthogonalise = true;
  std::uint64_t seed = 0;  // of the first vector where no x0 is given
};

// Converged when every residual |A v - lambda v| is at most max(rtol |lambda|, atol); history: the
// largest of them, relative to the largest |lambda|.
TESSERA_API EigenResult lanczos(const NamedLinop& A, const Space& space,
                                const LanczosSettings& settings = {},
                                const SolveOptions& options = {});

}  // namespace tessera
