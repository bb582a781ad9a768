// SPDX-License-Identifier: Apache-2.0
// The example of README.md: an operator made of parts, its adjoint, its plan, and a solver.
#include <cstdio>
#include <tessera/tessera.hpp>

using namespace tessera;

int main() {
  const i64 n = 48;
  Random random(1);
  NamedLinop F = FFT(2, dims("C"), FFT::Grids{dims("NxNy"), dims("KxKy")});
  NamedLinop S =
      Dense(random.normal({4, n, n}, DType::c64), dims("CNxNy"), dims("NxNy"), dims("CNxNy"));
  NamedLinop M = Diagonal(random.uniform({n, 1}, DType::f32), dims("CKxKy"));
  NamedLinop A = M * F * S;  // coil maps, then Fourier transforms, then weights

  Array x = random.normal({n, n}, DType::c64);
  SolveResult r = cg(A.N(), A.H()(A(x)), {.rtol = 1e-5, .maxiter = 200});
  std::printf("%s\n%lld iterations\n", A.str().c_str(), static_cast<long long>(r.iterations));
  std::puts(A.N().plan({.shape = {n, n}, .dtype = DType::c64}).explain().c_str());
  return norm(ops::subtract(r.x, x)).item().as<double>() < 1 ? 0 : 1;
}
