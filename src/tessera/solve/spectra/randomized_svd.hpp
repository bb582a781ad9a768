// SPDX-License-Identifier: Apache-2.0
#pragma once
// A randomised singular value decomposition (Halko, Martinsson and Tropp): a block of k +
// oversample random vectors is taken through A and A.H a few times. Less accurate than svd where
// the values fall slowly, but every pass applies A to independent vectors.
//   SvdResult r = randomized_svd(A, {.shape = {500}}, {.k = 10}, {.rtol = 1e-3, .maxiter = 4});

#include "tessera/linop/core/linop.hpp"
#include "tessera/solve/spectra/eigen.hpp"

namespace tessera {

struct RandomizedSvdSettings {
  i64 k = 6;
  i64 oversample = 10;
  std::uint64_t seed = 0;
};

// An iteration is a pass: A and A.H applied to the whole block. Converged when no singular value
// changed by more than max(rtol S[0], atol) in a pass; history: the largest change beside S[0].
TESSERA_API SvdResult randomized_svd(const NamedLinop& A, const Space& space,
                                     const RandomizedSvdSettings& settings = {},
                                     const SolveOptions& options = {.maxiter = 4});

}  // namespace tessera
