// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a search for eigenvalues in a growing basis begins and ends, whatever happens in between:
// what lanczos and eigs share. Private to the folder.
//   const Array like = krylov_space("eigs", A, space, options);
//   return krylov_search(e, s.V, s.A.in, s.last_measure(), {"eigs", A, like, ...});

#include <functional>

#include "tessera/solve/core/basis.hpp"
#include "tessera/solve/spectra/eigen.hpp"

namespace tessera {

struct KrylovProblem {
  const char* who;
  const NamedLinop& A;
  const Array& like;           // krylov_space
  Fact settings;               // k, which, ncv: what tells one search from another
  i64 first;                   // vectors that the basis begins with
  std::uint64_t seed;          // of those that are not given
  std::function<void()> step;  // reports
  // Eigenvalues and rows of vectors, for set_vectors; not called where no step was done.
  std::function<void(EigenResult&)> finish;
};

// An array like those that the operator acts on, after all options were looked at.
Array krylov_space(const char* who, const NamedLinop& A, const Space& space,
                   const SolveOptions& options);
EigenResult krylov_search(Engine& e, Basis& basis, const VectorSpace& side, double& last_measure,
                          const KrylovProblem& problem);
// Rows (k, *shape) as the columns that a result has.
void set_vectors(EigenResult& result, const Array& rows);

}  // namespace tessera
