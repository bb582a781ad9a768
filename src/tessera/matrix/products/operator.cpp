// SPDX-License-Identifier: Apache-2.0
#include "tessera/matrix/products/operator.hpp"

#include "tessera/linop/ops/basic/dense.hpp"
#include "tessera/linop/ops/basic/matrix.hpp"
#include "tessera/matrix/forms/bit_dense.hpp"
#include "tessera/matrix/forms/packed.hpp"
#include "tessera/matrix/forms/stored.hpp"
#include "tessera/matrix/functions/diagonal_map.hpp"
#include "tessera/matrix/products/trapezoid.hpp"

namespace tessera {
namespace {

// The matrix without its scale.
NamedLinop bare(const AnyMatrix& m, const Dims& ishape, const Dims& oshape) {
  const MatrixSides sides(ishape, oshape);
  const Array data = m.form() == Form::identity ? Array() : m.data(m.device());
  const bool turned = m.transposed(), conj = m.conjugated();
  const auto packed = [&](Packed::Kind kind) {
    return Packed(kind, m.payload().strips(), data, ishape, oshape, turned, conj);
  };
  switch (m.form()) {
    case Form::dense:
      return Dense(turned ? data.transpose() : data, {sides.out, sides.in}, ishape, oshape, {},
                   conj && is_complex(data.dtype()));
    case Form::bit: {
      const Bits bits{data, m.payload().cols};
      return BitDense(turned ? bit_transpose(bits) : bits, ishape, oshape);
    }
    case Form::triangular_bit: {
      if (!turned) return BitDense(m.rows(), data, ishape, oshape);
      return BitDense(m.rows(), data, oshape, ishape).adjoint();
    }
    case Form::triangular:
      return packed(m.payload().strict ? Packed::Kind::strictly_triangular
                                       : Packed::Kind::triangular);
    case Form::symmetric: return packed(Packed::Kind::symmetric);
    case Form::antisymmetric: return packed(Packed::Kind::antisymmetric);
    default:
      return DiagonalMap(data, m.rows(), m.cols(), ishape, oshape,
                         conj && data && is_complex(data.dtype()));
  }
}

// A matrix of the form that was declared, where that says more than its own does: what the product
// with a matrix reads of it (multiply.cpp) is what the operator holds.
AnyMatrix as_declared(const AnyMatrix& m) {
  const auto says = [&](Property p) { return m.properties().is(p); };
  const Device where = m.device();
  if (says(Property::is_zero))
    return AnyMatrix::zeros(Form::diagonal, m.rows(), m.cols(), m.dtype(), where);
  if (says(Property::is_identity)) return AnyMatrix::identity(m.rows(), m.cols(), m.dtype(), where);
  if (m.form() == Form::diagonal || m.form() == Form::identity) return m;
  if (says(Property::is_diagonal))
    return AnyMatrix::diagonal(diagonal_of(m, m.dtype(), where), m.rows(), m.cols());
  const bool lower = says(Property::is_lower_triangular);
  if (has_words(m) || m.form() == Form::triangular ||
      (!lower && !says(Property::is_upper_triangular)))
    return m;
  return AnyMatrix::triangular(m.array({}, where), lower, /*strict=*/false, /*check=*/false);
}

MatrixFacts facts_of(const AnyMatrix& m) {
  const bool real = !is_complex(m.dtype());
  const auto own = [&](Property of_any, Property of_real) {
    return m.is(of_any) || (real && m.is(of_real));
  };
  const int sign = own(Property::is_hermitian, Property::is_symmetric)             ? 1
                   : own(Property::is_skew_hermitian, Property::is_anti_symmetric) ? -1
                                                                                   : 0;
  return {sign, m.is(Property::is_unitary)};
}

}  // namespace

NamedLinop matrix_operator(const AnyMatrix& m, const Dims& ishape, const Dims& oshape) {
  const AnyMatrix held = as_declared(m);
  const NamedLinop a = bare(held, ishape, oshape);
  const bool one = held.scale().as<c128>() == c128(1, 0);
  return Matrix(one ? a : held.scale() * a, facts_of(m));
}

OperatorReaders matrix_readers() {
  return {reader_of<BitDense>(), reader_of<Packed>(), reader_of<Trapezoid>(),
          reader_of<DiagonalMap>()};
}

}  // namespace tessera
