// SPDX-License-Identifier: Apache-2.0
#pragma once
// A diagonal matrix, or a part of one, between two dims: some entries of the input, each times a
// number, become entries of the output; the rest of the output is zero. For a weight on a dim that
// stays what it is see Diagonal.
//   DiagonalMap(values, 5, 3, dims("N"), dims("M"))      DiagonalMap({}, 4, 4, ...)   // identity

#include "tessera/matrix/products/panels.hpp"

namespace tessera {

struct TESSERA_API DiagonalMap {
  Array values;  // (length); without one: ones
  i64 rows, cols, length;
  i64 row = 0, col = 0;  // where the diagonal begins
  MatrixSides sides;
  bool conjugated = false;

  static constexpr const char* kind = "DiagonalMap";
  // `values`: min(rows, cols) numbers, or none. ShapeError for another number of them.
  DiagonalMap(Array values, i64 rows, i64 cols, const Dims& ishape, const Dims& oshape,
              bool conjugated = false);
  NamedShape shape() const { return sides.names; }
  auto state() const {
    return std::tuple(values, rows, cols, length, row, col, sides.names, conjugated);
  }
  static DiagonalMap from_state(Array values, i64 rows, i64 cols, i64 length, i64 row, i64 col,
                                const NamedShape& names, bool conjugated);
  std::optional<i64> size(NamedDimension d) const;
  std::optional<Device> device() const;
  DType output_dtype(DType t) const { return values ? promote(t, values.dtype()) : t; }
  void apply(Recorder& r, const View& x, const View& y) const;
  bool apply_add(Recorder& r, const View& x, const View& y) const;
  DiagonalMap adjoint() const;
  std::optional<NamedLinop> normal() const;  // |values|², and zero where an input does not count
  bool isometry() const { return !values && length == cols; }
  DiagonalMap opened() const {
    DiagonalMap many = *this;
    many.sides = sides.opened();
    return many;
  }
  DiagonalMap renamed(const Renames& r) const;
  DiagonalMap split(const Tile& tile) const;
  std::string details() const;
  template <class Self, class F>
  static void each_array(Self& self, F&& f) {
    if (self.values) f(self.values);
  }
};

}  // namespace tessera
