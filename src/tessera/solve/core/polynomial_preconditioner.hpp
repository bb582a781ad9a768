// SPDX-License-Identifier: Apache-2.0
#pragma once
// A polynomial of a Hermitian operator that comes near its inverse on [lower_eig, upper_eig]: a
// preconditioner that needs nothing but applications of T. The coefficients are those of 1, x, x^2…
//   NamedLinop M = polynomial_preconditioner(A.N(), 3, PolynomialNorm::l_inf, 0.05, 1);

#include <vector>

#include "tessera/linop/core/state.hpp"

namespace tessera {

// What of 1 - x p(x) is made small: the integral of its square, its largest value, or it is
// (1 - x / upper_eig)^(degree + 1), as in iterations of (F)ISTA.
enum class PolynomialNorm : std::uint8_t { l_2, l_inf, ifista };

TESSERA_API std::vector<double> polynomial_coefficients(i64 degree, PolynomialNorm norm,
                                                        double lower_eig = 0, double upper_eig = 1);

// sum c_k T^k. Its adjoint is the polynomial of T.H: the coefficients are real.
struct TESSERA_API Polynomial {
  NamedLinop T;
  std::vector<double> coefficients;

  static constexpr const char* kind = "Polynomial";
  NamedShape shape() const { return T.shape(); }
  auto state() const { return std::tuple(T, coefficients); }
  static Polynomial from_state(NamedLinop T, std::vector<double> coefficients) {
    return {std::move(T), std::move(coefficients)};
  }
  std::optional<i64> size(NamedDimension d) const { return T.size(d); }
  std::optional<Device> device() const { return T.device(); }
  Shape output_shape(const Shape& input) const;
  DType output_dtype(DType t) const { return T.output_dtype(t); }
  void apply(Recorder& r, const View& x, const View& y) const;
  NamedLinop adjoint() const { return Polynomial{T.H(), coefficients}; }
  NamedLinop split(const Tile& tile) const;  // along dims where T acts point by point
  Polynomial renamed(const Renames& names) const { return {T.rename(names), coefficients}; }
  template <class Self, class F>
  static void each_part(Self& self, F&& f) {
    f(self.T);
  }
  std::string details() const;
};

// Degree -1 gives the identity.
TESSERA_API NamedLinop polynomial_preconditioner(const NamedLinop& T, i64 degree,
                                                 PolynomialNorm norm = PolynomialNorm::l_2,
                                                 double lower_eig = 0, double upper_eig = 1);

// What a description (linop/state.hpp) may hold of this layer.
TESSERA_API OperatorReaders solve_readers();

}  // namespace tessera
