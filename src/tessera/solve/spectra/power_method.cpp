// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/spectra/power_method.hpp"

#include <algorithm>

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/random/random.hpp"
#include "tessera/solve/core/engine.hpp"
#include "tessera/streaming/operators/on_disk.hpp"

namespace tessera {
namespace {

constexpr double tiny = 1e-300;

struct Power {
  Engine& e;
  ShardedOperator A;
  VectorSpace groups;  // one number a problem
  vec::Vector x, w, lengths, before, change, scale;

  Power(Engine& engine, const NamedLinop& a, const Shape& shape, DType t, const Axes& axes)
      : e(engine),
        A(ShardedOperator::square(a, shape, e.device)),
        groups(A.in.reduced(axes)),
        x(e.keep("x", A.in, t)),
        w(e.work("w", A.in, t)),
        lengths(e.work("lengths", groups, DType::f64)),
        before(e.keep("before", groups, DType::f64)),
        change(e.work("change", groups, DType::f64)),
        scale(e.work("scale", groups, real_of(t))) {}

  // v = v / |v| for each problem, 0 where v is 0; leaves |v| in lengths.
  void normalise(Recorder& r, const vec::Vector& v) {
    const auto all = vec::whole(r, v), l = vec::whole(r, lengths), c = vec::whole(r, change),
               s = vec::whole(r, scale);
    record_norms2(r, A.in, groups, all, l);
    vec::apply(r, ElementOp::sqrt, DType::f64, {l}, l);
    vec::apply(r, ElementOp::maximum, DType::f64, {l, tiny}, c);
    vec::apply(r, ElementOp::divide, DType::f64, {1.0, c}, s);
    vec::apply(r, ElementOp::multiply, v.dtype(), {all, s}, all);
  }

  void step(Recorder& r) {
    ScalarProgram& b = e.scalars;
    A.record(r, x, w);
    normalise(r, w);
    const auto l = vec::whole(r, lengths), p = vec::whole(r, before), c = vec::whole(r, change);
    const DeviceScalar most = b.cell("most change");
    vec::apply(r, ElementOp::subtract, DType::f64, {l, p}, c);
    vec::apply(r, ElementOp::absolute, DType::f64, {c}, c);
    vec::largest(r, change, e.target(r, most));
    vec::apply(r, ElementOp::maximum, DType::f64, {l, tiny}, p);
    vec::apply(r, ElementOp::divide, DType::f64, {c, p}, c);
    vec::largest(r, change, e.target(r, e.measure));
    vec::apply(r, ElementOp::copy, DType::f64, {l}, p);
    const DeviceScalar running = b.cell("running");
    b.store(running, e.status <= 0.0);
    const DeviceScalar small = e.measure <= b.cell("rtol"), still = most <= b.cell("atol");
    const DeviceScalar code = choose(small, b.constant(has_converged), still);
    b.store(e.status, choose(running, code, e.status));
    b.report(e.measure, e.status);
    b.record(r);
    vec::select(r, b.factor(r, running), w, x, x);
  }

  // |A x| with the sign of <x, A x>, which is that of |x + A x| - |x - A x|.
  Array eigenvalues() {
    const vec::Vector sum = e.work("sum", A.in, x.dtype()),
                      more = e.work("more", groups, DType::f64);
    Run& run = e.plan("eigenvalues", [&](Recorder& r) {
      const auto l = vec::whole(r, lengths), c = vec::whole(r, change), m = vec::whole(r, more);
      A.record(r, x, w);
      record_norms2(r, A.in, groups, vec::whole(r, w), l);
      vec::apply(r, ElementOp::sqrt, DType::f64, {l}, l);
      vec::add(r, x, w, sum);
      record_norms2(r, A.in, groups, vec::whole(r, sum), m);
      vec::subtract(r, x, w, sum);
      record_norms2(r, A.in, groups, vec::whole(r, sum), c);
      vec::apply(r, ElementOp::subtract, DType::f64, {m, c}, c);
      vec::apply(r, ElementOp::copysign, DType::f64, {l, c}, l);
    });
    e.run(run);
    run.sync();
    return groups.whole(lengths, e.device).astype(real_of(x.dtype()));
  }
};

// One problem, with its vector on disk: lengths are scalars.
struct PowerOnDisk {
  Engine& e;
  ShardedOperator A;
  vec::Vector x, w;
  DeviceScalar length, before, scale, product;

  PowerOnDisk(Engine& engine, const NamedLinop& a, const Shape& shape, DType t)
      : e(engine),
        A(ShardedOperator::square(a, shape, e.device)),
        x(e.keep("x", A.in, t)),
        w(e.work("w", A.in, t)),
        length(e.scalars.cell("length")),
        before(e.scalars.cell("before")),
        scale(e.scalars.cell("scale")),
        product(e.scalars.cell("product")) {}

  void measure_of(Recorder& r, const vec::Vector& v) {
    vec::norm2(r, v, e.target(r, length));
    e.scalars.store(length, root(length));
    e.scalars.store(scale, 1.0 / larger(length, e.scalars.constant(tiny)));
  }

  void start(Recorder& r) {
    measure_of(r, x);
    e.scalars.record(r);
    vec::scale(r, e.factor(r, scale), x, x);
  }

  void step(Recorder& r) {
    ScalarProgram& b = e.scalars;
    const DeviceScalar running = b.cell("running"), change = b.cell("change");
    A.record(r, x, w);
    measure_of(r, w);
    b.store(change, magnitude(length - before));
    b.store(e.measure, change * scale);
    b.store(before, length);
    b.store(running, e.status <= 0.0);
    const DeviceScalar code =
        choose(e.measure <= b.cell("rtol"), b.constant(has_converged), change <= b.cell("atol"));
    b.store(e.status, choose(running, code, e.status));
    b.report(e.measure, e.status);
    b.record(r);
    vec::scale(r, e.factor(r, scale), w, w);
    vec::select(r, e.factor(r, running), w, x, x);
  }

  Array eigenvalue() {
    Run& run = e.plan("eigenvalue", [&](Recorder& r) {
      A.record(r, x, w);
      vec::norm2(r, w, e.target(r, length));
      vec::dot(r, x, w, e.target(r, product));
      e.scalars.store(length, root(length));
      e.scalars.store(length, choose(product < 0.0, -length, length));
      e.scalars.record(r);
    });
    e.scalars.upload_new();
    e.run(run);
    e.scalars.fetch();
    const Array value = zeros({}, real_of(x.dtype()), cpu);
    value.fill(Value(e.scalars.value(length)));
    return value;
  }
};

EigenResult power_on_disk(const NamedLinop& A, const Array& like,
                          const PowerMethodSettings& settings, const SolveOptions& options,
                          DType drawn) {
  require<ArgumentError>(!settings.axes,
                         "power_method: with a vector on disk there is one problem; "
                         "leave dim away");
  Engine e({"power_method", like}, A, options, like.dtype());
  PowerOnDisk s(e, A, like.shape(), like.dtype());
  e.outcome(has_converged, true, "eigenvalues changed less than the tolerance");
  e.about("the operator", A, like.shape(), like.dtype(), like.device());
  Run& step = e.plan("step", [&](Recorder& r) { s.step(r); });
  if (!e.resume()) {
    const StoredSolvePtr solve = stored_solve_of(A);
    if (e.x0())
      e.start_at(s.x, s.A.in);
    else
      solve->copy(solve->normal(Random(settings.seed).next_normal(drawn), like.shape(), drawn,
                                like.dtype()),
                  s.x);
    Run& start = e.plan("start", [&](Recorder& r) { s.start(r); });
    e.scalars.upload();
    e.run(start);
    e.scalars.fetch();
    e.begin(1);
  }
  e.set_tolerances();
  EigenResult result;
  static_cast<SolveResult&>(result) = e.iterate([&] { e.run(step); });
  result.eigenvalues = s.eigenvalue();
  return result;
}

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
  const DType drawn = is_inexact(space.dtype) ? space.dtype : DType::f64;
  const bool on_disk = stored_solve_of(A) != nullptr;
  const Array first = options.x0 ? options.x0
                      : on_disk  ? streaming::sketched(space.shape, drawn)
                                 : zeros(space.shape, space.dtype, space.device);
  const Array like = square_right_side("power_method", A, first);
  if (on_disk) return power_on_disk(A, like, settings, options, drawn);
  Axes axes;
  for (i64 a = 0; a < like.ndim(); ++a)
    if (!settings.axes) axes.push_back(a);
  if (settings.axes)
    for (i64 a : *settings.axes) axes.push_back(normalize_axis(a, like.ndim(), "power_method"));
  Engine e({"power_method", like, {}, {axes.begin(), axes.end()}}, A, options, like.dtype());
  Power s(e, A, like.shape(), like.dtype(), axes);
  e.outcome(has_converged, true, "eigenvalues changed less than the tolerance");
  e.about("the operator", A, like.shape(), like.dtype(), like.device());
  e.about("axes", cat(axes));
  Run& step = e.plan("step", [&](Recorder& r) { s.step(r); });
  if (!e.resume()) {
    if (e.x0()) {
      e.start_at(s.x, s.A.in);
    } else {
      Random random(settings.seed);
      e.assign(s.x, s.A.in, s.A.in.normal(random, drawn).astype(like.dtype()));
    }
    Run& start = e.plan("start", [&](Recorder& r) { s.normalise(r, s.x); });
    e.scalars.upload();
    e.run(start);
    e.begin(1);
  }
  e.set_tolerances();
  EigenResult result;
  static_cast<SolveResult&>(result) = e.iterate([&] { e.run(step); });
  result.eigenvalues = without(s.eigenvalues(), axes).copy();
  result.eigenvectors = result.x;
  return result;
}

}  // namespace tessera
