// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/eigs.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/solve/krylov.hpp"
#include "tessera/solve/small_spectra.hpp"

namespace tessera {
namespace {

using Number = std::complex<double>;

struct KrylovSchur {
  Engine& e;
  Shards A;
  const EigsSettings& settings;
  i64 n, m;  // numbers of a vector, vectors of the basis
  bool real;
  Basis V;
  Array H, numbers;  // A V = V H (m+1 x m, row-major); {columns so far, last measure}
  std::optional<Run> apply;
  small::General pairs;
  std::vector<i64> wanted;

  KrylovSchur(Engine& engine, const NamedLinop& a, const EigsSettings& s, const Shape& shape,
              DType t, i64 rows)
      : e(engine),
        A(Shards::square(a, shape, engine.device)),
        settings(s),
        n(A.in.size()),
        m(rows),
        real(!is_complex(t)),
        V(engine, "V", rows + 1, A.in, t) {
    H = e.keep_host("H", {m + 1, m}, DType::c128);
    numbers = e.keep_host("numbers", {2}, DType::f64);
    apply = e.plan_of(A, t, t);
  }

  c128& h(i64 i, i64 j) { return H.host<c128>()[i * m + j]; }
  double& columns() { return numbers.host<double>()[0]; }
  double& last_measure() { return numbers.host<double>()[1]; }

  // The smaller, the more wanted.
  double rank_of(const Number& x) const {
    switch (settings.which) {
      case Spectrum::largest_magnitude: return -std::abs(x);
      case Spectrum::smallest_magnitude: return std::abs(x);
      case Spectrum::largest_real: return -x.real();
      case Spectrum::smallest_real: return x.real();
      case Spectrum::largest_imaginary: return real ? -std::abs(x.imag()) : -x.imag();
      default: return real ? std::abs(x.imag()) : x.imag();
    }
  }

  std::vector<i64> order_of(const std::vector<Number>& values) const {
    std::vector<i64> order(values.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](i64 a, i64 b) {
      return rank_of(values[static_cast<std::size_t>(a)]) <
             rank_of(values[static_cast<std::size_t>(b)]);
    });
    return order;
  }

  std::vector<Number> projected(i64 count) {  // column-major
    std::vector<Number> a(static_cast<std::size_t>(count * count));
    for (i64 i = 0; i < count; ++i)
      for (i64 j = 0; j < count; ++j)
        a[static_cast<std::size_t>(j * count + i)] = {h(i, j).re, h(i, j).im};
    return a;
  }

  // Eigenvalues of the projected operator; true when the wanted ones are good.
  bool look(i64 count, double beyond) {
    pairs = small::eigen_general(count, projected(count), real);
    wanted = order_of(pairs.values);
    double top = 0, worst = 0;
    for (const Number& x : pairs.values) top = std::max(top, std::abs(x));
    bool good = count >= settings.k;
    for (i64 i = 0; i < std::min(settings.k, count); ++i) {
      const i64 at = wanted[static_cast<std::size_t>(i)];
      const double residual =
          std::abs(beyond * pairs.vectors[static_cast<std::size_t>(at * count + count - 1)]);
      const double value = std::abs(pairs.values[static_cast<std::size_t>(at)]);
      worst = std::max(worst, residual);
      good = good && residual <= std::max(e.target_of(value), 1e-15 * top);
    }
    last_measure() = worst / (top > 0 ? top : 1);
    return good;
  }

  // Keeps the Schur vectors of the best values and the vector after the last.
  void restart(double beyond) {
    small::Schur s = small::schur(m, projected(m), real);
    i64 keep = std::min(settings.k + (m - settings.k) / 2, m - 2);
    const std::vector<i64> order = order_of(s.values);
    std::vector<int> select(static_cast<std::size_t>(m), 0);
    for (i64 i = 0; i < keep; ++i)
      select[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])] = 1;
    for (std::size_t i = 0; real && i + 1 < select.size(); ++i) {
      if (s.values[i].imag() == 0) continue;
      if (select[i] != select[i + 1]) select[i] = select[i + 1] = 1;
      ++i;
    }
    keep = std::accumulate(select.begin(), select.end(), i64{0});
    small::reorder(m, s, select, real);
    std::vector<Number> factors;
    for (i64 i = 0; i < keep; ++i)
      for (i64 row = 0; row < m; ++row)
        factors.push_back(s.z[static_cast<std::size_t>(i * m + row)]);
    V.restart(keep, m, factors);
    std::fill(H.host<c128>(), H.host<c128>() + H.size(), c128(0, 0));
    for (i64 j = 0; j < keep; ++j) {
      for (i64 i = 0; i < keep; ++i) h(i, j) = c128(s.t[static_cast<std::size_t>(j * m + i)]);
      h(keep, j) = c128(beyond * s.z[static_cast<std::size_t>(j * m + m - 1)]);
    }
    columns() = static_cast<double>(keep);
  }

  void step() {
    const auto j = static_cast<i64>(columns());
    e.run(*apply, V.row(j), V.row(j + 1));
    const Basis::Result r = V.orthonormalise(j + 1);
    for (i64 i = 0; i <= j; ++i) h(i, j) = c128(r.coefficients[static_cast<std::size_t>(i)]);
    double beyond = 0;
    const bool whole = j + 1 == n;  // the basis spans all there is: what is left is rounding errors
    if (!r.dependent && !whole) {
      beyond = r.length;
      h(j + 1, j) = c128(beyond, 0);
    } else if (!whole) {  // the space is invariant: go on outside of it
      V.randomise(j + 1, settings.seed + 1 + static_cast<std::uint64_t>(e.iteration()));
    }
    const i64 count = j + 1;
    columns() = static_cast<double>(count);
    bool good = false;
    if (count == m) {
      good = look(count, beyond);
      if (!good) restart(beyond);
    }
    e.report(last_measure(), good ? has_converged : still_running);
  }

  // factors times the basis, with complex factors of a real basis in two parts.
  Array combined(i64 k, i64 count, const std::vector<Number>& factors, DType complex) const {
    if (!real) return V.combined(k, count, factors);
    std::vector<Number> re, im;
    for (const Number& x : factors) {
      re.emplace_back(x.real());
      im.emplace_back(x.imag());
    }
    const Array a = V.combined(k, count, re), b = V.combined(k, count, im);
    const Array out = zeros(a.shape(), complex, a.device());
    out.real().copy_from(a);
    out.imag().copy_from(b);
    return out;
  }

  void finish(EigenResult& result, DType complex) {
    const auto count = static_cast<i64>(columns());
    look(count, 0);
    const i64 k = std::min(settings.k, count);
    std::vector<Number> factors;
    Array values = empty_dense({k}, DType::c128);
    for (i64 i = 0; i < k; ++i) {
      const i64 at = wanted[static_cast<std::size_t>(i)];
      values.host<c128>()[i] = c128(pairs.values[static_cast<std::size_t>(at)]);
      for (i64 row = 0; row < count; ++row)
        factors.push_back(pairs.vectors[static_cast<std::size_t>(at * count + row)]);
    }
    result.eigenvalues = values.astype(complex).to(e.device);
    set_vectors(result, combined(k, count, factors, complex));
  }
};

}  // namespace

EigenResult eigs(const NamedLinop& A, const Space& space, const EigsSettings& settings,
                 const SolveOptions& options) {
  const Array like = krylov_space("eigs", A, space, options);
  const i64 n = like.size();
  require<ArgumentError>(settings.k >= 1 && settings.k <= n - 2, "eigs: k = ", settings.k,
                         " eigenvalues of an operator on ", n, " numbers; expected 1 to ", n - 2,
                         " (linalg::eig finds all)");
  require<ArgumentError>(settings.ncv == 0 || settings.ncv > settings.k + 1, "eigs: ncv ",
                         settings.ncv, " must exceed k + 1 = ", settings.k + 1);
  const i64 given = settings.ncv > 0 ? settings.ncv : std::max<i64>(2 * settings.k + 1, 20),
            ncv = std::min(given, n);
  Engine e("eigs", options, like.device(), like.dtype());
  KrylovSchur s(e, A, settings, like.shape(), like.dtype(), ncv);
  return krylov_search(
      e, s.V, s.A.in, s.last_measure(),
      {"eigs", A, like, cat(settings.k, " ", static_cast<int>(settings.which), " ", ncv),
       settings.seed, [&] { s.step(); },
       [&](EigenResult& r) { s.finish(r, complex_of(like.dtype())); }});
}

}  // namespace tessera
