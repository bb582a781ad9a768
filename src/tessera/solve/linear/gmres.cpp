// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/linear/gmres.hpp"

#include <cmath>
#include <limits>

#include "tessera/solve/core/basis.hpp"
#include "tessera/solve/core/small_dense.hpp"

namespace tessera {
namespace {

using Number = std::complex<double>;
constexpr int breaks_down = 2;

struct Gmres {
  Engine& e;
  SquareShards shards;
  const ShardedOperator& A;
  const std::optional<ShardedOperator>& M;
  i64 m;
  vec::Vector b, x, t, z;
  Basis V;
  // On the host, kept: the triangular factor (column j of row i at i * m + j), the rotations, the
  // rotated right side, and {columns so far, target, |b|}.
  Array R, cosines, sines, g, numbers;
  Array y, host_y;
  DeviceScalar r2;
  Run *apply = nullptr, *apply_preconditioner = nullptr, *begin_cycle = nullptr,
      *begin_from_zero = nullptr, *add_combination = nullptr;

  Gmres(Engine& engine, const NamedLinop& a, const GmresSettings& s, const Array& right)
      : e(engine),
        shards(a, s.preconditioner, right.shape(), right.device()),
        A(shards.a),
        M(shards.other),
        m(std::max<i64>(1, std::min(s.restart, A.in.size()))),
        b(e.given("b", A.in, right)),
        V(engine, "V", m + 1, A.in, right.dtype()) {
    x = e.keep("x", A.in, b.dtype());
    t = e.work("t", A.in, b.dtype());
    z = e.work("z", A.in, b.dtype());
    R = e.keep_host("R", {m + 1, m}, DType::c128);
    cosines = e.keep_host("cosines", {m}, DType::f64);
    sines = e.keep_host("sines", {m}, DType::c128);
    g = e.keep_host("g", {m + 1}, DType::c128);
    numbers = e.keep_host("numbers", {3}, DType::f64, {{m, m}});
    y = V.weights();
    host_y = vec::zeros({1, m + 1}, b.dtype(), cpu);
    r2 = e.scalars.cell("r2");
  }

  static Number* data(const Array& a) { return static_cast<Number*>(a.host_data()); }
  Number& r(i64 i, i64 j) { return data(R)[i * m + j]; }
  double& columns() { return numbers.host<double>()[0]; }
  double& target() { return numbers.host<double>()[1]; }
  double& b_norm() { return numbers.host<double>()[2]; }

  void normalise(Recorder& rec) {
    const DeviceScalar scale = e.scalars.cell("1/r");
    vec::norm2(rec, V.row(0), e.target(rec, r2));
    e.scalars.store(scale, inverse(root(r2)));
    e.scalars.record(rec);
    vec::scale(rec, e.factor(rec, scale), V.row(0), V.row(0));
  }

  void record() {
    if (!A.in.stored()) apply = &e.plan_of("apply", A, b.dtype(), b.dtype());
    if (M && apply) apply_preconditioner = &e.plan_of("precondition", *M, b.dtype(), b.dtype());
    begin_cycle = &e.plan("begin", [&](Recorder& rec) {
      A.record(rec, x, t);
      vec::subtract(rec, b, t, V.row(0));
      normalise(rec);
    });
    begin_from_zero = &e.plan("begin from zero", [&](Recorder& rec) {
      vec::copy(rec, b, V.row(0));
      normalise(rec);
    });
    add_combination = &e.plan("finish", [&](Recorder& rec) {
      V.record_combination(rec, y, z);
      if (M) {
        M->record(rec, z, t);
        vec::add(rec, x, t, x);
      } else {
        vec::add(rec, x, z, x);
      }
    });
  }

  // Row j + 1 = A M row j. Over vectors on disk a plan is recorded for each row.
  void apply_to(i64 j) {
    const vec::Vector &from = V.row(j), &to = V.row(j + 1);
    if (apply) {
      if (M) e.run(*apply_preconditioner, from, t);
      return e.run(*apply, M ? t : from, to);
    }
    e.run(e.plan(cat("apply to row ", j), [&](Recorder& rec) {
      if (M) M->record(rec, from, t);
      A.record(rec, M ? t : from, to);
    }));
  }

  // The residual of x is the first vector of the basis; returns its length.
  double start_cycle(bool from_zero = false) {
    e.run(from_zero ? *begin_from_zero : *begin_cycle);
    e.scalars.fetch();
    const double norm = std::sqrt(e.scalars.value(r2));
    for (const Array& a : {R, g}) std::fill(data(a), data(a) + a.size(), Number(0));
    data(g)[0] = norm;
    columns() = 0;
    return norm;
  }

  double norm_of_b() {
    const DeviceScalar b2 = e.scalars.cell("b2");
    e.run(e.plan("norm of b", [&](Recorder& rec) { vec::norm2(rec, b, e.target(rec, b2)); }));
    e.scalars.fetch();
    return std::sqrt(e.scalars.value(b2));
  }

  // x += M V y for the columns so far.
  void finish_cycle() {
    const auto n = static_cast<i64>(columns());
    if (n == 0) return;
    std::vector<Number> weights = small::solve_upper(n, data(R), m, data(g));
    weights.resize(static_cast<std::size_t>(m + 1));
    store_numbers(host_y, weights);
    const Stream stream = Stream::home(e.device);
    stream.copy(y.data(), e.device, host_y.data(), cpu, y.bytes());
    e.run(*add_combination);
    stream.sync();  // host_y may change after this
    columns() = 0;
  }

  // Applies the old rotations to column j and makes the new one; returns the residual.
  double rotate(i64 j, const Basis::Result& h) {
    for (i64 i = 0; i <= j; ++i) r(i, j) = h.coefficients[static_cast<std::size_t>(i)];
    for (i64 i = 0; i < j; ++i) {
      const double c = cosines.host<double>()[i];
      const Number s = data(sines)[i], upper = r(i, j), lower = r(i + 1, j);
      r(i, j) = c * upper + s * lower;
      r(i + 1, j) = -std::conj(s) * upper + c * lower;
    }
    const double epsilon = real_of(b.dtype()) == DType::f32 ? 0x1p-20 : 0x1p-49;
    if (h.dependent && std::abs(r(j, j)) <= epsilon * h.before) {
      // A maps the space into less than itself: this column helps nothing.
      r(j, j) = 0;
      return std::abs(data(g)[j]);
    }
    const Number a = r(j, j);
    const double below = h.dependent ? 0 : h.length, size = std::hypot(std::abs(a), below);
    const Number phase = std::abs(a) > 0 ? a / std::abs(a) : Number(1);
    const double c = size > 0 ? std::abs(a) / size : 1;
    const Number s = size > 0 ? phase * (below / size) : Number(0);
    cosines.host<double>()[j] = c;
    data(sines)[j] = s;
    r(j, j) = c * a + s * below;
    data(g)[j + 1] = -std::conj(s) * data(g)[j];
    data(g)[j] *= c;
    return std::abs(data(g)[j + 1]);
  }

  void step() {
    if (columns() == static_cast<double>(m)) {
      finish_cycle();
      start_cycle();
    }
    const auto j = static_cast<i64>(columns());
    apply_to(j);
    const Basis::Result& h = V.orthonormalise(j + 1);
    if (!std::isfinite(h.length))  // the column is left out of x
      return e.report(std::numeric_limits<double>::quiet_NaN(), numbers_not_finite);
    const double residual = rotate(j, h);
    columns() = static_cast<double>(j + 1);
    int code = residual <= target() ? has_converged : still_running;
    if (code == still_running && h.dependent) code = breaks_down;
    e.report(residual / (b_norm() > 0 ? b_norm() : 1), code);
  }
};

}  // namespace

SolveResult gmres(const NamedLinop& A, const Array& b, const SolveOptions& options,
                  const GmresSettings& settings) {
  check_options("gmres", options);
  require<ArgumentError>(settings.restart > 0, "gmres: restart ", settings.restart,
                         "; expected 1 or more");
  const Array right = square_right_side("gmres", A, b);
  Engine e({"gmres", right, settings.preconditioner, {static_cast<double>(settings.restart)}}, A,
           options, right.dtype());
  Gmres s(e, A, settings, right);
  e.outcome(breaks_down, false, "breakdown: A is singular on the Krylov space of b");
  e.about("the operator", A, right.shape(), right.dtype(), right.device());
  e.about("b", right);
  e.about("restart", cat(s.m));
  if (settings.preconditioner)
    e.about("the preconditioner", *settings.preconditioner, right.shape(), right.dtype(),
            right.device());
  s.record();
  if (!e.resume()) {
    e.start_at(s.x, s.A.in);
    e.scalars.upload();
    const double first = s.start_cycle(!e.x0());
    s.b_norm() = s.norm_of_b();
    const double scale = s.b_norm() > 0 ? s.b_norm() : 1;
    e.begin(first / scale, first <= e.target_of(s.b_norm()) ? has_converged : still_running);
  }
  s.target() = e.target_of(s.b_norm());
  SolveResult result = e.iterate_on_host([&] { s.step(); });
  s.finish_cycle();
  result.x = e.answer();
  return result;
}

}  // namespace tessera
