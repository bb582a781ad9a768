// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/spectra/eigs.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/solve/core/many_vectors.hpp"
#include "tessera/solve/spectra/krylov.hpp"
#include "tessera/solve/spectra/small_spectra.hpp"

namespace tessera {
namespace {

using Number = std::complex<double>;

// Vectors of the basis whose images are in it, and after them those whose images are not yet.
struct Sizes {
  i64 m, ahead;
};

// The band Arnoldi method of A. Ruhe: of the first j + ahead vectors of the basis j have their
// images in its span. The images of the next `ahead` are formed at once, then each is made
// orthogonal to all before it.
struct KrylovSchur {
  Engine& e;
  ShardedOperator A;
  std::optional<NamedLinop> many;  // A on several vectors at once, where it can be
  const EigsSettings& settings;
  i64 n, m, ahead;  // numbers of a vector
  bool real;
  Basis V;
  Array H, numbers;         // A V = V H (m+ahead x m, row-major); {columns so far, last measure}
  std::vector<Run*> apply;  // to so many vectors
  small::General pairs;
  std::vector<i64> wanted;

  KrylovSchur(Engine& engine, const NamedLinop& a, const EigsSettings& s, const Array& like,
              Sizes sizes)
      : e(engine),
        A(ShardedOperator::square(a, like.shape(), engine.device)),
        settings(s),
        n(A.in.size()),
        m(sizes.m),
        ahead(sizes.ahead),
        real(!is_complex(like.dtype())),
        V(engine, "V", m + ahead, A.in, like.dtype()),
        apply(static_cast<std::size_t>(ahead + 1)) {
    H = e.keep_host("H", {m + ahead, m}, DType::c128);
    numbers = e.keep_host("numbers", {2}, DType::f64, {{m - 1, m}});
    apply[1] = &e.plan_of("apply", A, V.dtype(), V.dtype());
    if (ahead > 1 && !A.in.distribution() && !A.in.ranks()) many = over_many(a, like.shape());
  }

  // Rows [to, to + count) := A times rows [from, from + count).
  void apply_to(i64 from, i64 to, i64 count) {
    if (count > 1 && many) {
      Run*& at_once = apply[static_cast<std::size_t>(count)];
      if (!at_once)
        at_once = &e.plan_of(cat("apply to ", count),
                             ShardedOperator::square(*many, A.in.stacked(count).shape(), e.device),
                             V.dtype(), V.dtype());
      e.run(*at_once, V.some_rows(from, count), V.some_rows(to, count));
      return;
    }
    for (i64 i = 0; i < count; ++i) e.run(*apply[1], V.row(from + i), V.row(to + i));
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

  // Row i of what the image of the first `count` vectors, combined by y, has outside of their span.
  Number outside(i64 count, i64 i, const Number* y) {
    Number sum = 0;
    for (i64 j = 0; j < count; ++j) sum += Number(h(count + i, j).re, h(count + i, j).im) * y[j];
    return sum;
  }
  double outside(i64 count, const Number* y) {  // its length
    double square = 0;
    for (i64 i = 0; i < ahead; ++i) square += std::norm(outside(count, i, y));
    return std::sqrt(square);
  }

  // Eigenvalues of the projected operator; true when the wanted ones are good.
  bool look(i64 count) {
    pairs = small::eigen_general(count, projected(count), real);
    wanted = order_of(pairs.values);
    double top = 0, worst = 0;
    for (const Number& x : pairs.values) top = std::max(top, std::abs(x));
    bool good = count >= settings.k;
    for (i64 i = 0; i < std::min(settings.k, count); ++i) {
      const i64 at = wanted[static_cast<std::size_t>(i)];
      const double residual = outside(count, &pairs.vectors[static_cast<std::size_t>(at * count)]);
      const double value = std::abs(pairs.values[static_cast<std::size_t>(at)]);
      worst = std::max(worst, residual);
      good = good && residual <= std::max(e.target_of(value), 1e-15 * top);
    }
    last_measure() = worst / (top > 0 ? top : 1);
    return good;
  }

  // Keeps the Schur vectors of the best values and the vectors ahead.
  void restart() {
    small::Schur s = small::schur(m, projected(m), real);
    i64 keep = std::min(settings.k + (m - settings.k) / 2, m - 2);
    keep = m - std::max<i64>((m - keep) / ahead, 1) * ahead;  // whole blocks follow
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
    std::vector<Number> below;  // of the kept columns, row by row of the vectors ahead
    for (i64 i = 0; i < ahead; ++i)
      for (i64 j = 0; j < keep; ++j)
        below.push_back(outside(m, i, &s.z[static_cast<std::size_t>(j * m)]));
    std::fill(H.host<c128>(), H.host<c128>() + H.size(), c128(0, 0));
    for (i64 j = 0; j < keep; ++j) {
      for (i64 i = 0; i < keep; ++i) h(i, j) = c128(s.t[static_cast<std::size_t>(j * m + i)]);
      for (i64 i = 0; i < ahead; ++i)
        h(keep + i, j) = c128(below[static_cast<std::size_t>(i * keep + j)]);
    }
    columns() = static_cast<double>(keep);
  }

  // Row `to`, the image of row j, becomes the next vector of the basis.
  void append(i64 j, i64 to) {
    const Basis::Result& r = V.orthonormalise(to);
    for (i64 i = 0; i < to; ++i) h(i, j) = c128(r.coefficients[static_cast<std::size_t>(i)]);
    if (to == n) return;  // the basis spans all there is: what is left is rounding errors
    if (!r.dependent)
      h(to, j) = c128(r.length, 0);
    else  // the space is invariant: go on outside of it
      V.randomise(to, settings.seed + 1 + static_cast<std::uint64_t>(e.iteration()));
  }

  void step() {
    const auto j = static_cast<i64>(columns());
    const i64 count = std::min(ahead, m - j);
    apply_to(j, j + ahead, count);
    for (i64 i = 0; i < count; ++i) append(j + i, j + ahead + i);
    columns() = static_cast<double>(j + count);
    bool good = false;
    if (j + count == m) {
      good = look(m);
      if (!good) restart();
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
    if (count == 0) return;  // no column to look at, whatever was iterated before
    look(count);
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

// A basis that would be as large as the space takes all of it: it holds every eigenvalue as often
// as it is one, whatever it begins with.
Sizes sizes_of(const EigsSettings& s, i64 n) {
  require<ArgumentError>(s.k >= 1 && s.k <= n, "eigs: k = ", s.k, " eigenvalues of an operator on ",
                         n, " numbers; expected 1 to ", n);
  require<ArgumentError>(s.block >= 1, "eigs: block ", s.block, "; expected one vector or more");
  const i64 block = std::min(s.block, n + 1);  // so that sums of sizes can be counted
  require<ArgumentError>(s.ncv == 0 || s.ncv > s.k + block, "eigs: ncv ", s.ncv,
                         " must exceed k + block = ", s.k + block);
  if (block > n || s.ncv > n) return {n, 1};
  const i64 usual = std::max<i64>(2 * s.k + 1, 20) + 4 * (s.block - 1),
            m = s.ncv > 0 ? s.ncv : std::max(usual, s.k + s.block + 1);
  return m + s.block > n ? Sizes{n, 1} : Sizes{m, s.block};
}

}  // namespace

EigenResult eigs(const NamedLinop& A, const Space& space, const EigsSettings& settings,
                 const SolveOptions& options) {
  const Array like = krylov_space("eigs", A, space, options);
  const Sizes sizes = sizes_of(settings, like.size());
  Engine e({"eigs", like, {}, {static_cast<double>(sizes.m), static_cast<double>(sizes.ahead)}}, A,
           options, like.dtype());
  KrylovSchur s(e, A, settings, like, sizes);
  return krylov_search(e, s.V, s.A.in, s.last_measure(),
                       {"eigs", A, like,
                        fact_of("k, which, ncv, block, seed",
                                cat(settings.k, " ", static_cast<int>(settings.which), " ", sizes.m,
                                    " ", sizes.ahead, " ", settings.seed)),
                        sizes.ahead, settings.seed, [&] { s.step(); },
                        [&](EigenResult& r) { s.finish(r, complex_of(like.dtype())); }});
}

}  // namespace tessera
