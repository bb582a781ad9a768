// SPDX-License-Identifier: Apache-2.0
#pragma once
// The primal-dual hybrid gradient method of Chambolle and Pock: minimises f(A x - b) + g(x) for f
// and g with proximal maps, smooth or not, and needs no inverse of anything.
//   SolveResult r = pdhg(G, zeros, prox::group(lam, {0}), prox::l2_squared(1, image));   // TV

#include "tessera/linop/core/linop.hpp"
#include "tessera/solve/core/options.hpp"
#include "tessera/solve/proximal/prox.hpp"

namespace tessera {

struct PdhgSettings {
  // Steps of x and of the dual variable, tau sigma |A|^2 at most 1; 0: 1/|A| from the power method.
  double tau = 0, sigma = 0;
  double theta = 1;  // extrapolation
};

// Converged when x and the dual variable change by at most max(rtol times their norm, atol);
// history: the larger relative change.
TESSERA_API SolveResult pdhg(const NamedLinop& A, const Array& b,
                             const Prox& f = prox::l2_squared(1), const Prox& g = prox::none(),
                             const SolveOptions& options = {}, const PdhgSettings& settings = {});

}  // namespace tessera
