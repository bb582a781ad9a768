// SPDX-License-Identifier: Apache-2.0
#pragma once
// Half a square matrix as an operator: a triangle, or the whole symmetric or antisymmetric matrix
// that the triangle stands for. Applied strip by strip with matrix products on the packed data as
// they are; of the corners on the diagonal a symmetric one makes blocks with both halves when it is
// planned, at most a 32nd of a large matrix. For full matrices see Dense.
//   Packed(Packed::Kind::symmetric, strips, data, dims("N"), dims("M"))

#include "tessera/matrix/forms/strips.hpp"
#include "tessera/matrix/products/panels.hpp"

namespace tessera {

struct TESSERA_API Packed {
  // Of a strict triangle the diagonal is not there: zero, whatever it meets.
  enum class Kind : std::uint8_t { triangular, symmetric, antisymmetric, strictly_triangular };
  friend constexpr Kind last_of(Kind) { return Kind::strictly_triangular; }
  Kind structure;
  Strips strips;  // of the upper triangle; its corners below the diagonal are zero
  Array data;
  MatrixSides sides;
  bool transposed = false, conjugated = false;

  static constexpr const char* kind = "Packed";
  Packed(Kind structure, Strips strips, Array data, const Dims& ishape, const Dims& oshape,
         bool transposed = false, bool conjugated = false);
  NamedShape shape() const { return sides.names; }
  auto state() const {
    return std::tuple(structure, strips.n(), data, sides.names, transposed, conjugated);
  }
  static Packed from_state(Kind structure, i64 n, Array data, const NamedShape& names,
                           bool transposed, bool conjugated);
  std::optional<i64> size(NamedDimension d) const;
  std::optional<Device> device() const { return data.device(); }
  DType output_dtype(DType t) const { return promote(t, data.dtype()); }
  void apply(Recorder& r, const View& x, const View& y) const;
  bool apply_add(Recorder& r, const View& x, const View& y) const;
  Packed adjoint() const;
  Packed opened() const {
    Packed many = *this;
    many.sides = sides.opened();
    return many;
  }
  Packed renamed(const Renames& r) const;
  // On the diagonal a smaller one of these, beside it a Dense, where nothing is a Zero; what
  // reaches over the diagonal of a triangle is a Trapezoid.
  NamedLinop split(const Tile& tile) const;
  std::string details() const;
  template <class Self, class F>
  static void each_array(Self& self, F&& f) {
    f(self.data);
  }

 private:
  bool is_triangle() const {
    return structure == Kind::triangular || structure == Kind::strictly_triangular;
  }
  i64 diagonal() const { return structure == Kind::strictly_triangular ? 1 : 0; }
  void record_products(Recorder& r, const Panels& p, bool adds) const;
  void record_triangle(Recorder& r, const Panels& p, bool adds) const;
  void record_both_halves(Recorder& r, const Panels& p, bool adds) const;
  Array upper(const Cut& rows, const Cut& cols) const;
  Array block(const Cut& rows, const Cut& cols) const;
};

}  // namespace tessera
