// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/power_method.hpp"

#include <algorithm>

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/random/random.hpp"
#include "tessera/solve/engine.hpp"

namespace tessera {
namespace {

constexpr double tiny = 1e-300;

struct Power {
  Engine& e;
  const NamedLinop& A;
  Axes axes;
  Array x, w, lengths, before, change, scale;  // lengths and the rest: one number a problem

  Power(Engine& engine, const NamedLinop& a, const Array& like, const Axes& over)
      : e(engine), A(a), axes(over) {
    Shape one = like.shape();
    for (i64 axis : axes) one[axis] = 1;
    x = e.keep("x", like.shape(), like.dtype());
    w = e.scratch(like.shape(), like.dtype());
    lengths = e.scratch(one, DType::f64);
    before = e.keep("before", one, DType::f64);
    change = e.scratch(one, DType::f64);
    scale = e.scratch(one, real_of(like.dtype()));
  }

  // scale = factor / |v| of each problem, 0 where v is 0.
  void measure(Recorder& r, const Array& v, const vec::Factor& factor) {
    const View l = vec::whole(r, lengths), s = vec::whole(r, scale);
    vec::reduce(r, ReduceOp::sum_abs2, vec::whole(r, v), l);
    const vec::Factor squares[] = {l};
    vec::apply(r, ElementOp::sqrt, DType::f64, squares, l);
    const vec::Factor guarded[] = {l, tiny};
    const View c = vec::whole(r, change);
    vec::apply(r, ElementOp::maximum, DType::f64, guarded, c);
    const vec::Factor quotient[] = {factor, c};
    vec::apply(r, ElementOp::divide, DType::f64, quotient, s);
  }

  void scaled(Recorder& r, const Array& v, const Array& to) {
    const vec::Factor in[] = {vec::whole(r, v), vec::whole(r, scale)};
    vec::apply(r, ElementOp::multiply, v.dtype(), in, vec::whole(r, to));
  }

  void start(Recorder& r) {
    measure(r, x, 1.0);
    scaled(r, x, x);
  }

  void step(Recorder& r) {
    Board& b = e.board;
    A.record(r, vec::whole(r, x), vec::whole(r, w));
    measure(r, w, 1.0);
    scaled(r, w, w);
    const View l = vec::whole(r, lengths), p = vec::whole(r, before), c = vec::whole(r, change);
    const vec::Factor difference[] = {l, p}, magnitude[] = {c}, larger[] = {l, tiny},
                      relative[] = {c, p}, kept[] = {l};
    vec::apply(r, ElementOp::subtract, DType::f64, difference, c);
    vec::apply(r, ElementOp::absolute, DType::f64, magnitude, c);
    const Cell most = b.cell("most change");
    vec::reduce(r, ReduceOp::max, c, b.target(r, most, c.layout.ndim()));
    vec::apply(r, ElementOp::maximum, DType::f64, larger, p);
    vec::apply(r, ElementOp::divide, DType::f64, relative, c);
    vec::reduce(r, ReduceOp::max, c, b.target(r, e.measure, c.layout.ndim()));
    vec::apply(r, ElementOp::copy, DType::f64, kept, p);
    const Cell running = b.cell("running");
    b.store(running, e.status <= 0.0);
    const Cell small = e.measure <= b.cell("rtol"), still = most <= b.cell("atol");
    const Cell code = choose(small, b.constant(has_converged), still);
    b.store(e.status, choose(running, code, e.status));
    b.report(e.measure, e.status);
    b.record(r);
    vec::select(r, b.factor(r, running), w, x, x);
  }
};

Array without(const Array& a, const Axes& axes) {
  Layout l = a.layout();
  for (i64 axis = a.ndim() - 1; axis >= 0; --axis)
    if (std::find(axes.begin(), axes.end(), axis) != axes.end()) l = l.select(axis, 0);
  return a.view(std::move(l));
}

}  // namespace

EigenResult power_method(const NamedLinop& A, const Space& space,
                         const PowerMethodSettings& settings, const SolveOptions& options) {
  check_options("power_method", options);
  const Array like = square_right_side(
      "power_method", A,
      options.x0 ? options.x0
                 : Random(settings.seed).normal(space.shape, space.dtype, space.device));
  Axes axes;
  for (i64 a = 0; a < like.ndim(); ++a)
    if (!settings.axes) axes.push_back(a);
  if (settings.axes)
    for (i64 a : *settings.axes) axes.push_back(normalize_axis(a, like.ndim(), "power_method"));
  Engine e("power_method", options, like.device(), like.dtype());
  Power s(e, A, like, axes);
  e.outcome(has_converged, true, "eigenvalues changed less than the tolerance");
  e.about("the operator", A, like.shape(), like.dtype(), like.device());
  e.about("axes", cat(axes));
  Run step = e.plan([&](Recorder& r) { s.step(r); });
  if (!e.resume()) {
    s.x.copy_from(e.x0() && e.x0().shape() == like.shape() ? e.x0().astype(like.dtype()) : like);
    Run start = e.plan([&](Recorder& r) { s.start(r); });
    e.board.upload();
    e.run(start);
    e.begin(1);
  }
  e.set_tolerances();
  EigenResult result;
  static_cast<SolveResult&>(result) = e.iterate([&] { e.run(step); }, s.x);
  const Array Ax = A(s.x);
  const Array length = ops::sqrt(reduce(ReduceOp::sum_abs2, Ax, axes, true));
  const Array along = reduce(ReduceOp::sum, ops::real(ops::conj_multiply(s.x, Ax)), axes, true);
  result.eigenvalues = without(ops::copysign(length, along), axes).copy();
  result.eigenvectors = result.x;
  return result;
}

}  // namespace tessera
