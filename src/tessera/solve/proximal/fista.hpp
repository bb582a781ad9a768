// SPDX-License-Identifier: Apache-2.0
#pragma once
// FISTA of Beck and Teboulle: minimises |A x - b|^2 / 2 + g(x) by gradient steps on the first part,
// the proximal map of the second, and momentum, which starts anew when it points uphill (O'Donoghue
// and Candes).
//   SolveResult r = fista(A, b, prox::l1(0.05), {.maxiter = 200});

#include "tessera/linop/core/linop.hpp"
#include "tessera/solve/core/options.hpp"
#include "tessera/solve/proximal/prox.hpp"

namespace tessera {

struct FistaSettings {
  double step = 0;       // at most 1 / |A|^2; 0: from the power method
  bool momentum = true;  // false: plain proximal gradient
  bool restart = true;
  // Steps are searched for (fista_search.hpp), from `step` on or from what the first gradient says.
  bool search = false;
};

// Converged when |x - x before| is at most max(rtol |x|, atol); history: the relative change.
TESSERA_API SolveResult fista(const NamedLinop& A, const Array& b, const Prox& g = prox::none(),
                              const SolveOptions& options = {}, const FistaSettings& settings = {});

}  // namespace tessera
