// SPDX-License-Identifier: Apache-2.0
// The operator at work: smooth noisy numbers by solving (I + 5 S.H S) x = y, on the cpu and on a
// sim device.
#include "slope.hpp"

#include <cstdio>

using namespace mine;

int main() {
  const i64 n = 200;
  const Array noise = Random(1).normal({n}, DType::f64, cpu);
  const NamedLinop S = Slope(n, "X", "D"), A = NamedLinop(Identity()) + 5.0 * S.N();
  const Array smooth = cg(A, noise, {.rtol = 1e-10, .maxiter = 200}).x;
  const Array again = A(smooth);
  const double residual = norm(ops::subtract(again, noise)).item().as<double>();
  const double before = norm(S(noise)).item().as<double>(),
               after = norm(S(smooth)).item().as<double>();
  std::printf("%s\nroughness %.3f -> %.3f, residual %.1e\n", A.tree().c_str(), before, after,
              residual);
  const Array there = noise.to(Device::parse("sim:0"));
  const double elsewhere = norm(ops::subtract(A(there).to(cpu), A(noise))).item().as<double>();
  return residual < 1e-6 && after < 0.5 * before && elsewhere < 1e-12 ? 0 : 1;
}
