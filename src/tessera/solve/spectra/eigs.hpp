// SPDX-License-Identifier: Apache-2.0
#pragma once
// A few eigenvalues of any square operator by the block Krylov-Schur method: an Arnoldi basis of
// `ncv` vectors that begins with `block` of them, restarted with the Schur vectors of the wanted
// values. A matrix is applied to the vectors of a block at once, and read once for all of them.
// For Hermitian operators lanczos is cheaper. Values and vectors are complex, in the order of
// `which`.
//   EigenResult r = eigs(A, {.shape = {64}}, {.k = 4, .which = Spectrum::largest_real});

#include "tessera/linop/core/linop.hpp"
#include "tessera/solve/spectra/eigen.hpp"

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
  i64 k = 6;  // at most n
  Spectrum which = Spectrum::largest_magnitude;
  i64 ncv = 0;  // vectors of the basis, more than k + block; 0 = max(2 k + 1, 20), and for blocks
                // of b vectors 4 (b - 1) more
  // Vectors with which the basis begins and grows. An eigenvalue is sure to be found as many times
  // as it is one where that is no more than `block`.
  i64 block = 1;
  std::uint64_t seed = 0;  // of the first vectors; x0 is one of them where it is given
};

// Converged when every residual |A v - lambda v| is at most max(rtol |lambda|, atol); history: the
// largest of them, relative to the largest |lambda|. An iteration applies A to a block.
TESSERA_API EigenResult eigs(const NamedLinop& A, const Space& space,
                             const EigsSettings& settings = {}, const SolveOptions& options = {});

}  // namespace tessera
