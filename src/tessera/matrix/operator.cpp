// SPDX-License-Identifier: Apache-2.0
#include "tessera/matrix/operator.hpp"

#include "tessera/linop/ops/dense.hpp"
#include "tessera/linop/ops/matrix.hpp"
#include "tessera/matrix/bit_dense.hpp"
#include "tessera/matrix/diagonal_map.hpp"
#include "tessera/matrix/packed.hpp"

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
    case Form::triangular: return packed(Packed::Kind::triangular);
    case Form::symmetric: return packed(Packed::Kind::symmetric);
    case Form::antisymmetric: return packed(Packed::Kind::antisymmetric);
    default:
      return DiagonalMap(data, m.rows(), m.cols(), ishape, oshape,
                         conj && data && is_complex(data.dtype()));
  }
}

}  // namespace

NamedLinop matrix_operator(const AnyMatrix& m, const Dims& ishape, const Dims& oshape) {
  const NamedLinop a = bare(m, ishape, oshape);
  const c128 scale = m.scale().as<c128>();
  return Matrix(scale == c128(1, 0) ? a : m.scale() * a);
}

}  // namespace tessera
