// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/spectra/lanczos.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/solve/core/small_dense.hpp"
#include "tessera/solve/spectra/krylov.hpp"

namespace tessera {
namespace {

constexpr i64 looks = 8;  // steps between two looks at the eigenvalues inside a cycle

struct Lanczos {
  Engine& e;
  ShardedOperator A;
  const LanczosSettings& settings;
  i64 n, m;
  Basis V;
  Array T, numbers;   // the projected operator (m+1 x m+1); {columns so far, kept at the restart}
  vec::Vector image;  // of the last vector of a basis that is the whole space
  Run *apply, *product = nullptr;
  small::Eigen eigen;
  std::vector<i64> wanted;

  Lanczos(Engine& engine, const NamedLinop& a, const LanczosSettings& s, const Shape& shape,
          DType t, i64 size, i64 rows)
      : e(engine),
        A(ShardedOperator::square(a, shape, engine.device)),
        settings(s),
        n(size),
        m(rows),
        V(engine, "V", rows < size ? rows + 1 : rows, A.in, t) {
    T = e.keep_host("T", {m + 1, m + 1}, DType::f64);
    numbers = e.keep_host("numbers", {3}, DType::f64, {{m - 1, m}, {m - 1, m - 1}});
    apply = &e.plan_of("apply", A, t, t);
    if (m < n) {
      V.plan_restart(keep(), m);
      return;
    }
    image = e.work("image", A.in, t);
    product = &e.plan("product", [&](Recorder& r) {
      vec::dot(r, V.row(m - 1), image, e.target(r, e.scalars.cell("last alpha")));
    });
  }

  double& t(i64 i, i64 j) { return T.host<double>()[i * (m + 1) + j]; }
  double& columns() { return numbers.host<double>()[0]; }
  double& kept() { return numbers.host<double>()[1]; }
  double& last_measure() { return numbers.host<double>()[2]; }

  // Positions of the k wanted of `count` ascending values.
  std::vector<i64> choose(i64 count) const {
    std::vector<i64> order(static_cast<std::size_t>(count));
    std::iota(order.begin(), order.end(), 0);
    const auto& v = eigen.values;
    auto value = [&](i64 i) { return v[static_cast<std::size_t>(i)]; };
    switch (settings.which) {
      case Which::magnitude:
        std::stable_sort(order.begin(), order.end(),
                         [&](i64 a, i64 b) { return std::abs(value(a)) > std::abs(value(b)); });
        break;
      case Which::largest: std::reverse(order.begin(), order.end()); break;
      case Which::smallest: break;
      case Which::both_ends:
        std::stable_sort(order.begin(), order.end(), [&](i64 a, i64 b) {
          return std::min(a, count - 1 - a) < std::min(b, count - 1 - b);
        });
        break;
    }
    return order;
  }

  // Eigenvalues of the projected operator of `count` columns; true when the wanted ones are good.
  bool look(i64 count, double beyond) {
    std::vector<double> a(static_cast<std::size_t>(count * count));
    for (i64 i = 0; i < count; ++i)
      for (i64 j = 0; j < count; ++j) a[static_cast<std::size_t>(i * count + j)] = t(i, j);
    eigen = small::eigen_symmetric(count, std::move(a));
    wanted = choose(count);
    const double top = std::max(std::abs(eigen.values.front()), std::abs(eigen.values.back()));
    double worst = 0;
    bool good = count >= settings.k;
    for (i64 i = 0; i < std::min(settings.k, count); ++i) {
      const i64 at = wanted[static_cast<std::size_t>(i)];
      const double residual = std::abs(beyond * eigen.vector(count - 1, at));
      const double value = std::abs(eigen.values[static_cast<std::size_t>(at)]);
      worst = std::max(worst, residual);
      good = good && residual <= std::max(e.target_of(value), 1e-15 * top);
    }
    last_measure() = worst / (top > 0 ? top : 1);
    return good;
  }

  i64 keep() const { return std::min(settings.k + (m - settings.k) / 2, m - 1); }

  // Keeps the best Ritz vectors and the vector after the last.
  void restart() {
    const i64 keep = this->keep();
    std::vector<Basis::Number> factors;
    for (i64 i = 0; i < keep; ++i)
      for (i64 row = 0; row < m; ++row)
        factors.emplace_back(eigen.vector(row, wanted[static_cast<std::size_t>(i)]));
    V.restart(keep, m, factors);
    std::fill(T.host<double>(), T.host<double>() + T.size(), 0.0);
    for (i64 i = 0; i < keep; ++i)
      t(i, i) = eigen.values[static_cast<std::size_t>(wanted[static_cast<std::size_t>(i)])];
    columns() = kept() = static_cast<double>(keep);
  }

  void step() {
    const auto j = static_cast<i64>(columns());
    double beyond = 0;
    if (j + 1 < V.rows()) {
      e.run(*apply, V.row(j), V.row(j + 1));
      // After a restart, all kept vectors are neighbours of the new one.
      const bool all = settings.reorthogonalise || j == static_cast<i64>(kept());
      const Basis::Result h =
          V.orthonormalise(j + 1, all ? 0 : std::max<i64>(j - 1, 0), settings.reorthogonalise);
      for (i64 i = 0; i <= j; ++i)
        t(i, j) = t(j, i) = h.coefficients[static_cast<std::size_t>(i)].real();
      if (!h.dependent) {
        beyond = h.length;
        t(j + 1, j) = t(j, j + 1) = h.length;
      } else {  // the space is invariant: go on in the rest, which it does not touch
        V.randomise(j + 1, settings.seed + 1 + static_cast<std::uint64_t>(e.iteration()));
      }
    } else {  // the basis is the whole space
      e.run(*apply, V.row(j), image);
      e.run(*product);
      e.scalars.fetch();
      t(j, j) = e.scalars.value(e.scalars.cell("last alpha"));
    }
    const i64 count = j + 1;
    columns() = static_cast<double>(count);
    bool good = false;
    if (count == m || (count >= settings.k && count % looks == 0)) good = look(count, beyond);
    if (count == m && m == n) good = true;
    if (!good && count == m) restart();
    e.report(last_measure(), good ? has_converged : still_running);
  }

  void finish(EigenResult& result, DType real) {
    const auto count = static_cast<i64>(columns());
    if (count == 0) return;  // no column to look at, whatever was iterated before
    look(count, 0);
    const i64 k = std::min(settings.k, count);
    std::vector<i64> order(wanted.begin(), wanted.begin() + k);
    std::sort(order.begin(), order.end());
    std::vector<Basis::Number> factors;
    result.eigenvalues = vec::zeros({k}, DType::f64, cpu);
    for (i64 i = 0; i < k; ++i) {
      const i64 at = order[static_cast<std::size_t>(i)];
      result.eigenvalues.host<double>()[i] = eigen.values[static_cast<std::size_t>(at)];
      for (i64 row = 0; row < count; ++row) factors.emplace_back(eigen.vector(row, at));
    }
    result.eigenvalues = result.eigenvalues.astype(real).to(e.device);
    set_vectors(result, V.combined(k, count, factors));
  }
};

}  // namespace

EigenResult lanczos(const NamedLinop& A, const Space& space, const LanczosSettings& settings,
                    const SolveOptions& options) {
  const Array like = krylov_space("lanczos", A, space, options);
  const i64 n = ShardedOperator::square(A, like.shape(), like.device()).in.size();
  require<ArgumentError>(settings.k >= 1 && settings.k <= n, "lanczos: k = ", settings.k,
                         " eigenvalues of an operator on ", n, " numbers; expected 1 to ", n);
  require<ArgumentError>(settings.ncv == 0 || settings.ncv > settings.k, "lanczos: ncv ",
                         settings.ncv, " must exceed k = ", settings.k);
  const i64 given = settings.ncv > 0 ? settings.ncv : std::max<i64>(2 * settings.k + 1, 20),
            ncv = std::min(given, n);
  Engine e({"lanczos", like, {}, {static_cast<double>(ncv)}}, A, options, like.dtype());
  Lanczos s(e, A, settings, like.shape(), like.dtype(), n, ncv);
  return krylov_search(
      e, s.V, s.A.in, s.last_measure(),
      {"lanczos", A, like,
       fact_of("k, which, ncv", cat(settings.k, " ", static_cast<int>(settings.which), " ", ncv)),
       1, settings.seed, [&] { s.step(); },
       [&](EigenResult& r) { s.finish(r, real_of(like.dtype())); }});
}

}  // namespace tessera
