// SPDX-License-Identifier: Apache-2.0
#pragma once
// The primal-dual hybrid gradient method of Chambolle and Pock: minimises f(A x - b) + g(x), or
// with further terms the sum of f_i(K_i x - b_i) and g(x), for functions with proximal maps, smooth
// or not, and needs no inverse of anything.
//   SolveResult r = pdhg(G, zeros, prox::group(lam, {0}), prox::l2_squared(1, image));   // TV
//   pdhg(A, y, prox::l2_squared(1), prox::nonneg(), {}, {.more = {{G, prox::group(lam, {0})}}});

#include <vector>

#include "tessera/linop/core/linop.hpp"
#include "tessera/solve/core/options.hpp"
#include "tessera/solve/proximal/prox.hpp"

namespace tessera {

// f(K x - b), K on the same x; an empty b is 0.
struct PdhgTerm {
  NamedLinop K;
  Prox f = prox::l2_squared(1);
  Array b{};
};

struct PdhgSettings {
  // Steps of x and of the dual variables: tau times the sum of sigma |K|^2 over the terms is at most
  // 1. 0: from the power method, tau 1/|A| and for each term a sigma of its own; a sigma that is
  // given is that of all terms.
  double tau = 0, sigma = 0;
  double theta = 1;  // extrapolation
  std::vector<PdhgTerm> more{};
};

// Converged when x and the dual variables change by at most max(rtol times their norm, atol);
// history: the larger relative change.
TESSERA_API SolveResult pdhg(const NamedLinop& A, const Array& b,
                             const Prox& f = prox::l2_squared(1), const Prox& g = prox::none(),
                             const SolveOptions& options = {}, const PdhgSettings& settings = {});

}  // namespace tessera
