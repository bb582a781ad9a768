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
    rr = e.board.cell("rr");
    rz = e.board.cell("rz");
    curvature = e.board.cell("curvature");
    alpha = e.board.cell("alpha");
    minus_alpha = e.board.cell("minus alpha");
    beta = e.board.cell("beta");
    b_norm = e.board.cell("b norm");
    scale = e.board.cell("scale");  // b_norm, or 1 where that is 0
    bad = e.board.cell("bad curvature");
    target = e.board.cell("target");
  }

  // z = M r and the two products that the next direction needs, `product` for <r, z>.
  void precondition(Recorder& rec, DeviceScalar product) {
    if (M) M->record(rec, r, z);
    vec::norm2(rec, r, e.target(rec, rr));
    if (M) vec::dot(rec, r, z, e.target(rec, product));
  }

  void start(Recorder& rec, const Array& x0) {
    if (x0) {
      A.in.scatter(rec, x0, x);
      A.record(rec, x, Ap);
      vec::subtract(rec, b, Ap, r);
    } else {
      vec::copy(rec, b, r);
    }
    precondition(rec, rz);
    vec::copy(rec, z, p);
    vec::norm2(rec, b, e.target(rec, b_norm));
    if (!M) e.board.store(rz, rr);
    e.board.store(b_norm, root(b_norm));
    e.board.store(scale, choose(0.0 < b_norm, b_norm, 1.0));
    e.board.store(e.measure, root(rr) / scale);
    e.board.record(rec);
  }

  void step(Recorder& rec) {
    ScalarProgram& board = e.board;
    A.record(rec, p, Ap);
    vec::dot(rec, p, Ap, e.target(rec, curvature));
    const DeviceScalar ok = board.cell("ok");
    board.store(ok, (e.status <= 0.0) && (0.0 < curvature) && finite(curvature) && (0.0 < rz));
    board.store(alpha, choose(ok, rz / curvature, 0.0));
    board.store(minus_alpha, -alpha);
    board.store(bad, choose(e.status <= 0.0, curvature, bad));
    board.record(rec);
    vec::add_scaled(rec, p, e.factor(rec, alpha), x);
    vec::add_scaled(rec, Ap, e.factor(rec, minus_alpha), r);
    const DeviceScalar fresh = M ? board.cell("fresh rz") : rr;
    precondition(rec, fresh);
    board.store(beta, choose(ok, fresh / rz, 0.0));
    board.store(rz, choose(ok, fresh, rz));
    board.store(e.measure, root(rr) / scale);
    // Note [standing still]: after the end alpha is 0, x and r stay, and the code stays: iterations
    // that the host had already asked for change nothing.
    const DeviceScalar reached = root(rr) <= target;
    const DeviceScalar failed =
        choose(0.0 < rz, board.constant(no_curvature), double(preconditioner_fails));
    const DeviceScalar next = choose(ok, reached, failed);
    board.store(e.status, choose(e.status <= 0.0, next, e.status));
    board.report(e.measure, e.status);
    board.record(rec);
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
    const Array x0 = e.x0() ? e.given_x0(s.A.in, right.dtype()) : Array();
    Run& start = e.plan(x0 ? "start at x0" : "start", [&](Recorder& r) { s.start(r, x0); });
    e.board.upload();
    e.run(start);
    e.board.fetch();
    const bool there = std::sqrt(e.board.value(s.rr)) <= e.target_of(e.board.value(s.b_norm));
    e.begin(e.board.value(e.measure), there ? has_converged : still_running);
  }
  e.board.set(s.target, e.target_of(e.board.value(s.b_norm)));
  e.board.upload();
  SolveResult result = e.iterate([&] { e.run(step); });
  if (e.code() == no_curvature)
    result.reason = cat("breakdown: <p, A p> = ", e.board.value(s.bad),
                        " is not positive; A is not positive definite here");
  if (e.code() == preconditioner_fails)
    result.reason = cat("breakdown: <r, M r> = ", e.board.value(s.rz),
                        " is not positive; the preconditioner is not positive definite here");
  return result;
}

}  // namespace tessera
