// SPDX-License-Identifier: Apache-2.0
#pragma once
// Solvers over ranks: the operator as it is, b distributed. Each is the solver of that name in its
// own header, run by every rank on its part of the vectors (ranks.hpp); what travels in an
// iteration is what A(x) sends (distributed/operators/apply.hpp) and a few sums. A checkpoint is
// one file that names those of the ranks, and goes on bit for bit on as many ranks.
//   RanksResult r = cg(A.N(), b, {.maxiter = 30});   cg(A.N(), image, {.along = "C"})
//   RanksResult r = fista(A, kspace, prox::l1(0.05));   // kspace split along its coils

#include <functional>

#include "tessera/distributed/operators/apply.hpp"
#include "tessera/solve/linear/cg.hpp"
#include "tessera/solve/linear/gmres.hpp"
#include "tessera/solve/linear/lsmr.hpp"
#include "tessera/solve/linear/lsqr.hpp"
#include "tessera/solve/linear/minres.hpp"
#include "tessera/solve/proximal/admm.hpp"
#include "tessera/solve/proximal/fista.hpp"
#include "tessera/solve/proximal/pdhg.hpp"
#include "tessera/solve/spectra/lanczos.hpp"
#include "tessera/solve/spectra/power_method.hpp"
#include "tessera/solve/spectra/randomized_svd.hpp"
#include "tessera/solve/spectra/svd.hpp"

namespace tessera {

struct RanksOptions {
  double rtol = 1e-6;
  double atol = 0;
  i64 maxiter = 100;
  DNDarray x0{};                          // zeros when empty
  std::optional<NamedDimension> along{};  // as dist::ApplyOptions
  // After each iteration, on every rank; false on any rank: stop here.
  std::function<bool(i64 iteration, double residual)> callback{};
  Checkpoint checkpoint{};
};

struct RanksResult {
  DNDarray x;
  i64 iterations = 0;
  bool converged = false;
  std::string reason;
  std::vector<double> history;  // the solver's measure, before the first iteration and after each
};

// The same numbers and the same end on all ranks. x lies as b does where A is square, else as
// A.H(b). Operators in the settings are whole ones too; arrays of proximal maps (a center) and what
// functions of the caller's see are the parts of a rank. ShapeError as the solvers of one rank.
TESSERA_API RanksResult cg(const NamedLinop& A, const DNDarray& b, const RanksOptions& options = {},
                           const CgSettings& settings = {});
TESSERA_API RanksResult minres(const NamedLinop& A, const DNDarray& b,
                               const RanksOptions& options = {},
                               const MinresSettings& settings = {});
TESSERA_API RanksResult gmres(const NamedLinop& A, const DNDarray& b,
                              const RanksOptions& options = {}, const GmresSettings& settings = {});
TESSERA_API RanksResult lsqr(const NamedLinop& A, const DNDarray& b,
                             const RanksOptions& options = {},
                             const LeastSquaresSettings& settings = {});
TESSERA_API RanksResult lsmr(const NamedLinop& A, const DNDarray& b,
                             const RanksOptions& options = {},
                             const LeastSquaresSettings& settings = {});
TESSERA_API RanksResult fista(const NamedLinop& A, const DNDarray& b, const Prox& g = prox::none(),
                              const RanksOptions& options = {}, const FistaSettings& settings = {});
// Further terms of pdhg are given with their b over ranks; those of the settings are refused.
struct RanksPdhgTerm {
  NamedLinop K;
  Prox f = prox::l2_squared(1);
  DNDarray b{};
};
TESSERA_API RanksResult pdhg(const NamedLinop& A, const DNDarray& b,
                             const Prox& f = prox::l2_squared(1), const Prox& g = prox::none(),
                             const RanksOptions& options = {}, const PdhgSettings& settings = {},
                             const std::vector<RanksPdhgTerm>& more = {});
TESSERA_API RanksResult admm(const NamedLinop& A, const DNDarray& b, const Prox& g = prox::none(),
                             const RanksOptions& options = {}, const AdmmSettings& settings = {});

struct RanksEigenResult : RanksResult {
  DNDarray eigenvalues, eigenvectors;  // as EigenResult; vectors lie as x0 does
};
struct RanksSvdResult : RanksResult {
  DNDarray U, S, Vh;  // as SvdResult; Vh lies as x0 does, U as A(x0)
};

// x0 is the first vector, and says where vectors lie; of randomized_svd only where they lie. The
// x0 of the options is not looked at.
TESSERA_API RanksEigenResult power_method(const NamedLinop& A, const DNDarray& x0,
                                          const PowerMethodSettings& settings = {},
                                          const RanksOptions& options = {.rtol = 1e-5,
                                                                         .maxiter = 50});
TESSERA_API RanksEigenResult lanczos(const NamedLinop& A, const DNDarray& x0,
                                     const LanczosSettings& settings = {},
                                     const RanksOptions& options = {});
TESSERA_API RanksSvdResult svd(const NamedLinop& A, const DNDarray& x0,
                               const SvdSettings& settings = {}, const RanksOptions& options = {});
TESSERA_API RanksSvdResult randomized_svd(const NamedLinop& A, const DNDarray& x0,
                                          const RandomizedSvdSettings& settings = {},
                                          const RanksOptions& options = {.maxiter = 4});

}  // namespace tessera
