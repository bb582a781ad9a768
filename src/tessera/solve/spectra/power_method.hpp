// SPDX-License-Identifier: Apache-2.0
#pragma once
// The power method: the eigenvalue of largest magnitude and its vector, of one operator or of a
// batch of them side by side. Slow but needs one vector; lanczos finds more with fewer
// applications.
//   EigenResult r = power_method(A.N(), {.shape = {64}});   r.eigenvalues.item()

#include "tessera/kernels/reduce/reduce.hpp"
#include "tessera/linop/core/linop.hpp"
#include "tessera/solve/spectra/eigen.hpp"

namespace tessera {

struct PowerMethodSettings {
  // Axes that make one vector; the others are a batch of problems. Empty: all axes, one problem.
  std::optional<Axes> axes{};
  std::uint64_t seed = 0;  // of the first vector where no x0 is given
};

// x: vectors of length one. Eigenvalues: |A x| with the sign of <x, A x>, of the batch's shape.
// Converged when no eigenvalue changed by more than max(rtol |eigenvalue|, atol); history: the
// largest relative change.
TESSERA_API EigenResult power_method(const NamedLinop& A, const Space& space,
                                     const PowerMethodSettings& settings = {},
                                     const SolveOptions& options = {.rtol = 1e-5, .maxiter = 50});

}  // namespace tessera
