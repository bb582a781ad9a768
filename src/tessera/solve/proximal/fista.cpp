// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/proximal/fista.hpp"

#include "tessera/solve/proximal/fista_search.hpp"
#include "tessera/solve/proximal/sequence.hpp"

namespace tessera {
namespace {

struct Fista {
  Engine& e;
  const FistaSettings& settings;
  ShardedOperator N;
  double step_size;
  // A.H b, the iterate, its extrapolation, the next iterate, the difference
  vec::Vector c, x, z, w, d;
  Sequence step;

  Fista(Engine& engine, const NamedLinop& A, const VectorSpaces& sides, const FistaSettings& s,
        double t)
      : e(engine),
        settings(s),
        N(ShardedOperator::square(A.N(), sides.shape, engine.device)),
        step_size(t),
        step(engine) {
    x = e.keep("x", N.in, sides.dtype);
    z = e.keep("z", N.in, sides.dtype);
    w = e.work("w", N.in, sides.dtype);
    d = e.work("d", N.in, sides.dtype);
    c = e.image("A.H b", N.in, A.H(), sides.b, sides.dtype);
    e.scalars.cell("t", 1);
  }

  void record(const Prox& g) {
    step.record([this](Recorder& r) {
      N.record(r, z, w);
      vec::subtract(r, w, c, w);
      vec::multiply_add(r, w, -step_size, z, w);
    });
    step.prox(g, N.in, w, step_size, w);
    step.record([this](Recorder& r) { advance(r); });
    step.finish();
  }

  void advance(Recorder& r) {
    ScalarProgram& b = e.scalars;
    const DeviceScalar t = b.cell("t"), momentum = b.cell("momentum"), dd = b.cell("dd"),
                       ww = b.cell("ww"), uphill = b.cell("uphill"), running = b.cell("running");
    // Uphill: <z - x new, x new - x> > 0, where z is not needed after this.
    vec::subtract(r, w, x, d);
    vec::norm2(r, d, e.target(r, dd));
    vec::norm2(r, w, e.target(r, ww));
    vec::subtract(r, z, w, z);
    vec::dot(r, z, d, e.target(r, uphill));
    if (settings.restart) b.store(t, choose(0.0 < uphill, b.constant(1), t));
    const DeviceScalar next = 0.5 * (1.0 * root(4.0 * t * t + 1.0) + 1.0);
    b.store(momentum, settings.momentum ? (t - 1.0) / next : b.constant(0));
    b.store(t, next);
    b.store(e.measure, root(dd) / root(larger(ww, b.constant(1e-300))));
    const DeviceScalar small = root(dd) <= larger(b.cell("rtol") * root(ww), b.cell("atol"));
    b.store(running, e.status <= 0.0);
    const DeviceScalar code = choose(finite(dd), small, 2.0);
    b.store(e.status, choose(running, code, e.status));
    b.report(e.measure, e.status);
    b.record(r);
    vec::multiply_add(r, d, e.factor(r, momentum), w, z);
    vec::select(r, e.factor(r, running), w, x, x);
  }
};

}  // namespace

SolveResult fista(const NamedLinop& A, const Array& b, const Prox& g, const SolveOptions& options,
                  const FistaSettings& settings) {
  check_options("fista", options);
  require<ArgumentError>(settings.step >= 0, "fista: step ", settings.step,
                         " must not be negative");
  const VectorSpaces sides = both_sides("fista", A, b);
  double t = settings.step;
  if (t == 0 && !settings.search) {
    const double norm = squared_norm_of("fista", A, sides.shape, sides.dtype, b.device());
    t = norm > 0 ? 1 / norm : 1;
  }
  const SolveKey key("fista", sides.b, {},
                     {settings.search ? 0 : t, double(settings.momentum), double(settings.restart),
                      double(settings.search)});
  Engine e(with_maps(key, {&g}), A, options, sides.dtype);
  e.outcome(has_converged, true, "the iterate changes less than the tolerance");
  e.outcome(2, false,
            settings.search ? "diverged: the numbers are not finite"
                            : "diverged: the numbers are not finite; give a smaller step");
  e.about("the operator", A, sides.shape, sides.dtype, e.device);
  e.about("b", sides.b);
  e.about("the regulariser", g.name);
  e.about("step, momentum, restart", cat(settings.step, settings.momentum, settings.restart));
  if (settings.search) e.about("steps", cat("searched for"));
  if (settings.search) return search_steps(e, A, sides, g, settings);
  Fista s(e, A, sides, settings, t);
  s.record(g);
  if (!e.resume()) {
    e.start_at(s.x, s.N.in);
    e.start_at(s.z, s.N.in);
    e.begin(1);
  }
  e.set_tolerances();
  return e.iterate([&] { s.step(); });
}

}  // namespace tessera
