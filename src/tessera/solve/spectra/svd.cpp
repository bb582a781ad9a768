// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/spectra/svd.hpp"

#include <cmath>

#include "tessera/solve/core/small_dense.hpp"
#include "tessera/solve/spectra/singular_pairs.hpp"

namespace tessera {
namespace {

struct Bidiagonalisation {
  Engine& e;
  const SvdSettings& settings;
  i64 m;
  ShardedOperator A;
  Basis V, U;        // right vectors, one more than left ones unless they fill their space
  Array B, numbers;  // the projected operator U.H A V, and {columns so far, the last measure}
  Run &forward, &backward;
  small::Svd pairs;

  Bidiagonalisation(Engine& engine, const NamedLinop& a, const BothSides& s,
                    const SvdSettings& given, i64 rows)
      : e(engine),
        settings(given),
        m(rows),
        A(a, s.in, s.out, s.device),
        V(engine, "V", rows + (rows < s.in_size ? 1 : 0), A.in, s.in_dtype),
        U(engine, "U", rows, A.out, s.out_dtype),
        forward(e.plan_of("forward", A, s.in_dtype, s.out_dtype)),
        backward(e.plan_of("backward", A, s.out_dtype, s.in_dtype, true)) {
    B = e.keep_host("B", {m, m}, DType::f64);
    numbers = e.keep_host("numbers", {2}, DType::f64, {{m - 1, m}});
    if (V.rows() == m) return;  // the whole space: there is no restart
    V.plan_restart(keep(), m);
    U.plan_restart(keep(), m);
  }

  double& b(i64 i, i64 j) { return B.host<double>()[i * m + j]; }
  double& columns() { return numbers.host<double>()[0]; }
  double& last_measure() { return numbers.host<double>()[1]; }

  // The singular values of the projected operator; true when the wanted ones are good.
  bool look(i64 count, double beyond) {
    std::vector<small::Number> a;
    for (i64 i = 0; i < count; ++i)
      for (i64 j = 0; j < count; ++j) a.emplace_back(b(i, j));
    pairs = small::svd(count, std::move(a));
    const double top = pairs.values.front();
    double worst = 0;
    for (i64 i = 0; i < std::min(settings.k, count); ++i)
      worst = std::max(
          worst, std::abs(beyond * pairs.u[static_cast<std::size_t>((count - 1) * count + i)]));
    last_measure() = worst / (top > 0 ? top : 1);
    return count >= settings.k && worst <= std::max(e.target_of(top), 1e-15 * top);
  }

  // Row i of the factors: the combination that is the i-th left (right) singular vector.
  std::vector<Basis::Number> factors(i64 keep, bool left) const {
    std::vector<Basis::Number> f;
    const i64 n = pairs.n;
    for (i64 i = 0; i < keep; ++i)
      for (i64 row = 0; row < n; ++row)
        f.push_back(left ? pairs.u[static_cast<std::size_t>(row * n + i)]
                         : std::conj(pairs.vh[static_cast<std::size_t>(i * n + row)]));
    return f;
  }

  i64 keep() const { return std::min(settings.k + (m - settings.k) / 2, m - 1); }

  void restart() {
    const i64 keep = this->keep();
    V.restart(keep, m, factors(keep, false));
    U.restart(keep, m, factors(keep, true));
    std::fill(B.host<double>(), B.host<double>() + B.size(), 0.0);
    for (i64 i = 0; i < keep; ++i) b(i, i) = pairs.values[static_cast<std::size_t>(i)];
    columns() = static_cast<double>(keep);
  }

  void step() {
    const auto j = static_cast<i64>(columns());
    const auto seed = settings.seed + 1 + static_cast<std::uint64_t>(e.iteration());
    e.run(forward, V.row(j), U.row(j));
    const Basis::Result& left = U.orthonormalise(j);
    for (i64 i = 0; i < j; ++i) b(i, j) = left.coefficients[static_cast<std::size_t>(i)].real();
    b(j, j) = left.dependent ? 0 : left.length;
    if (left.dependent) U.randomise(j, seed);
    double beyond = 0;
    if (j + 1 < V.rows()) {
      e.run(backward, U.row(j), V.row(j + 1));
      const Basis::Result& right = V.orthonormalise(j + 1);
      beyond = right.dependent ? 0 : right.length;
      if (right.dependent) V.randomise(j + 1, seed);
    }
    const i64 count = j + 1;
    columns() = static_cast<double>(count);
    bool good = false;
    if (count == m) {
      good = look(count, beyond);
      if (V.rows() == m) good = true;  // the whole space
      if (!good) restart();
    }
    e.report(last_measure(), good ? has_converged : still_running);
  }

  SvdResult finish(SolveResult solved, bool turned) {
    const auto count = static_cast<i64>(columns());
    look(count, 0);
    const i64 k = std::min(settings.k, count);
    pairs.values.resize(static_cast<std::size_t>(k));
    const Array left = U.combined(k, count, factors(k, true)),
                right = V.combined(k, count, factors(k, false));
    return svd_result(std::move(solved), turned ? right : left, pairs.values,
                      turned ? left : right);
  }
};

// Of a map to the smaller side, the adjoint is decomposed: its right vectors can fill their space,
// and then every singular value is exact.
BothSides turned_sides(BothSides s) {
  std::swap(s.in, s.out);
  std::swap(s.in_dtype, s.out_dtype);
  std::swap(s.in_size, s.out_size);
  return s;
}

}  // namespace

SvdResult svd(const NamedLinop& A, const Space& space, const SvdSettings& settings,
              const SolveOptions& options) {
  check_options("svd", options);
  const BothSides given = sides_of("svd", A, space, options.x0);
  require<ArgumentError>(settings.k >= 1 && settings.k <= given.rank(), "svd: k = ", settings.k,
                         " singular values of a map from ", given.in, " to ", given.out,
                         "; expected 1 to ", given.rank());
  require<ArgumentError>(settings.ncv == 0 || settings.ncv > settings.k, "svd: ncv ", settings.ncv,
                         " must exceed k = ", settings.k);
  const bool turned = given.out_size < given.in_size;
  const NamedLinop op = turned ? A.H() : A;
  const BothSides sides = turned ? turned_sides(given) : given;
  const i64 ncv = settings.ncv > 0 ? settings.ncv : std::max<i64>(2 * settings.k + 1, 20);
  const i64 rows = std::min(ncv, sides.rank());
  Engine e(sides.key("svd", rows), A, options, sides.in_dtype);
  Bidiagonalisation s(e, op, sides, settings, rows);
  e.outcome(has_converged, true, "residuals of all singular vectors below tolerance");
  e.about("the operator", op, sides.in, sides.in_dtype, sides.device);
  e.about("k, ncv", cat(settings.k, " ", s.m));
  if (!e.resume()) {
    e.scalars.upload();
    if (options.x0) {
      const Array x0 =
          vec::copy_of("svd", "x0", options.x0, given.in, given.in_dtype, given.device);
      e.assign(s.V.row(0), s.A.in, turned ? A(x0) : x0);
      require<ArgumentError>(!s.V.orthonormalise(0).dependent,
                             "svd: x0 is zero, or mapped to zero");
    } else {
      s.V.randomise(0, settings.seed);
    }
    s.last_measure() = 1;
    e.begin(1);
  }
  SolveResult solved = e.iterate_on_host([&] { s.step(); });
  if (s.columns() > 0) return s.finish(std::move(solved), turned);
  SvdResult nothing;
  static_cast<SolveResult&>(nothing) = std::move(solved);
  return nothing;
}

}  // namespace tessera
