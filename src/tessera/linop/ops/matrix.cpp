// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/ops/matrix.hpp"

#include "tessera/linop/ops/dense.hpp"

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

}  // namespace tessera
