// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/proximal/pdhg.hpp"

#include <cmath>

#include "tessera/solve/proximal/sequence.hpp"

namespace tessera {
namespace {

struct Pdhg {
  Engine& e;
  ShardedOperator A;
  PdhgSettings given;
  vec::Vector b, x, xbar, y, v, q, w, d;
  Sequence step;

  Pdhg(Engine& engine, const NamedLinop& a, const VectorSpaces& s, const PdhgSettings& settings)
      : e(engine),
        A(a, s.shape, s.b.shape(), engine.device),
        given(settings),
        b(e.given("b", A.out, s.b)),
        step(engine) {
    x = e.keep("x", A.in, s.dtype);
    xbar = e.keep("xbar", A.in, s.dtype);
    y = e.keep("y", A.out, b.dtype());
    v = e.work("v", A.out, b.dtype());
    q = e.work("q", A.out, b.dtype());
    w = e.work("w", A.in, s.dtype);
    d = e.work("d", A.in, s.dtype);
  }

  // The dual step by Moreau: with v = y / sigma + A xbar - b, y = sigma (v - prox_f(v, 1/sigma)).
  void record(const Prox& f, const Prox& g) {
    step.record([this](Recorder& r) {
      A.record(r, xbar, v);
      vec::subtract(r, v, b, v);
      vec::multiply_add(r, y, 1 / given.sigma, v, v);
    });
    step.prox(f, A.out, v, 1 / given.sigma, q);
    step.record([this](Recorder& r) {
      vec::subtract(r, v, q, v);
      vec::multiply_add(r, v, -given.sigma, y, q);  // minus the change of y
      vec::norm2(r, q, e.target(r, e.scalars.cell("dy2")));
      vec::scale(r, given.sigma, v, y);
      vec::norm2(r, y, e.target(r, e.scalars.cell("y2")));
      A.record_adjoint(r, y, w);
      vec::multiply_add(r, w, -given.tau, x, w);
    });
    step.prox(g, A.in, w, given.tau, w);
    step.record([this](Recorder& r) { advance(r); });
    step.finish();
  }

  void advance(Recorder& r) {
    ScalarProgram& c = e.scalars;
    const DeviceScalar dx = c.cell("dx2"), x2 = c.cell("x2"), dy = c.cell("dy2"), y2 = c.cell("y2"),
                       running = c.cell("running"), rtol = c.cell("rtol"), atol = c.cell("atol");
    vec::subtract(r, w, x, d);
    vec::norm2(r, d, e.target(r, dx));
    vec::norm2(r, w, e.target(r, x2));
    vec::multiply_add(r, d, given.theta, w, xbar);
    const DeviceScalar tiny = c.constant(1e-300);
    const DeviceScalar primal = root(dx) / root(larger(x2, tiny)),
                       dual = root(dy) / root(larger(y2, tiny));
    c.store(e.measure, larger(primal, dual));
    const DeviceScalar small =
        (root(dx) <= larger(rtol * root(x2), atol)) && (root(dy) <= larger(rtol * root(y2), atol));
    c.store(running, e.status <= 0.0);
    c.store(e.status, choose(running, choose(finite(dx) && finite(dy), small, 2.0), e.status));
    c.report(e.measure, e.status);
    c.record(r);
    vec::select(r, e.factor(r, running), w, x, x);
  }
};

}  // namespace

SolveResult pdhg(const NamedLinop& A, const Array& b, const Prox& f, const Prox& g,
                 const SolveOptions& options, const PdhgSettings& settings) {
  check_options("pdhg", options);
  require<ArgumentError>(settings.tau >= 0 && settings.sigma >= 0, "pdhg: tau ", settings.tau,
                         " and sigma ", settings.sigma, " must not be negative");
  const VectorSpaces sides = both_sides("pdhg", A, b);
  PdhgSettings chosen = settings;
  auto& [tau, sigma, theta] = chosen;
  if (tau == 0 || sigma == 0) {
    const double n2 = squared_norm_of("pdhg", A, sides.shape, sides.dtype, b.device());
    const double norm = n2 > 0 ? std::sqrt(n2) : 1;
    if (tau == 0) tau = sigma > 0 ? 1 / (sigma * norm * norm) : 1 / norm;
    if (sigma == 0) sigma = 1 / (tau * norm * norm);
  }
  Engine e(with_maps({"pdhg", sides.b, {}, {tau, sigma, theta}}, {&f, &g}), A, options,
           sides.dtype);
  Pdhg s(e, A, sides, chosen);
  e.outcome(has_converged, true, "both variables change less than the tolerance");
  e.outcome(2, false, "diverged: the numbers are not finite; give smaller tau and sigma");
  e.about("the operator", A, sides.shape, sides.dtype, e.device);
  e.about("b", sides.b);
  e.about("f and g", cat(f.name, " ", g.name));
  e.about("tau, sigma, theta", cat(settings.tau, " ", settings.sigma, " ", settings.theta));
  s.record(f, g);
  if (!e.resume()) {
    e.start_at(s.x, s.A.in);
    e.start_at(s.xbar, s.A.in);
    e.begin(1);
  }
  e.set_tolerances();
  return e.iterate([&] { s.step(); });
}

}  // namespace tessera
