// SPDX-License-Identifier: Apache-2.0
#pragma once
// Solvers with all vectors on disk, for problems that memory does not hold: those of linear/,
// proximal/ and spectra/, whose steps become passes over files (core/stored_vectors.hpp). An
// iteration applies A tile by tile and sweeps over the vectors as often as sums are needed in
// between. History, callback, progress and checkpoints are those of solvers in memory; a checkpoint
// has a file for each vector beside it.
//   StoredSolveResult r = stored_cg(A.N(), b, {.maxiter = 30});   r.x[...]

#include "tessera/solve/core/options.hpp"
#include "tessera/solve/linear/cg.hpp"
#include "tessera/solve/linear/gmres.hpp"
#include "tessera/solve/linear/lsmr.hpp"
#include "tessera/solve/linear/lsqr.hpp"
#include "tessera/solve/linear/minres.hpp"
#include "tessera/solve/proximal/admm.hpp"
#include "tessera/solve/proximal/fista.hpp"
#include "tessera/solve/proximal/pdhg.hpp"
#include "tessera/solve/spectra/power_method.hpp"
#include "tessera/streaming/stored/stored_array.hpp"

namespace tessera {

struct StoredSolveResult {
  streaming::StoredArray x;
  i64 iterations = 0;
  bool converged = false;
  std::string reason;
  std::vector<double> history;  // as that of the solver in memory
};
struct StoredEigenResult : StoredSolveResult {
  Array eigenvalues;
};

// As SolveOptions, whose own x0 is not looked at.
struct StoredSolveOptions : SolveOptions {
  std::optional<streaming::StoredArray> first_guess{};  // zeros without
};

// Errors as in memory; OutOfMemory when A cannot be cut to fit the budget, ArgumentError when a
// checkpoint is of a solve that had more memory.
TESSERA_API StoredSolveResult stored_cg(const NamedLinop& A, const streaming::StoredArray& b,
                                        const StoredSolveOptions& options = {},
                                        const CgSettings& settings = {});
TESSERA_API StoredSolveResult stored_lsqr(const NamedLinop& A, const streaming::StoredArray& b,
                                          const StoredSolveOptions& options = {},
                                          const LeastSquaresSettings& settings = {});
TESSERA_API StoredSolveResult stored_lsmr(const NamedLinop& A, const streaming::StoredArray& b,
                                          const StoredSolveOptions& options = {},
                                          const LeastSquaresSettings& settings = {});
TESSERA_API StoredSolveResult stored_minres(const NamedLinop& A, const streaming::StoredArray& b,
                                            const StoredSolveOptions& options = {},
                                            const MinresSettings& settings = {});
// The vectors of a restart are on disk, too: a step reads those so far three times.
TESSERA_API StoredSolveResult stored_gmres(const NamedLinop& A, const streaming::StoredArray& b,
                                           const StoredSolveOptions& options = {},
                                           const GmresSettings& settings = {});
// Proximal maps are those of prox::, and functions that say their passes (Prox::passes).
TESSERA_API StoredSolveResult stored_fista(const NamedLinop& A, const streaming::StoredArray& b,
                                           const Prox& g, const StoredSolveOptions& options = {},
                                           const FistaSettings& settings = {});
TESSERA_API StoredSolveResult stored_admm(const NamedLinop& A, const streaming::StoredArray& b,
                                          const Prox& g, const StoredSolveOptions& options = {},
                                          const AdmmSettings& settings = {});
// Further terms of pdhg are `more` and not those of the settings.
struct StoredPdhgTerm {
  NamedLinop K;
  Prox f = prox::l2_squared(1);
  std::optional<streaming::StoredArray> b{};
};
TESSERA_API StoredSolveResult stored_pdhg(const NamedLinop& A, const streaming::StoredArray& b,
                                          const Prox& f, const Prox& g,
                                          const StoredSolveOptions& options = {},
                                          const PdhgSettings& settings = {},
                                          const std::vector<StoredPdhgTerm>& more = {});
// One problem: there are no axes. `space` is where the first vector is drawn without a first guess.
TESSERA_API StoredEigenResult stored_power_method(const NamedLinop& A, const Space& space,
                                                  const PowerMethodSettings& settings,
                                                  const StoredSolveOptions& options);

}  // namespace tessera
