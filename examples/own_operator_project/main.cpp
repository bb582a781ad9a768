// SPDX-License-Identifier: Apache-2.0
// The operator at work: smooth noisy numbers by solving (I + 5 S.H S) x = y, on the cpu, on a sim
// device, and over the ranks that there are.
#include "slope.hpp"

#include <cstdio>
#include <tessera/distributed.hpp>

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
  const Array over_ranks = A(dist::array(noise, {.split = 0})).gathered();
  const double apart = norm(ops::subtract(over_ranks, A(noise))).item().as<double>();
  return residual < 1e-6 && apart < 1e-12 && after < 0.5 * before && elsewhere < 1e-12 ? 0 : 1;
}
