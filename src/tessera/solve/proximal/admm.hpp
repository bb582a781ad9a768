// SPDX-License-Identifier: Apache-2.0
#pragma once
// The alternating direction method of multipliers: minimises |A x - b|^2 / 2 + g(G x). The
// quadratic part is solved by a few inner steps of conjugate gradients that go on where they were.
//   SolveResult r = admm(A, b, prox::l1(0.1), {.maxiter = 50}, {.G = gradient, .rho = 0.5});

#include <optional>

#include "tessera/linop/core/linop.hpp"
#include "tessera/solve/core/options.hpp"
#include "tessera/solve/proximal/prox.hpp"

namespace tessera {

struct AdmmSettings {
  std::optional<NamedLinop> G{};  // the identity when empty
  double rho = 1;                 // weight of G x = z
  i64 inner = 10;                 // steps of conjugate gradients in an iteration, at most
};

// Converged when |G x - z| and rho |G.H (z - z before)| are at most max(rtol times the norms of
// their parts, atol) (Boyd et al.); history: the larger of the two quotients.
TESSERA_API SolveResult admm(const NamedLinop& A, const Array& b, const Prox& g = prox::none(),
                             const SolveOptions& options = {}, const AdmmSettings& settings = {});

}  // namespace tessera
