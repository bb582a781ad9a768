// SPDX-License-Identifier: Apache-2.0
#pragma once
// What solvers for eigenvalues and singular values give besides the common result.
//   EigenResult r = lanczos(A, 4, {.shape = {64, 64}});   r.eigenvalues;   r.eigenvectors

#include "tessera/solve/core/options.hpp"

namespace tessera {

struct EigenResult : SolveResult {
  Array eigenvalues;   // real; ascending (power_method: one for each vector of the batch)
  Array eigenvectors;  // (*ishape, k), columns of length one (power_method: as x)
};

struct SvdResult : SolveResult {  // x is S
  Array U, S, Vh;                 // (*oshape, k), (k,) descending, (k, *ishape)
};

// The vectors that an operator acts on, where nobody gives one: x0 says it too.
struct Space {
  Shape shape{};
  DType dtype = DType::f64;
  Device device = cpu;
};

}  // namespace tessera
