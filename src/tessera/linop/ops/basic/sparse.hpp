// SPDX-License-Identifier: Apache-2.0
#pragma once
// A sparse matrix between named dims (batch + input -> batch + output); several dims on a side
// count as one, in row-major order. The transposed structure is made with the operator, so that
// both directions sum each of their outputs in one place, without races. For a full matrix see
// Dense.
//   NamedLinop A = Sparse(csr_from_coo(values, rows, columns, 3, 4), dims("N"), dims("M"));

#include "tessera/kernels/sparse/sparse.hpp"
#include "tessera/linop/core/linop.hpp"

namespace tessera {

struct TESSERA_API Sparse {
  CsrMatrix matrix, turned;  // turned: the transposed one
  Shape input_size, output_size;
  NamedShape names;
  bool conjugated = false;  // conj(values), without a copy

  static constexpr const char* kind = "Sparse";
  // Sizes may be left out where a side has one dim. DimError for names that do not fit or repeat,
  // ShapeError for sizes that are not those of the matrix.
  explicit Sparse(CsrMatrix matrix, const Dims& ishape = {NamedDimension("N")},
                  const Dims& oshape = {NamedDimension("M")}, const Shape& input_size = {},
                  const Shape& output_size = {},
                  const Dims& batch_shape = {NamedDimension::ellipses()});
  NamedShape shape() const { return names; }
  auto state() const {
    return std::tuple(matrix.values, matrix.indices, matrix.starts, input_size, output_size, names,
                      conjugated);
  }
  static Sparse from_state(Array values, const Array& indices, const Array& starts,
                           const Shape& input_size, const Shape& output_size, const NamedShape& n,
                           bool conjugated);
  std::optional<i64> size(NamedDimension d) const;
  std::optional<Device> device() const { return matrix.device(); }
  DType output_dtype(DType t) const;
  void apply(Recorder& r, const View& x, const View& y) const;
  Sparse adjoint() const;
  Sparse renamed(const Renames& r) const;
  Sparse split(const Tile& tile) const;
  std::string details() const;
  template <class Self, class F>
  static void each_array(Self& self, F&& f) {
    for (auto* m : {&self.matrix, &self.turned}) {
      f(m->values);
      f(m->indices);
      f(m->starts);
    }
  }
};

extern template struct NamedLinop::Model<Sparse>;

}  // namespace tessera
