// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/linear/bidiagonal.hpp"

namespace tessera {

Bidiagonal::Bidiagonal(Engine& engine, const NamedLinop& a, const VectorSpaces& s)
    : e(engine), A(a, s.shape, s.b.shape(), s.b.device()), b(e.given("b", A.out, s.b)) {
  const DType t = b.dtype();
  x = e.keep("x", A.in, s.dtype);
  u = e.keep("u", A.out, t);
  v = e.keep("v", A.in, s.dtype);
  Av = e.work("Av", A.out, t);
  AHu = e.work("AHu", A.in, s.dtype);
  alpha = e.scalars.cell("alpha");
  beta = e.scalars.cell("beta");
  minus_alpha = e.scalars.cell("minus alpha");
  minus_beta = e.scalars.cell("minus beta");
  b_norm = e.scalars.cell("b norm");
}

void Bidiagonal::normalise(Recorder& r, const vec::Vector& vector, DeviceScalar length,
                           DeviceScalar minus_length) {
  const DeviceScalar scale = e.scalars.cell("scale");
  vec::norm2(r, vector, e.target(r, length));
  e.scalars.store(length, root(length));
  e.scalars.store(minus_length, -length);
  e.scalars.store(scale, inverse(length));
  e.scalars.record(r);
  vec::scale(r, e.factor(r, scale), vector, vector);
}

void Bidiagonal::start(Recorder& r, const Array& x0) {
  A.record_residual(r, x0, b, x, Av, u);
  vec::norm2(r, b, e.target(r, b_norm));
  e.scalars.store(b_norm, root(b_norm));
  normalise(r, u, beta, minus_beta);
  A.record_adjoint(r, u, v);
  normalise(r, v, alpha, minus_alpha);
}

void Bidiagonal::advance(Recorder& r) {
  A.record(r, v, Av);
  vec::multiply_add(r, u, e.factor(r, minus_alpha), Av, u);
  normalise(r, u, beta, minus_beta);
  A.record_adjoint(r, u, AHu);
  vec::multiply_add(r, v, e.factor(r, minus_beta), AHu, v);
  normalise(r, v, alpha, minus_alpha);
}

void store_tests(Engine& e, const LeastSquaresTests& t, double conlim) {
  ScalarProgram& scalars = e.scalars;
  const DeviceScalar rtol = scalars.cell("rtol"), atol = scalars.cell("atol");
  const DeviceScalar scale = choose(0.0 < t.b_norm, t.b_norm, 1.0);
  scalars.store(e.measure, t.r_norm / scale);
  // Paige and Saunders' first test: the residual is explained by relative errors rtol in A and b.
  const DeviceScalar compatible = t.r_norm <= larger(rtol * (t.b_norm + t.a_norm * t.x_norm), atol);
  const DeviceScalar least_squares = t.ar_norm <= rtol * t.a_norm * t.r_norm;
  DeviceScalar code = scalars.constant(still_running);
  if (conlim > 0) code = choose(conlim < t.a_cond, scalars.constant(condition_too_large), code);
  code = choose(least_squares, scalars.constant(solves_least_squares), code);
  code = choose(compatible, scalars.constant(solves_equations), code);
  code = choose(finite(t.r_norm), code, double(numbers_not_finite));
  scalars.store(e.status, choose(e.status <= 0.0, code, e.status));
  scalars.report(e.measure, e.status);
}

void name_outcomes(Engine& e) {
  e.outcome(solves_equations, true, "residual below tolerance");
  e.outcome(solves_least_squares, true, "least-squares solution within tolerance");
  e.outcome(condition_too_large, false, "the estimated condition of A exceeds conlim");
}

SolveResult run_least_squares(Engine& e, Bidiagonal& g, const NamedLinop& A,
                              const VectorSpaces& sides, const LeastSquaresSettings& settings,
                              const LeastSquaresStart& start, const LeastSquaresStep& step) {
  require<ArgumentError>(settings.damp >= 0 && settings.conlim >= 0, e.name, ": damp ",
                         settings.damp, " and conlim ", settings.conlim, " must not be negative");
  name_outcomes(e);
  e.about("the operator", A, sides.shape, sides.dtype, e.device);
  e.about("b", sides.b);
  e.about("damp", cat(settings.damp));
  Run& iteration = e.plan("step", step);
  if (!e.resume()) {
    e.start(g.A.in, g.x.dtype(), start);
    const double r = e.scalars.value(g.beta), b = e.scalars.value(g.b_norm);
    const int code = r <= e.target_of(b)             ? solves_equations
                     : e.scalars.value(g.alpha) == 0 ? solves_least_squares
                                                     : still_running;
    e.begin(r / (b > 0 ? b : 1), code);
  }
  e.set_tolerances();
  return e.iterate([&] { e.run(iteration); });
}

}  // namespace tessera
