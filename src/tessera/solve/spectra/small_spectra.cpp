// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/spectra/small_spectra.hpp"

#define LAPACK_COMPLEX_CUSTOM
#define lapack_complex_float std::complex<float>
#define lapack_complex_double std::complex<double>
#include <lapacke.h>

#include "tessera/base/error.hpp"

namespace tessera::small {
namespace {

constexpr int columns = LAPACK_COL_MAJOR;

std::vector<double> real_parts(const std::vector<Number>& v) {
  std::vector<double> r;
  r.reserve(v.size());
  for (const Number& x : v) r.push_back(x.real());
  return r;
}

std::vector<Number> numbers(const std::vector<double>& re) { return {re.begin(), re.end()}; }
std::vector<Number> numbers(const std::vector<double>& re, const std::vector<double>& im) {
  std::vector<Number> v(re.size());
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = {re[i], im[i]};
  return v;
}

void require_done(lapack_int info, const char* what, i64 n) {
  require<BackendError>(info == 0, "LAPACK ", what, " of a ", n, " x ", n, " matrix: info ",
                        i64{info}, "; the numbers are not finite, or it did not converge");
}

// Two real columns are the parts of a pair of vectors.
std::vector<Number> unpacked(i64 n, const std::vector<Number>& values,
                             const std::vector<double>& v) {
  const auto size = static_cast<std::size_t>(n);
  std::vector<Number> out(size * size);
  for (std::size_t j = 0; j < size; ++j) {
    const bool pair = values[j].imag() != 0;
    for (std::size_t i = 0; i < size; ++i) {
      const Number x(v[j * size + i], pair ? v[(j + 1) * size + i] : 0);
      out[j * size + i] = x;
      if (pair) out[(j + 1) * size + i] = std::conj(x);
    }
    if (pair) ++j;
  }
  return out;
}

}  // namespace

// Not balanced: entries of a projected operator that should be zero are rounding errors, which
// balancing would make as large as the others.
General eigen_general(i64 n, const std::vector<Number>& h, bool real) {
  General g;
  const auto size = static_cast<std::size_t>(n);
  const auto m = static_cast<lapack_int>(n);
  lapack_int low = 0, high = 0;
  double norm = 0;
  std::vector<double> scale(size), value_condition(size), vector_condition(size);
  if (real) {
    std::vector<double> a = real_parts(h), re(size), im(size), v(a.size());
    double none = 0;
    require_done(LAPACKE_dgeevx(columns, 'N', 'N', 'V', 'N', m, a.data(), m, re.data(), im.data(),
                                &none, 1, v.data(), m, &low, &high, scale.data(), &norm,
                                value_condition.data(), vector_condition.data()),
                 "dgeevx", n);
    g.values = numbers(re, im);
    g.vectors = unpacked(n, g.values, v);
    return g;
  }
  std::vector<Number> a = h;
  g.values.resize(size);
  g.vectors.resize(h.size());
  Number none;
  require_done(LAPACKE_zgeevx(columns, 'N', 'N', 'V', 'N', m, a.data(), m, g.values.data(), &none,
                              1, g.vectors.data(), m, &low, &high, scale.data(), &norm,
                              value_condition.data(), vector_condition.data()),
               "zgeevx", n);
  return g;
}

Schur schur(i64 n, const std::vector<Number>& h, bool real) {
  Schur s;
  const auto size = static_cast<std::size_t>(n);
  const auto m = static_cast<lapack_int>(n);
  lapack_int chosen = 0;
  if (real) {
    std::vector<double> t = real_parts(h), re(size), im(size), z(t.size());
    require_done(LAPACKE_dgees(columns, 'V', 'N', nullptr, m, t.data(), m, &chosen, re.data(),
                               im.data(), z.data(), m),
                 "dgees", n);
    s.values = numbers(re, im);
    s.t = numbers(t);
    s.z = numbers(z);
    return s;
  }
  s.t = h;
  s.values.resize(size);
  s.z.resize(h.size());
  require_done(LAPACKE_zgees(columns, 'V', 'N', nullptr, m, s.t.data(), m, &chosen, s.values.data(),
                             s.z.data(), m),
               "zgees", n);
  return s;
}

void reorder(i64 n, Schur& s, const std::vector<int>& select, bool real) {
  const std::vector<lapack_logical> wanted(select.begin(), select.end());
  const auto m = static_cast<lapack_int>(n);
  lapack_int chosen = 0;
  double condition = 0, separation = 0;
  if (real) {
    std::vector<double> t = real_parts(s.t), z = real_parts(s.z), re(s.values.size()),
                        im(s.values.size()), work(s.values.size() + 1);
    lapack_int whole = 0;  // the simple call passes none, and dtrsen writes to it
    require_done(LAPACKE_dtrsen_work(columns, 'N', 'V', wanted.data(), m, t.data(), m, z.data(), m,
                                     re.data(), im.data(), &chosen, &condition, &separation,
                                     work.data(), m, &whole, 1),
                 "dtrsen", n);
    s.values = numbers(re, im);
    s.t = numbers(t);
    s.z = numbers(z);
    return;
  }
  Number work;
  require_done(LAPACKE_ztrsen_work(columns, 'N', 'V', wanted.data(), m, s.t.data(), m, s.z.data(),
                                   m, s.values.data(), &chosen, &condition, &separation, &work, 1),
               "ztrsen", n);
}

}  // namespace tessera::small
