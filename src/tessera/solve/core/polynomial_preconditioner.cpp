// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/core/polynomial_preconditioner.hpp"

#include <cmath>

#include "tessera/linop/ops/basic/identity.hpp"

namespace tessera {
namespace {

using Coefficients = std::vector<double>;  // of 1, x, x^2, …

Coefficients times_linear(const Coefficients& p, double c0, double c1) {
  Coefficients q(p.size() + 1);
  for (std::size_t i = 0; i < p.size(); ++i) {
    q[i] += c0 * p[i];
    q[i + 1] += c1 * p[i];
  }
  return q;
}

void add_scaled(Coefficients& to, double f, const Coefficients& p) {
  if (to.size() < p.size()) to.resize(p.size());
  for (std::size_t i = 0; i < p.size(); ++i) to[i] += f * p[i];
}

double value_at(const Coefficients& p, double x) {
  double v = 0;
  for (std::size_t i = p.size(); i-- > 0;) v = v * x + p[i];
  return v;
}

// (1 - q(x)) / x for q(0) = 1.
Coefficients rest_of(const Coefficients& q) {
  Coefficients p;
  for (std::size_t i = 1; i < q.size(); ++i) p.push_back(-q[i]);
  return p;
}

// The residual polynomial of least maximum is Chebyshev's, scaled to 1 at 0.
Coefficients least_maximum(i64 degree, double a, double b) {
  const double c0 = (b + a) / (b - a), c1 = -2 / (b - a);  // maps [a, b] to [-1, 1]
  Coefficients before{1}, now{c0, c1};
  for (i64 k = 1; k <= degree; ++k) {
    Coefficients next = times_linear(now, 2 * c0, 2 * c1);
    add_scaled(next, -1, before);
    before = std::move(now);
    now = std::move(next);
  }
  const double at_zero = now.front();
  for (double& c : now) c /= at_zero;
  return rest_of(now);
}

// Least squares of 1 - x p(x) in a basis that is well conditioned: x p(x) = sum y_k q_k(x) with
// q_k(x) = x L_k(x), L_k Legendre's polynomials of the interval. Inner products by recurrence:
// x = m + h s with s in [-1, 1], and s L_k = ((k+1) L_{k+1} + k L_{k-1}) / (2k+1).
Coefficients least_squares(i64 degree, double a, double b) {
  const auto n = static_cast<std::size_t>(degree + 1);
  const double middle = (a + b) / 2, half = (b - a) / 2;
  // Row k: x L_k in the orthonormal polynomials; their norms are 1 / sqrt(2k + 1) on [-1, 1].
  auto orthonormal = [](std::size_t k) { return 1 / std::sqrt(2.0 * static_cast<double>(k) + 1); };
  std::vector<std::vector<double>> q(n, std::vector<double>(n + 1));
  for (std::size_t k = 0; k < n; ++k) {
    const auto d = static_cast<double>(k);
    q[k][k] = middle * orthonormal(k);
    q[k][k + 1] = half * (d + 1) / (2 * d + 1) * orthonormal(k + 1);
    if (k > 0) q[k][k - 1] = half * d / (2 * d + 1) * orthonormal(k - 1);
  }
  // Minimise |e_0 - sum y_k q_k|: Gram-Schmidt on the rows, which are nearly orthogonal.
  std::vector<std::vector<double>> r(n, std::vector<double>(n));
  std::vector<double> target(n + 1), g(n), y(n);
  target[0] = 1;
  for (std::size_t k = 0; k < n; ++k) {
    for (int pass = 0; pass < 2; ++pass)
      for (std::size_t j = 0; j < k; ++j) {
        double dot = 0;
        for (std::size_t i = 0; i <= n; ++i) dot += q[j][i] * q[k][i];
        r[j][k] += dot;
        for (std::size_t i = 0; i <= n; ++i) q[k][i] -= dot * q[j][i];
      }
    double length = 0;
    for (double v : q[k]) length += v * v;
    r[k][k] = std::sqrt(length);
    for (double& v : q[k]) v /= r[k][k];
    for (std::size_t i = 0; i <= n; ++i) g[k] += q[k][i] * target[i];
  }
  for (std::size_t k = n; k-- > 0;) {
    y[k] = g[k];
    for (std::size_t j = k + 1; j < n; ++j) y[k] -= r[k][j] * y[j];
    y[k] /= r[k][k];
  }
  Coefficients p, before{}, now{1};
  for (std::size_t k = 0; k < n; ++k) {
    add_scaled(p, y[k], now);
    const auto d = static_cast<double>(k);
    Coefficients next =
        times_linear(now, -middle / half * (2 * d + 1) / (d + 1), (2 * d + 1) / ((d + 1) * half));
    add_scaled(next, -d / (d + 1), before);
    before = std::move(now);
    now = std::move(next);
  }
  return p;
}

Coefficients iterated(i64 degree, double upper) {
  Coefficients q{1};
  for (i64 k = 0; k <= degree; ++k) q = times_linear(q, 1, -1 / upper);
  return rest_of(q);
}

}  // namespace

std::vector<double> polynomial_coefficients(i64 degree, PolynomialNorm norm, double lower_eig,
                                            double upper_eig) {
  require<ArgumentError>(degree >= -1 && degree <= 60, "polynomial_preconditioner: degree ", degree,
                         "; expected -1 to 60");
  require<ArgumentError>(lower_eig >= 0 && upper_eig > lower_eig && std::isfinite(upper_eig),
                         "polynomial_preconditioner: eigenvalues from ", lower_eig, " to ",
                         upper_eig, "; expected 0 <= lower_eig < upper_eig");
  if (degree < 0) return {};
  switch (norm) {
    case PolynomialNorm::l_2: return least_squares(degree, lower_eig, upper_eig);
    case PolynomialNorm::l_inf: return least_maximum(degree, lower_eig, upper_eig);
    default: return iterated(degree, upper_eig);
  }
}

Shape Polynomial::output_shape(const Shape& input) const {
  const Shape out = T.output_shape(input);
  require<ShapeError>(out == input, "Polynomial: ", T, " maps shape ", input, " to ", out,
                      "; it must map a shape to itself");
  return out;
}

// Horner: y = c_d x, then y = T y + c_k x.
void Polynomial::apply(Recorder& r, const View& x_given, const View& y) const {
  const Device device = r.device(y);
  View x = x_given;
  if (x.dtype != y.dtype) {
    x = r.temporary(y.shape(), y.dtype, device);
    record::copy(r, x_given, x);
  }
  const auto d = static_cast<std::ptrdiff_t>(coefficients.size()) - 1;
  View sum = d == 0 ? y : r.temporary(y.shape(), y.dtype, device);
  record::scale(r, coefficients[static_cast<std::size_t>(d)], x, sum);
  for (std::ptrdiff_t k = d - 1; k >= 0; --k) {
    const View image = r.temporary(y.shape(), y.dtype, device);
    const View term = r.temporary(y.shape(), y.dtype, device);
    const View next = k == 0 ? y : r.temporary(y.shape(), y.dtype, device);
    T.record(r, sum, image);
    record::scale(r, coefficients[static_cast<std::size_t>(k)], x, term);
    record::add(r, image, term, next);
    sum = next;
  }
}

NamedLinop Polynomial::split(const Tile& tile) const {
  for (const Cut& c : tile.cuts)
    require<SplitError>(contains(T.ishape(), c.dim) && contains(T.oshape(), c.dim),
                        "Polynomial: ", T, " mixes what lies along dim '", c.dim,
                        "'; it cannot be cut there");
  return Polynomial{T.split(tile), coefficients};
}

std::string Polynomial::details() const {
  std::string text = "coefficients";
  for (double c : coefficients) text += cat(" ", c);
  return text;
}

NamedLinop polynomial_preconditioner(const NamedLinop& T, i64 degree, PolynomialNorm norm,
                                     double lower_eig, double upper_eig) {
  std::vector<double> c = polynomial_coefficients(degree, norm, lower_eig, upper_eig);
  if (c.empty()) return Identity(T.ishape());
  // Zeros of p are right where l_inf touches them (lower_eig = 0); negative values are rounding
  // errors of a degree that is too high.
  for (int i = 0; i <= 200; ++i) {
    const double x = lower_eig + (upper_eig - lower_eig) * (i + 0.5) / 201;
    require<ArgumentError>(value_at(c, x) > -1e-8 * c.front(), "polynomial_preconditioner: degree ",
                           degree, " on [", lower_eig, ", ", upper_eig,
                           "] is not positive in double precision; take a smaller degree");
  }
  return Polynomial{T, std::move(c)};
}

OperatorReaders solve_readers() { return {reader_of<Polynomial>()}; }

}  // namespace tessera
