// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/ops/basic/matrix.hpp"

#include "tessera/linop/ops/basic/dense.hpp"
#include "tessera/linop/ops/basic/identity.hpp"

namespace tessera {
namespace {

NamedDimension own_dim(std::string_view who, const Dims& side, const Dims& other) {
  NamedDimension found;
  i64 count = 0;
  for (NamedDimension d : side)
    if (!contains(other, d)) {
      found = d;
      ++count;
    }
  require<DimError>(count == 1, who, ": ", to_text(side), " needs one dim that ", to_text(other),
                    " does not have");
  return found;
}

NamedLinop dense_of(const Array& w, const Dims& ishape, const Dims& oshape) {
  const std::string who = cat("Matrix ", NamedShape(ishape, oshape).str());
  require<DimError>(w.ndim() == 2, who, ": the matrix has shape ", w.shape(),
                    ", expected two axes");
  const NamedDimension in = own_dim(who, ishape, oshape), out = own_dim(who, oshape, ishape);
  return Dense(w, {out, in}, ishape, oshape);
}

}  // namespace

Matrix::Matrix(const Array& w, const Dims& ishape, const Dims& oshape)
    : inner(dense_of(w, ishape, oshape)) {}

DType Matrix::output_dtype(DType t) const {
  const DType own = inner.output_dtype(t);
  return is_inexact(own) || own == DType::u64 ? own : DType::i64;
}

// The input in the dtype of the sums, where the operator inside would sum in a shorter one.
View Matrix::widened(Recorder& r, const View& x) const {
  const DType sums = output_dtype(x.dtype);
  if (inner.output_dtype(x.dtype) == sums) return x;
  const View wide = r.temporary(x.shape(), sums, r.device(x));
  record::copy(r, x, wide);
  return wide;
}

// The matrix itself under exchanged names, where that gives the sides of an adjoint: dims that pass
// through may stand in another order behind it.
Matrix Matrix::adjoint() const {
  if (facts.own_adjoint == 0) return Matrix(inner.H(), facts);
  const NamedShape s = shape();
  const NamedDimension in = own_dim(kind, s.ishape, s.oshape),
                       out = own_dim(kind, s.oshape, s.ishape);
  const NamedLinop turned = inner.rename({{in, out}, {out, in}});
  if (turned.shape() != NamedShape(s.oshape, s.ishape)) return Matrix(inner.H(), facts);
  return Matrix(facts.own_adjoint > 0 ? turned : Value(-1) * turned, facts);
}

std::optional<NamedLinop> Matrix::normal() const {
  if (facts.unitary) return Identity(shape().ishape);
  // A normal of its own holds products in the dtype of the matrix, which integers would overflow.
  if (!is_inexact(inner.output_dtype(DType::b1))) return std::nullopt;
  return inner.own_normal();
}

std::string Matrix::details() const {
  std::string text = facts.own_adjoint > 0   ? "its own adjoint"
                     : facts.own_adjoint < 0 ? "minus its own adjoint"
                                             : "";
  if (facts.unitary) text += text.empty() ? "unitary" : ", unitary";
  return text;
}

std::optional<NamedLinop> Matrix::opened() const {
  const std::optional<NamedLinop> open = inner.offers().opened();
  return open ? std::optional<NamedLinop>(Matrix(*open, facts)) : std::nullopt;
}

}  // namespace tessera
