// SPDX-License-Identifier: Apache-2.0
// What a solver costs beside the applications of its operator.
#include "ratio.hpp"
#include "tessera/tessera.hpp"

namespace tessera::bench {
namespace {

void cg_beside_its_matvecs(Device device, DType t, double goal) {
  constexpr i64 n = 4096;
  constexpr i64 iterations = 50;
  // Symmetric and positive definite, and so ill conditioned that 50 iterations do not end early.
  const Array w = ops::divide(matmul(ones({n, 1}, t, device), ones({1, n}, t, device)),
                              Value(static_cast<double>(n)));
  const Array d = linspace(1, 1e5, n, t, device);
  const NamedLinop A(Dense(ops::add(w, ops::multiply(eye(n, n, 0, t, device), d)), dims("MN"),
                           dims("N"), dims("M")));
  const Array b = Random(1).normal({n}, t, device), y = Array::empty({n}, t, device);
  const SolveOptions options{.rtol = 0, .maxiter = iterations};
  const SolveResult r = cg(A, b, options);
  Run matvec = A.plan({.shape = {n}, .dtype = t, .device = device}).instance();
  compare(
      cat("cg, ", iterations, " iterations, Dense 4096^2 ", name(t), ", ", device),
      "50 applications", goal, [&] { (void)cg(A, b, options); },
      [&] {
        for (i64 i = 0; i < iterations; ++i) matvec(b, y);
        matvec.sync();
      },
      cat(r.iterations, " iterations made"));
}

// What a solve costs that is none of its iterations, once the operator was solved with before.
void cg_begun_again(Device device) {
  constexpr i64 n = 1 << 16;
  const NamedLinop A = FFT(1, {}, {{{"N"}, {"K"}}}).adjoint() *
                       NamedLinop(Diagonal(linspace(1, 1e5, n, DType::f32, device), dims("K"))) *
                       FFT(1, {}, {{{"N"}, {"K"}}});
  const Array b = Random(1).normal({n}, DType::c64, device);
  (void)cg(A, b, {.rtol = 0, .maxiter = 0});
  within(
      cat("cg begun again, no iteration, 2^16 complex64, ", device), 0.3e-3 + 0.1e-3,
      [&] { (void)cg(A, b, {.rtol = 0, .maxiter = 0}); }, "limit: 0.3 ms, and b and x copied");
}

}  // namespace

void bench_solve() {
  constexpr double goal = 1 / 1.05;
  cg_beside_its_matvecs(cpu, DType::f64, goal);
  cg_beside_its_matvecs(cpu, DType::f32, goal);
  cg_begun_again(cpu);
  if (why_unavailable(Kind::cuda).empty()) cg_begun_again(Device::parse("cuda:0"));
  // There an application takes as long as a dozen launches: for information.
  if (why_unavailable(Kind::cuda).empty())
    cg_beside_its_matvecs(Device::parse("cuda:0"), DType::f64, 0);
}

}  // namespace tessera::bench
