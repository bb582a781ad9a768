// SPDX-License-Identifier: Apache-2.0
#pragma once
// A block of a triangle that the diagonal crosses, as an operator: what lies on the other side of
// it is not read, and zero whatever it meets. Where all of it is read see Dense.
//   Trapezoid(block, Trapezoid::Stored::upper, -3, dims("N"), dims("M"))

#include "tessera/kernels/matmul/matmul.hpp"
#include "tessera/matrix/products/panels.hpp"

namespace tessera {

// y = sign a b, or y += sign a b, of panels; of a only what is stored.
struct StoredProduct {
  bool conj_a = false;
  double sign = 1;
  bool adds = false;
  MatmulSpec::Stored stored = MatmulSpec::Stored::all;
  i64 diagonal = 0;
};
void record_product(Recorder& r, const View& a, const View& b, const View& y,
                    const StoredProduct& p);

struct TESSERA_API Trapezoid {
  using Stored = MatmulSpec::Stored;
  Array block;  // (rows, columns)
  Stored stored;
  i64 diagonal;  // column - row of the first (upper) or last (lower) element of a row
  MatrixSides sides;
  bool conjugated = false;

  static constexpr const char* kind = "Trapezoid";
  Trapezoid(Array block, Stored stored, i64 diagonal, const Dims& ishape, const Dims& oshape,
            bool conjugated = false);
  NamedShape shape() const { return sides.names; }
  auto state() const {
    return std::tuple(block, stored == Stored::upper, diagonal, sides.names, conjugated);
  }
  static Trapezoid from_state(Array block, bool upper, i64 diagonal, const NamedShape& names,
                              bool conjugated);
  std::optional<i64> size(NamedDimension d) const;
  std::optional<Device> device() const { return block.device(); }
  DType output_dtype(DType t) const { return promote(t, block.dtype()); }
  void apply(Recorder& r, const View& x, const View& y) const;
  bool apply_add(Recorder& r, const View& x, const View& y) const;
  Trapezoid adjoint() const;
  Trapezoid renamed(const Renames& r) const;
  NamedLinop split(const Tile& tile) const;
  std::string details() const;
  template <class Self, class F>
  static void each_array(Self& self, F&& f) {
    f(self.block);
  }

 private:
  void record(Recorder& r, const Panels& p, bool adds) const;
};

// One side of a diagonal.
struct StoredPart {
  MatmulSpec::Stored side;
  i64 diagonal;
  // Of a block of so many rows and columns: whether nothing, or everything, is stored.
  bool is_empty(i64 rows, i64 columns) const;
  bool is_all(i64 rows, i64 columns) const;
};
// A block of which a part is stored: a Zero, a Dense or, where the diagonal crosses it, a
// Trapezoid.
NamedLinop stored_block(const Array& block, const StoredPart& part, const MatrixSides& sides,
                        bool conjugated);

}  // namespace tessera
