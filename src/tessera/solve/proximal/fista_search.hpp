// SPDX-License-Identifier: Apache-2.0
#pragma once
// FISTA whose step is found on the way (backtracking): a step is taken when |A d|^2 <= |d|^2 / t for
// the change d that it makes, and halved otherwise, so that neither the norm of A is asked for nor
// a step paid that only the worst direction needs. What A.N makes of the iterates is kept, so that
// an iteration applies it once for each step that it tries.
//   return search_steps(engine, A, sides, g, settings);

#include "tessera/solve/proximal/fista.hpp"
#include "tessera/solve/proximal/sequence.hpp"

namespace tessera {

SolveResult search_steps(Engine& e, const NamedLinop& A, const VectorSpaces& sides, const Prox& g,
                         const FistaSettings& settings);

}  // namespace tessera
