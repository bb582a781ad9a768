// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/proximal/admm.hpp"

#include "tessera/solve/proximal/sequence.hpp"

namespace tessera {
namespace {

struct Admm {
  Engine& e;
  ScalarProgram& c;
  const AdmmSettings& settings;
  SquareShards shards;
  const ShardedOperator& N;
  const std::optional<ShardedOperator>& G;
  const VectorSpace& constrained;    // of G x
  vec::Vector rhs0, x, r, p, Mp, t;  // A.H b; the inner solve of M x = rhs, M = A.N + rho G.H G
  vec::Vector z, u, Gx, before;      // of G x
  DeviceScalar rr, curvature, alpha, minus_alpha, beta, inner_target;
  Sequence step;

  Admm(Engine& engine, const NamedLinop& A, const VectorSpaces& s, const AdmmSettings& given)
      : e(engine),
        c(engine.scalars),
        settings(given),
        shards(A.N(), given.G, s.shape, engine.device),
        N(shards.a),
        G(shards.other),
        constrained(G ? G->out : N.in),
        step(engine) {
    x = e.keep("x", N.in, s.dtype);
    r = e.work("r", N.in, s.dtype);
    p = e.work("p", N.in, s.dtype);
    Mp = e.work("Mp", N.in, s.dtype);
    t = e.work("t", N.in, s.dtype);
    rhs0 = e.image("A.H b", N.in, A.H(), s.b, s.dtype);
    DType dtype = s.dtype;
    if (given.G) {
      dtype = given.G->output_dtype(s.dtype);
      const DType back = given.G->H().output_dtype(dtype);
      require<DTypeError>(back == s.dtype, "admm: the adjoint of ", *given.G, " maps ", dtype,
                          " to ", back, ", expected ", s.dtype);
    }
    z = e.keep("z", constrained, dtype);
    u = e.keep("u", constrained, dtype);
    Gx = e.work("G x", constrained, dtype);
    before = e.work("z before", constrained, dtype);
    rr = c.cell("inner rr");
    curvature = c.cell("inner curvature");
    alpha = c.cell("inner alpha");
    minus_alpha = c.cell("inner minus alpha");
    beta = c.cell("inner beta");
    inner_target = c.cell("inner target");
  }

  void apply_G(Recorder& rec, const vec::Vector& from, const vec::Vector& to) {
    if (G)
      G->record(rec, from, to);
    else
      vec::copy(rec, from, to);
  }
  void apply_GH(Recorder& rec, const vec::Vector& from, const vec::Vector& to) {
    if (G)
      G->record_adjoint(rec, from, to);
    else
      vec::copy(rec, from, to);
  }

  // to = (A.N + rho G.H G) from; uses t and Gx.
  void apply_M(Recorder& rec, const vec::Vector& from, const vec::Vector& to) {
    N.record(rec, from, to);
    if (!G) return vec::add_scaled(rec, from, settings.rho, to);
    apply_G(rec, from, Gx);
    apply_GH(rec, Gx, t);
    vec::add_scaled(rec, t, settings.rho, to);
  }

  // r = A.H b + rho G.H (z - u) - M x, from the x of the last iteration.
  void begin_inner(Recorder& rec) {
    apply_M(rec, x, Mp);
    vec::subtract(rec, z, u, before);
    apply_GH(rec, before, t);
    vec::multiply_add(rec, t, settings.rho, rhs0, r);
    vec::norm2(rec, r, e.target(rec, inner_target));
    vec::subtract(rec, r, Mp, r);
    vec::copy(rec, r, p);
    vec::norm2(rec, r, e.target(rec, rr));
    const double tight = real_of(x.dtype()) == DType::f32 ? 1e-12 : 1e-24;
    c.store(inner_target, tight * inner_target);
    c.record(rec);
  }

  // One step of conjugate gradients; nothing once the residual is rounding errors.
  void inner_step(Recorder& rec) {
    apply_M(rec, p, Mp);
    vec::dot(rec, p, Mp, e.target(rec, curvature));
    const DeviceScalar ok = (e.status <= 0.0) && (inner_target < rr) && (0.0 < curvature);
    c.store(alpha, choose(ok, rr / curvature, 0.0));
    c.store(minus_alpha, -alpha);
    c.store(c.cell("inner before"), rr);
    c.record(rec);
    vec::add_scaled(rec, p, e.factor(rec, alpha), x);
    vec::add_scaled(rec, Mp, e.factor(rec, minus_alpha), r);
    vec::norm2(rec, r, e.target(rec, rr));
    c.store(beta, choose(0.0 < alpha, rr / c.cell("inner before"), 0.0));
    c.record(rec);
    vec::multiply_add(rec, p, e.factor(rec, beta), r, p);
  }

  void record(const Prox& g) {
    step.record([this](Recorder& rec) { begin_inner(rec); });
    step.run(e.plan("inner", [this](Recorder& rec) { inner_step(rec); }), settings.inner);
    step.record([this](Recorder& rec) {
      vec::copy(rec, z, before);
      apply_G(rec, x, Gx);
      vec::add(rec, Gx, u, z);
      vec::copy(rec, z, u);
    });
    step.prox(g, constrained, z, 1 / settings.rho, z);
    step.record([this](Recorder& rec) { advance(rec); });
    step.finish();
  }

  // u = u + G x - z (u holds the sum already), residuals, status.
  void advance(Recorder& rec) {
    const DeviceScalar primal = c.cell("primal"), dual = c.cell("dual"), gx = c.cell("gx"),
                       zz = c.cell("zz"), uu = c.cell("uu"), rtol = c.cell("rtol"),
                       atol = c.cell("atol");
    vec::subtract(rec, u, z, u);
    vec::norm2(rec, Gx, e.target(rec, gx));
    vec::norm2(rec, z, e.target(rec, zz));
    vec::subtract(rec, Gx, z, Gx);
    vec::norm2(rec, Gx, e.target(rec, primal));
    vec::subtract(rec, z, before, before);
    apply_GH(rec, before, t);
    vec::norm2(rec, t, e.target(rec, dual));
    apply_GH(rec, u, t);
    vec::norm2(rec, t, e.target(rec, uu));
    const DeviceScalar tiny = c.constant(1e-300);
    const DeviceScalar p1 = root(primal), p2 = root(larger(larger(gx, zz), tiny));
    const DeviceScalar d1 = root(dual), d2 = root(larger(uu, tiny));
    c.store(e.measure, larger(p1 / p2, d1 / d2));
    const DeviceScalar small = (p1 <= larger(rtol * p2, atol)) && (d1 <= larger(rtol * d2, atol));
    const DeviceScalar code = choose(finite(primal) && finite(dual), small, 2.0);
    c.store(e.status, choose(e.status <= 0.0, code, e.status));
    c.report(e.measure, e.status);
    c.record(rec);
  }
};

}  // namespace

SolveResult admm(const NamedLinop& A, const Array& b, const Prox& g, const SolveOptions& options,
                 const AdmmSettings& settings) {
  check_options("admm", options);
  require<ArgumentError>(settings.rho > 0 && settings.inner > 0, "admm: rho ", settings.rho,
                         " and inner ", settings.inner, " must be positive");
  const VectorSpaces sides = both_sides("admm", A, b);
  Engine e(with_maps({"admm", sides.b, settings.G, {settings.rho}}, {&g}), A, options, sides.dtype);
  Admm s(e, A, sides, settings);
  e.outcome(has_converged, true, "primal and dual residuals below tolerance");
  e.outcome(2, false, "diverged: the numbers are not finite");
  e.about("the operator", A, sides.shape, sides.dtype, e.device);
  if (settings.G) e.about("G", *settings.G, sides.shape, sides.dtype, e.device);
  e.about("b", sides.b);
  e.about("the regulariser", g.name);
  e.about("rho, inner", cat(settings.rho, " ", settings.inner));
  s.record(g);
  if (!e.resume()) {
    if (e.x0()) {
      e.start_at(s.x, s.N.in);
      e.run(e.plan("start at x0", [&](Recorder& r) { s.apply_G(r, s.x, s.z); }));
    }
    e.begin(1);
  }
  e.set_tolerances();
  return e.iterate([&] { s.step(); });
}

}  // namespace tessera
