// SPDX-License-Identifier: Apache-2.0
// The example of docs/guide/solvers.md: three solvers on one operator, one of them with a
// checkpoint.
#include <cstdio>
#include <tessera/tessera.hpp>

using namespace tessera;

int main() {
  const Array w = Random(1).normal({40, 25}, DType::f64), x = Random(2).normal({25}, DType::f64);
  const NamedLinop A(Dense(w, dims("MN"), dims("N"), dims("M")));
  const Array y = A(x);
  SolveResult damped = lsqr(A, y, {.rtol = 1e-8, .maxiter = 200}, {.damp = 0.1});
  SolveResult sparse = fista(A, y, prox::l1(0.05), {.maxiter = 100});
  SolveResult safe = cg(A.N(), A.H()(y), {.checkpoint = {.path = "run.npz", .every = 10}});
  std::remove("run.npz");
  return damped.converged && safe.converged && sparse.x.size() == 25 ? 0 : 1;
}
