// SPDX-License-Identifier: Apache-2.0
#include "tessera/matrix/forms/structure.hpp"

#include "tessera/kernels/linalg/linalg_error.hpp"
#include "tessera/matrix/forms/stored.hpp"

namespace tessera {

Structure structure_of(const AnyMatrix& m) {
  if (m.is(Property::is_zero) || m.scale().as<c128>() == c128(0, 0)) return Structure::zero;
  if (m.form() == Form::identity || m.is(Property::is_identity)) return Structure::identity;
  constexpr std::pair<Property, Structure> order[] = {
      {Property::is_diagonal, Structure::diagonal},
      {Property::is_permutation, Structure::permutation},
      {Property::is_unitary, Structure::unitary},
      {Property::is_upper_triangular, Structure::upper},
      {Property::is_lower_triangular, Structure::lower}};
  for (const auto& [property, structure] : order)
    if (m.is(property)) return structure;
  if (m.form() == Form::symmetric) return Structure::symmetric;
  return m.form() == Form::antisymmetric ? Structure::antisymmetric : Structure::general;
}

void require_square(std::string_view who, const AnyMatrix& m) {
  require<ShapeError>(m.rows() == m.cols(), who, ": expected a square matrix, got ", described(m));
}

void throw_singular(std::string_view who, const AnyMatrix& m, std::string_view why) {
  throw LinAlgError(cat(who, ": Singular matrix: ", described(m), " ", why));
}

Value factor_of_identity(const AnyMatrix& m) {
  return m.form() == Form::identity && !m.is(Property::is_identity) ? m.scale() : Value(1.0);
}

std::vector<std::complex<double>> diagonal_numbers(const AnyMatrix& m) {
  const Array d = diagonal_of(m, DType::c128, m.device()).to(cpu).contiguous();
  const auto* first = reinterpret_cast<const std::complex<double>*>(d.host<c128>());
  return {first, first + d.size()};
}

AnyMatrix unscaled(const AnyMatrix& m, Device where) {
  const Payload& p = m.payload();
  AnyMatrix bare(make_payload(p.form, p.rows, p.cols, p.dtype, m.data(where), p.strict));
  if (m.transposed()) bare = bare.transpose();
  return m.conjugated() ? bare.conj() : bare;
}

Value reciprocal(const Value& v) {
  if (v.kind() != Value::Kind::complex) return Value(1.0 / v.as<double>());
  const c128 z = v.as<c128>();
  return Value(std::complex<double>(1) / std::complex<double>(z.re, z.im));
}

}  // namespace tessera
