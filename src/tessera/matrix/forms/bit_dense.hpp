// SPDX-License-Identifier: Apache-2.0
#pragma once
// A matrix of bits as an operator: each output is the sum of the inputs whose bit is set. The words
// are used as they lie; of a strictly triangular matrix only the strips of its half are kept.
// Integers are summed in int64. The adjoint holds the transposed words, made when it is asked for.
//   BitDense(bit_pack(x), dims("N"), dims("M"))

#include "tessera/kernels/bitmatmul/bitmatmul.hpp"
#include "tessera/matrix/products/panels.hpp"

namespace tessera {

struct TESSERA_API BitDense {
  enum class Half : std::uint8_t { none, upper, lower };
  friend constexpr Half last_of(Half) { return Half::lower; }
  Half half;
  i64 rows, cols;
  Array words;  // uint64 (rows, words of a row); of halves: strips, one after another
  MatrixSides sides;

  static constexpr const char* kind = "BitDense";
  BitDense(const Bits& bits, const Dims& ishape, const Dims& oshape);
  // The upper half in strips (matrix/strips.hpp) of a strictly upper n x n matrix.
  BitDense(i64 n, Array strips, const Dims& ishape, const Dims& oshape);
  NamedShape shape() const { return sides.names; }
  auto state() const { return std::tuple(half, rows, cols, words, sides.names); }
  static BitDense from_state(Half half, i64 rows, i64 cols, const Array& words,
                             const NamedShape& names);
  std::optional<i64> size(NamedDimension d) const;
  std::optional<Device> device() const { return words.device(); }
  DType output_dtype(DType t) const;
  void apply(Recorder& r, const View& x, const View& y) const;
  BitDense adjoint() const;
  BitDense opened() const {
    BitDense many = *this;
    many.sides = sides.opened();
    return many;
  }
  BitDense renamed(const Renames& r) const;
  NamedLinop split(const Tile& tile) const;
  std::string details() const;
  template <class Self, class F>
  static void each_array(Self& self, F&& f) {
    f(self.words);
  }

 private:
  // Rows [top, bottom) and columns [left, right) of the matrix, of which the words hold a rectangle
  // of `width` words a row.
  struct Piece {
    i64 top, bottom, left, right, offset, width;
  };
  static std::vector<Piece> pieces(Half half, i64 rows, i64 cols);
  Array words_of(const Piece& p) const;
  Bits whole() const;  // all rows and columns as full words
  void keep(const Bits& whole);
};

}  // namespace tessera
