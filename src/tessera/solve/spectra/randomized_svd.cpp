// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/spectra/randomized_svd.hpp"

#include <cmath>

#include "tessera/solve/core/small_dense.hpp"
#include "tessera/solve/spectra/singular_pairs.hpp"

namespace tessera {
namespace {

struct Sketch {
  Engine& e;
  const RandomizedSvdSettings& settings;
  i64 m;
  ShardedOperator A;
  Basis P, Q;       // orthonormal rows on the input's and the output's side
  Array R, values;  // A.H q_j = sum_i R[i, j] p_i, and the singular values of the last pass
  Run &forward, &backward;
  small::Svd pairs;

  Sketch(Engine& engine, const NamedLinop& a, const BothSides& s, const RandomizedSvdSettings& g,
         i64 rows)
      : e(engine),
        settings(g),
        m(rows),
        A(a, s.in, s.out, s.device),
        P(engine, "P", rows, A.in, s.in_dtype),
        Q(engine, "Q", rows, A.out, s.out_dtype),
        forward(e.plan_of("forward", A, s.in_dtype, s.out_dtype)),
        backward(e.plan_of("backward", A, s.out_dtype, s.in_dtype, true)) {
    R = e.keep_host("R", {m, m}, DType::c128);
    values = e.keep_host("values", {m}, DType::f64);
  }

  // The rows of a basis made orthonormal in turn; their coefficients go to R when asked for.
  void orthonormalise(Basis& basis, bool keep) {
    auto* r = static_cast<small::Number*>(R.host_data());
    if (keep) std::fill(r, r + R.size(), small::Number(0));
    for (i64 j = 0; j < m; ++j) {
      const Basis::Result& h = basis.orthonormalise(j);
      if (keep) {
        for (i64 i = 0; i < j; ++i) r[i * m + j] = h.coefficients[static_cast<std::size_t>(i)];
        r[j * m + j] = h.dependent ? 0 : h.length;
      }
      if (h.dependent)
        basis.randomise(j, settings.seed + 1 + static_cast<std::uint64_t>(e.iteration()));
    }
  }

  // Q.H A = R.H P.H: its small factor.
  void decompose() {
    const auto* r = static_cast<const small::Number*>(R.host_data());
    std::vector<small::Number> adjoint(static_cast<std::size_t>(m * m));
    for (i64 i = 0; i < m; ++i)
      for (i64 j = 0; j < m; ++j)
        adjoint[static_cast<std::size_t>(j * m + i)] = std::conj(r[i * m + j]);
    pairs = small::svd(m, std::move(adjoint));
  }

  void step() {
    for (i64 j = 0; j < m; ++j) e.run(forward, P.row(j), Q.row(j));
    orthonormalise(Q, false);
    for (i64 j = 0; j < m; ++j) e.run(backward, Q.row(j), P.row(j));
    orthonormalise(P, true);
    decompose();
    auto* before = values.host<double>();
    double change = 0;
    for (i64 i = 0; i < m; ++i) {
      const double now = pairs.values[static_cast<std::size_t>(i)];
      if (i < settings.k) change = std::max(change, std::abs(now - before[i]));
      before[i] = now;
    }
    const double top = pairs.values.front();
    e.report(change / (top > 0 ? top : 1),
             change <= e.target_of(top) ? has_converged : still_running);
  }

  SvdResult finish(SolveResult solved) {
    decompose();
    std::vector<Basis::Number> left, right;
    for (i64 i = 0; i < settings.k; ++i)
      for (i64 row = 0; row < m; ++row) {
        left.push_back(pairs.u[static_cast<std::size_t>(row * m + i)]);
        right.push_back(std::conj(pairs.vh[static_cast<std::size_t>(i * m + row)]));
      }
    pairs.values.resize(static_cast<std::size_t>(settings.k));
    return svd_result(std::move(solved), Q.combined(settings.k, m, left), pairs.values,
                      P.combined(settings.k, m, right));
  }
};

}  // namespace

SvdResult randomized_svd(const NamedLinop& A, const Space& space,
                         const RandomizedSvdSettings& settings, const SolveOptions& options) {
  check_options("randomized_svd", options);
  require<ArgumentError>(options.maxiter >= 1, "randomized_svd: maxiter ", options.maxiter,
                         "; expected one pass or more");
  const BothSides sides = sides_of("randomized_svd", A, space, options.x0);
  require<ArgumentError>(settings.k >= 1 && settings.k <= sides.rank() && settings.oversample >= 0,
                         "randomized_svd: k = ", settings.k, " and oversample ",
                         settings.oversample, " for a map from ", sides.in, " to ", sides.out,
                         "; expected k from 1 to ", sides.rank(), " and oversample of 0 or more");
  const i64 rows = settings.k + std::min(settings.oversample, sides.rank() - settings.k);
  Engine e(sides.key("randomized_svd", rows), A, options, sides.in_dtype);
  Sketch s(e, A, sides, settings, rows);
  e.outcome(has_converged, true, "singular values changed less than the tolerance");
  e.about("the operator", A, sides.in, sides.in_dtype, sides.device);
  e.about("k, oversample, seed", cat(settings.k, " ", s.m, " ", settings.seed));
  if (!e.resume()) {
    s.P.randomise_all(settings.seed);
    e.begin(1);
  }
  SolveResult solved = e.iterate_on_host([&] { s.step(); });
  return s.finish(std::move(solved));
}

}  // namespace tessera
