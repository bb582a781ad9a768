// SPDX-License-Identifier: Apache-2.0
#pragma once
// A few eigenvalues of any square operator by the Krylov-Schur method: an Arnoldi basis of `ncv`
// vectors, restarted with the Schur vectors of the wanted values. For Hermitian operators lanczos
// is cheaper. Values and vectors are complex, in the order of `which`.
//   EigenResult r = eigs(A, {.shape = {64}}, {.k = 4, .which = Spectrum::largest_real});

#include "tessera/linop/linop.hpp"
#include "tessera/solve/eigen.hpp"

namespace tessera {

enum class Spectrum : std::uint8_t {
  largest_magnitude,
  smallest_magnitude,
  largest_real,
  smallest_real,
  largest_imaginary,  // by |Im| where the operator is real
  smallest_imaginary
};

struct EigsSettings {
  i64 k = 6;  // at most n - 2
  Spectrum which = Spectrum::largest_magnitude;
  i64 ncv = 0;             // vectors of the basis; 0 = max(2 k + 1, 20)
  std::uint64_t seed = 0;  // of the first vector where no x0 is given
};

// Converged when every residual |A v - lambda v| is at most max(rtol |lambda|, atol); history: the
// largest of them, relative to the largest |lambda|.
TESSERA_API EigenResult eigs(const NamedLinop& A, const Space& space,
                             const EigsSettings& settings = {}, const SolveOptions& options = {});

}  // namespace tessera
