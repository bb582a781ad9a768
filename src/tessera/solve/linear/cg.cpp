// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/linear/cg.hpp"

#include <cmath>

#include "tessera/solve/core/engine.hpp"

namespace tessera {
namespace {

constexpr int no_curvature = 2, preconditioner_fails = 3;

struct Cg {
  Engine& e;
  SquareShards shards;
  const ShardedOperator& A;
  const std::optional<ShardedOperator>& M;
  vec::Vector b, x, r, p, Ap, z;
  DeviceScalar rr, rz, curvature, alpha, minus_alpha, beta, b_norm, scale, target, bad;

  Cg(Engine& engine, const NamedLinop& a, const CgSettings& s, const Array& right)
      : e(engine),
        shards(a, s.preconditioner, right.shape(), right.device()),
        A(shards.a),
        M(shards.other),
        b(e.given("b", A.in, right)) {
    const DType t = right.dtype();
    x = e.keep("x", A.in, t);
    r = e.keep("r", A.in, t);
    p = e.keep("p", A.in, t);
    Ap = e.work("Ap", A.in, t);
    z = M ? e.work("z", A.in, t) : r;
    rr = e.scalars.cell("rr");
    rz = e.scalars.cell("rz");
    curvature = e.scalars.cell("curvature");
    alpha = e.scalars.cell("alpha");
    minus_alpha = e.scalars.cell("minus alpha");
    beta = e.scalars.cell("beta");
    b_norm = e.scalars.cell("b norm");
    scale = e.scalars.cell("scale");  // b_norm, or 1 where that is 0
    bad = e.scalars.cell("bad curvature");
    target = e.scalars.cell("target");
  }

  // z = M r and the two products that the next direction needs, `product` for <r, z>.
  void precondition(Recorder& rec, DeviceScalar product) {
    if (M) M->record(rec, r, z);
    vec::norm2(rec, r, e.target(rec, rr));
    if (M) vec::dot(rec, r, z, e.target(rec, product));
  }

  void start(Recorder& rec, const Array& x0) {
    A.record_residual(rec, x0, b, x, Ap, r);
    precondition(rec, rz);
    vec::copy(rec, z, p);
    vec::norm2(rec, b, e.target(rec, b_norm));
    if (!M) e.scalars.store(rz, rr);
    e.scalars.store(b_norm, root(b_norm));
    e.scalars.store(scale, choose(0.0 < b_norm, b_norm, 1.0));
    e.scalars.store(e.measure, root(rr) / scale);
    e.scalars.record(rec);
  }

  void step(Recorder& rec) {
    ScalarProgram& scalars = e.scalars;
    A.record(rec, p, Ap);
    vec::dot(rec, p, Ap, e.target(rec, curvature));
    const DeviceScalar ok = scalars.cell("ok");
    scalars.store(ok, (e.status <= 0.0) && (0.0 < curvature) && finite(curvature) && (0.0 < rz));
    scalars.store(alpha, choose(ok, rz / curvature, 0.0));
    scalars.store(minus_alpha, -alpha);
    scalars.store(bad, choose(e.status <= 0.0, curvature, bad));
    scalars.record(rec);
    vec::add_scaled(rec, p, e.factor(rec, alpha), x);
    vec::add_scaled(rec, Ap, e.factor(rec, minus_alpha), r);
    const DeviceScalar fresh = M ? scalars.cell("fresh rz") : rr;
    precondition(rec, fresh);
    scalars.store(beta, choose(ok, fresh / rz, 0.0));
    scalars.store(rz, choose(ok, fresh, rz));
    scalars.store(e.measure, root(rr) / scale);
    // Note [standing still]: after the end alpha is 0, x and r stay, and the code stays: iterations
    // that the host had already asked for change nothing.
    const DeviceScalar reached = root(rr) <= target;
    const DeviceScalar failed =
        choose(0.0 < rz, scalars.constant(no_curvature), double(preconditioner_fails));
    const DeviceScalar next = choose(ok, reached, failed);
    scalars.store(e.status, choose(e.status <= 0.0, next, e.status));
    scalars.report(e.measure, e.status);
    scalars.record(rec);
    vec::multiply_add(rec, p, e.factor(rec, beta), z, p);
  }
};

}  // namespace

SolveResult cg(const NamedLinop& A, const Array& b, const SolveOptions& options,
               const CgSettings& settings) {
  check_options("cg", options);
  const Array right = square_right_side("cg", A, b);
  Engine e({"cg", right, settings.preconditioner}, A, options, right.dtype());
  Cg s(e, A, settings, right);
  e.about("the operator", A, right.shape(), right.dtype(), right.device());
  e.about("b", right);
  if (settings.preconditioner)
    e.about("the preconditioner", *settings.preconditioner, right.shape(), right.dtype(),
            right.device());
  Run& step = e.plan("step", [&](Recorder& r) { s.step(r); });
  if (!e.resume()) {
    e.start(s.A.in, right.dtype(), [&](Recorder& r, const Array& x0) { s.start(r, x0); });
    const bool there = std::sqrt(e.scalars.value(s.rr)) <= e.target_of(e.scalars.value(s.b_norm));
    e.begin(e.scalars.value(e.measure), there ? has_converged : still_running);
  }
  e.scalars.set(s.target, e.target_of(e.scalars.value(s.b_norm)));
  e.scalars.upload();
  SolveResult result = e.iterate([&] { e.run(step); });
  if (e.code() == no_curvature)
    result.reason = cat("breakdown: <p, A p> = ", e.scalars.value(s.bad),
                        " is not positive; A is not positive definite here");
  if (e.code() == preconditioner_fails)
    result.reason = cat("breakdown: <r, M r> = ", e.scalars.value(s.rz),
                        " is not positive; the preconditioner is not positive definite here");
  return result;
}

}  // namespace tessera
