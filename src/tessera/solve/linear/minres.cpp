// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/linear/minres.hpp"

#include <cmath>

#include "tessera/solve/core/engine.hpp"

namespace tessera {
namespace {

constexpr int gives_least_squares = 2, too_singular = 3, bad_preconditioner = 4,
              gives_not_finite = 5, at_rounding = 6, stagnating = 7;

// Note [turning buffers]: the two newest Lanczos vectors and the two newest directions change
// places every iteration. Instead of copying, the light plans are recorded once for each place; the
// operator's plan, with its workspace, exists once.
struct Minres {
  Engine& e;
  ScalarProgram& scalars;
  SquareShards shards;
  const ShardedOperator& A;
  const std::optional<ShardedOperator>& M;
  const double shift;
  vec::Vector b, x, v, Av, y;
  vec::Vector r[2], w[2];
  DeviceScalar alfa, beta, oldb, beta1, b_norm;
  Run* apply = nullptr;
  Run *pre[2], *middle[2], *precondition[2], *post[2];
  double epsilon;

  Minres(Engine& engine, const NamedLinop& a, const MinresSettings& s, const Array& right)
      : e(engine),
        scalars(engine.scalars),
        shards(a, s.preconditioner, right.shape(), right.device()),
        A(shards.a),
        M(shards.other),
        shift(s.shift),
        b(e.given("b", A.in, right)) {
    const DType t = right.dtype();
    x = e.keep("x", A.in, t);
    for (const char* name : {"r0", "r1"}) r[name[1] - '0'] = e.keep(name, A.in, t);
    for (const char* name : {"w0", "w1"}) w[name[1] - '0'] = e.keep(name, A.in, t);
    if (M) y = e.keep("y", A.in, t);
    v = e.work("v", A.in, t);
    Av = e.work("Av", A.in, t);
    epsilon = real_of(t) == DType::f32 ? 0x1p-23 : 0x1p-52;
    alfa = scalars.cell("alfa");
    beta = scalars.cell("beta");
    oldb = scalars.cell("oldb");
    beta1 = scalars.cell("beta1");
    b_norm = scalars.cell("b norm");
    scalars.cell("cs", -1);
    scalars.cell("gmin", 1e300);
    scalars.cell("least root", 1e300);
  }

  // `to` = sqrt of the preconditioner's <vector, M vector>; the image goes to y.
  void product(Recorder& rec, const vec::Vector& vector, DeviceScalar to) {
    if (M) {
      M->record(rec, vector, y);
      vec::dot(rec, vector, y, e.target(rec, to));
    } else {
      vec::norm2(rec, vector, e.target(rec, to));
    }
    scalars.store(to, root(to));
    scalars.record(rec);
  }

  void start(Recorder& rec, const Array& x0) {
    product(rec, b, b_norm);
    A.record_residual(rec, x0, b, x, Av, r[0]);
    if (x0) vec::add_scaled(rec, x, shift, r[0]);
    product(rec, r[0], beta1);
    scalars.store(beta, beta1);
    scalars.store(scalars.cell("phibar"), beta1);
    scalars.store(e.measure, beta1 / choose(0.0 < b_norm, b_norm, 1.0));
    scalars.record(rec);
  }

  void record() {
    apply = &e.plan("apply", [&](Recorder& rec) { A.record(rec, v, Av); });
    for (int k = 0; k < 2; ++k) {
      const auto plan = [&](const char* what, auto&& f) { return &e.plan(cat(what, " ", k), f); };
      pre[k] = plan("scale", [&](Recorder& rec) { scale(rec, k); });
      middle[k] = plan("orthogonalise", [&](Recorder& rec) { orthogonalise(rec, k); });
      precondition[k] = plan("product", [&](Recorder& rec) { product(rec, r[1 - k], beta); });
      post[k] = plan("update", [&](Recorder& rec) { update(rec, k); });
    }
  }

  // v of length one: r[k] is the newest Lanczos vector, r[1 - k] the one before.
  void scale(Recorder& rec, int k) {
    const DeviceScalar s = scalars.cell("1/beta");
    scalars.store(s, inverse(beta));
    scalars.store(scalars.cell("back"), choose(0.0 < oldb, -(beta / oldb), 0.0));
    // Beside the diagonal of the projected A. The first beta is |b|, which says nothing about A.
    scalars.store(scalars.cell("link"), choose(0.0 < oldb, beta, 0.0));
    scalars.record(rec);
    vec::scale(rec, e.factor(rec, s), M ? y : r[k], v);
  }

  // The next Lanczos vector takes the place of the oldest.
  void orthogonalise(Recorder& rec, int k) {
    const DeviceScalar back = scalars.cell("back"), minus = scalars.cell("minus alfa/beta");
    vec::multiply_add(rec, r[1 - k], e.factor(rec, back), Av, r[1 - k]);
    if (shift != 0) vec::add_scaled(rec, v, -shift, r[1 - k]);
    vec::dot(rec, v, r[1 - k], e.target(rec, alfa));
    scalars.store(minus, choose(0.0 < beta, -(alfa / beta), 0.0));
    scalars.store(oldb, beta);
    scalars.record(rec);
    vec::add_scaled(rec, r[k], e.factor(rec, minus), r[1 - k]);
  }

  void rotate() {
    const DeviceScalar epsln = scalars.cell("epsln"), oldeps = scalars.cell("oldeps"),
                       dbar = scalars.cell("dbar"), delta = scalars.cell("delta"),
                       gbar = scalars.cell("gbar"), cs = scalars.cell("cs"),
                       sn = scalars.cell("sn"), gamma = scalars.cell("gamma"),
                       phi = scalars.cell("phi"), phibar = scalars.cell("phibar"),
                       t2 = scalars.cell("tnorm2"), link = scalars.cell("link");
    scalars.store(t2, t2 + alfa * alfa + link * link + beta * beta);
    scalars.store(oldeps, epsln);
    scalars.store(delta, cs * dbar + sn * alfa);
    scalars.store(gbar, sn * dbar - cs * alfa);
    scalars.store(epsln, sn * beta);
    scalars.store(dbar, -(cs * beta));
    scalars.store(scalars.cell("root"), length(gbar, dbar));
    scalars.store(gamma, larger(length(gbar, beta), scalars.constant(epsilon * 1e-3)));
    scalars.store(cs, gbar / gamma);
    scalars.store(sn, beta / gamma);
    scalars.store(scalars.cell("phibar so far"), phibar);
    scalars.store(phi, cs * phibar);
    scalars.store(phibar, sn * phibar);
  }

  // Note [incompatible systems]: |A r| / |A| |r| of a least-squares problem falls to about the root
  // of the rounding unit, and no further: from there on the steps change r by less than one
  // rounding error and grow in the null space without end. It is over when that ratio, once so
  // small, rises again while |r| stands still. (In a compatible system |r| falls.)
  void stagnation(DeviceScalar a_norm) {
    const DeviceScalar least = scalars.cell("least root"),
                       before = scalars.cell("phibar at least root"),
                       ratio = scalars.cell("root ratio"), so_far = scalars.cell("phibar so far"),
                       fell = scalars.cell("root fell");
    const double unit = std::sqrt(epsilon);
    scalars.store(ratio, scalars.cell("root") / a_norm);
    scalars.store(scalars.cell("stagnant"), (least <= 0.2 * unit) && (2.0 * least <= ratio) &&
                                                ((1.0 - unit) * before <= so_far));
    scalars.store(fell, ratio < least);
    scalars.store(before, choose(fell, so_far, before));
    scalars.store(least, smaller(ratio, least));
  }

  // Note [worthless steps]: where the search ends before that, all that is left of the projected
  // system is rounding errors. A step by such a direction is longer than all of x and says that it
  // shortens r by less than the rounding errors of A times the step: it is not taken. (With a
  // preconditioner r and x are measured in different norms, and nobody can tell.)
  void worthlessness(DeviceScalar a_norm, DeviceScalar w_norm2) {
    if (M) return;
    const DeviceScalar so_far = scalars.cell("phibar so far"),
                       gain = so_far - scalars.cell("phibar"), stagnant = scalars.cell("stagnant");
    const DeviceScalar step = magnitude(scalars.cell("phi")) * root(w_norm2), moved = a_norm * step;
    scalars.store(stagnant, larger(stagnant, (root(scalars.cell("x norm")) < step) &&
                                                 (so_far < moved) && (gain < epsilon * moved)));
  }

  // Directions: w[k] is the newest, its successor takes the place of the one before.
  void update(Recorder& rec, int k) {
    const vec::Vector &newest = w[k], &next = w[1 - k];
    rotate();
    const DeviceScalar gamma = scalars.cell("gamma"), along1 = scalars.cell("along w1"),
                       along2 = scalars.cell("along w2"), along_v = scalars.cell("along v"),
                       a_norm = scalars.cell("a norm"), w_norm2 = scalars.cell("w norm");
    scalars.store(a_norm, root(scalars.cell("tnorm2")));
    stagnation(a_norm);
    scalars.store(along_v, 1.0 / gamma);
    scalars.store(along1, -(scalars.cell("oldeps") / gamma));
    scalars.store(along2, -(scalars.cell("delta") / gamma));
    scalars.record(rec);
    vec::scale(rec, e.factor(rec, along1), next, next);
    vec::add_scaled(rec, newest, e.factor(rec, along2), next);
    vec::add_scaled(rec, v, e.factor(rec, along_v), next);
    if (!M) vec::norm2(rec, next, e.target(rec, w_norm2));
    worthlessness(a_norm, w_norm2);
    move(rec, next);
  }

  void move(Recorder& rec, const vec::Vector& direction) {
    const DeviceScalar running = scalars.cell("running"), step = scalars.cell("step"),
                       a_norm = scalars.cell("a norm"), done = scalars.cell("least squares"),
                       x_norm2 = scalars.cell("x norm");
    // |A r| small beside |A| |r|, r being that of the x so far: nothing that A reaches is left in
    // it, and a step would only follow rounding errors into the null space. The same when the
    // projected system is singular to rounding: all that A reaches has been searched.
    const DeviceScalar reached = scalars.cell("root") <= scalars.cell("rtol") * a_norm,
                       singular = scalars.cell("gamma") <= scalars.constant(100 * epsilon) * a_norm;
    scalars.store(done, larger(larger(reached, singular), scalars.cell("stagnant")));
    scalars.store(running, (e.status <= 0.0) && !done);
    scalars.store(step, choose(running, scalars.cell("phi"), 0.0));
    scalars.record(rec);
    vec::add_scaled(rec, direction, e.factor(rec, step), x);
    vec::norm2(rec, x, e.target(rec, x_norm2));
    tests(x_norm2);
    scalars.record(rec);
  }

  void tests(DeviceScalar x_norm2) {
    const DeviceScalar gmax = scalars.cell("gmax"), gmin = scalars.cell("gmin"),
                       gamma = scalars.cell("gamma"), phibar = scalars.cell("phibar"),
                       a_norm = scalars.cell("a norm");
    const DeviceScalar rtol = scalars.cell("rtol"), atol = scalars.cell("atol");
    scalars.store(gmax, larger(gmax, gamma));
    scalars.store(gmin, smaller(gmin, gamma));
    const DeviceScalar scale = choose(0.0 < b_norm, b_norm, 1.0);
    const DeviceScalar done = scalars.cell("least squares");
    scalars.store(e.measure, choose(done, e.measure, phibar / scale));
    DeviceScalar code = choose(scalars.constant(0.1 / epsilon) < gmax / gmin,
                               scalars.constant(double(too_singular)), 0.0);
    const DeviceScalar rounding = epsilon * a_norm * root(x_norm2);
    code = choose(phibar <= rounding, scalars.constant(double(at_rounding)), code);
    code = choose(phibar <= larger(rtol * b_norm, atol), scalars.constant(double(has_converged)),
                  code);
    code = choose(done, scalars.constant(double(gives_least_squares)), code);
    code = choose(scalars.cell("stagnant"), scalars.constant(double(stagnating)), code);
    code = choose(finite(phibar) && finite(beta), code, double(gives_not_finite));
    scalars.store(e.status, choose(e.status <= 0.0, code, e.status));
    scalars.report(e.measure, e.status);
  }
};

}  // namespace

SolveResult minres(const NamedLinop& A, const Array& b, const SolveOptions& options,
                   const MinresSettings& settings) {
  check_options("minres", options);
  const Array right = square_right_side("minres", A, b);
  Engine e({"minres", right, settings.preconditioner, {settings.shift}}, A, options, right.dtype());
  Minres s(e, A, settings, right);
  e.outcome(gives_least_squares, true, "least-squares solution within tolerance");
  e.outcome(too_singular, false, "A is singular to working precision");
  e.outcome(bad_preconditioner, false, "breakdown: the preconditioner is not positive definite");
  e.outcome(at_rounding, false, "the residual is at the level of rounding errors");
  e.outcome(stagnating, false,
            "least-squares solution, as near as rounding errors let it be found");
  e.outcome(gives_not_finite, false,
            "breakdown: numbers that are not finite; A is not Hermitian, or the preconditioner not "
            "positive definite");
  e.about("the operator", A, right.shape(), right.dtype(), right.device());
  e.about("b", right);
  e.about("shift", cat(settings.shift));
  if (settings.preconditioner)
    e.about("the preconditioner", *settings.preconditioner, right.shape(), right.dtype(),
            right.device());
  s.record();
  if (!e.resume()) {
    e.start(s.A.in, right.dtype(), [&](Recorder& r, const Array& x0) { s.start(r, x0); });
    const double norm = e.scalars.value(s.b_norm), first = e.scalars.value(s.beta1);
    const bool fails = settings.preconditioner && std::isfinite(norm) && !std::isfinite(first);
    e.begin(first / (norm > 0 ? norm : 1), fails                        ? bad_preconditioner
                                           : first <= e.target_of(norm) ? has_converged
                                                                        : still_running);
  }
  e.set_tolerances();
  i64 turn = e.iteration();
  return e.iterate([&] {
    const auto k = static_cast<std::size_t>(turn % 2);
    for (Run* part : {s.pre[k], s.apply, s.middle[k], s.precondition[k], s.post[k]}) e.run(*part);
    ++turn;
  });
}

}  // namespace tessera
