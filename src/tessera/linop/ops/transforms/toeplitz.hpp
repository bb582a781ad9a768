// SPDX-License-Identifier: Apache-2.0
#pragma once
// A matrix with constant diagonals, applied along one dim: entry (i, j) is column[i-j] for i >= j,
// else row[j-i]. Small ones are a matrix product, large ones three transforms of an embedding
// circulant matrix; the cost decides, and explain() says so. The first entry of the row is not
// looked at.
//   Toeplitz(column, row, "N", dims("BN"))   // (B, N) -> (B, N1)

#include "tessera/linop/core/linop.hpp"

namespace tessera {

struct TESSERA_API Toeplitz {
  Array generator;  // row backwards, then column: entry (i, j) is generator[i - j + columns - 1]
  i64 rows = 0, columns = 0;
  NamedDimension dim;  // of the input
  NamedShape names;

  static constexpr const char* kind = "Toeplitz";
  // Without a row (an empty handle) the matrix is Hermitian: row = conj(column). An output name
  // that repeats `dim`, or is not given, becomes the next unused name.
  Toeplitz(const Array& column, const Array& row, NamedDimension dim, const Dims& ishape,
           const Dims& oshape = {});
  NamedShape shape() const { return names; }
  auto state() const { return std::tuple(generator, rows, columns, dim, names); }
  static Toeplitz from_state(Array generator, i64 rows, i64 columns, NamedDimension dim,
                             NamedShape names);
  std::optional<i64> size(NamedDimension d) const;
  std::optional<Device> device() const { return generator.device(); }
  DType output_dtype(DType t) const { return promote(t, generator.dtype()); }
  void apply(Recorder& r, const View& x, const View& y) const;
  Toeplitz adjoint() const;
  Toeplitz renamed(const Renames& r) const;
  NamedLinop split(const Tile& tile) const;
  template <class Self, class F>
  static void each_array(Self& self, F&& f) {
    f(self.generator);
  }
  std::string details() const { return cat(rows, " x ", columns, " ", generator.dtype()); }

 private:
  Toeplitz() = default;
};

extern template struct NamedLinop::Model<Toeplitz>;

}  // namespace tessera
