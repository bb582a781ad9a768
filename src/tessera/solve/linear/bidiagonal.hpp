// SPDX-License-Identifier: Apache-2.0
#pragma once
// Golub and Kahan's bidiagonalisation, which LSQR and LSMR share: beta u = A v - alpha u, then
// alpha v = A.H u - beta v, with u and v of length one. Only norms: real-linear operators are fine.
//   Bidiagonal g(e, A, sides);   g.start(r);   ...   g.advance(r);

#include "tessera/solve/core/engine.hpp"
#include "tessera/solve/linear/least_squares.hpp"

namespace tessera {

struct Bidiagonal {
  Engine& e;
  ShardedOperator A;
  vec::Vector b, x, u, v, Av, AHu;
  DeviceScalar alpha, beta, minus_alpha, minus_beta, b_norm;

  Bidiagonal(Engine& engine, const NamedLinop& a, const VectorSpaces& sides);
  void start(Recorder& r, const Array& x0);  // leaves |b| in b_norm
  void advance(Recorder& r);                 // cells alpha and beta are the new ones

 private:
  void normalise(Recorder& r, const vec::Vector& vector, DeviceScalar length,
                 DeviceScalar minus_length);
};

// The cells and codes of Paige and Saunders' stopping tests. `status` gets a code when the given
// estimates say so and nothing had ended the solve before.
inline constexpr int solves_equations = has_converged, solves_least_squares = 2,
                     condition_too_large = 3;
struct LeastSquaresTests {
  DeviceScalar r_norm, ar_norm, a_norm, a_cond, x_norm, b_norm;
};
void store_tests(Engine& e, const LeastSquaresTests& t, double conlim);
void name_outcomes(Engine& e);

using LeastSquaresStart = std::function<void(Recorder&, const Array& x0)>;
using LeastSquaresStep = std::function<void(Recorder&)>;
// Resumes or starts, iterates.
SolveResult run_least_squares(Engine& e, Bidiagonal& g, const NamedLinop& A,
                              const VectorSpaces& sides, const LeastSquaresSettings& settings,
                              const LeastSquaresStart& start, const LeastSquaresStep& step);

// The whole of a solver that is made of a Bidiagonal g, start(Recorder&, x0) and step(Recorder&).
template <class Solver>
SolveResult solve_least_squares(const char* who, const NamedLinop& A, const Array& b,
                                const SolveOptions& options, const LeastSquaresSettings& settings) {
  check_options(who, options);
  const VectorSpaces sides = both_sides(who, A, b);
  Engine e({who, sides.b, {}, {settings.damp, settings.conlim}}, A, options, sides.dtype);
  Solver s(e, A, sides, settings);
  return run_least_squares(
      e, s.g, A, sides, settings, [&](Recorder& r, const Array& x0) { s.start(r, x0); },
      [&](Recorder& r) { s.step(r); });
}

}  // namespace tessera
