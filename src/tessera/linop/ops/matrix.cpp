// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/ops/matrix.hpp"

#include "tessera/linop/ops/dense.hpp"
#include "tessera/linop/ops/identity.hpp"

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
  return facts.unitary ? std::optional<NamedLinop>(Identity(shape().ishape)) : inner.own_normal();
}

std::string Matrix::details() const {
  std::string text = facts.own_adjoint > 0   ? "its own adjoint"
                     : facts.own_adjoint < 0 ? "minus its own adjoint"
                                             : "";
  if (facts.unitary) text += text.empty() ? "unitary" : ", unitary";
  return text;
}

}  // namespace tessera
