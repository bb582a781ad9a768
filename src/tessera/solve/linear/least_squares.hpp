// SPDX-License-Identifier: Apache-2.0
#pragma once
// What LSQR and LSMR take besides the options of every solver.
//   lsqr(A, b, {.rtol = 1e-10}, {.damp = 0.1});

namespace tessera {

struct LeastSquaresSettings {
  double damp = 0;      // minimises |A x - b|^2 + damp^2 |x - x0|^2
  double conlim = 1e8;  // stops when the estimated condition of A exceeds this; 0 = never
};

}  // namespace tessera
