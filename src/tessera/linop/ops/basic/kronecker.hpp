// SPDX-License-Identifier: Apache-2.0
#pragma once
// The Kronecker product of operators: each acts on its own dims, the others pass it by. Input and
// output dims are those of the factors, one after another. The factor that shrinks its input most
// goes first. A factor with "..." in its names, a Dense or a Diagonal takes all the other dims in
// one step; any other factor is recorded once for every position along them.
//   Kronecker({Dense(a, dims("MN"), dims("N"), dims("M")), FFT(1)})   // (N, Nx) -> (M, Kx)

#include "tessera/linop/core/linop.hpp"

namespace tessera {

struct TESSERA_API Kronecker {
  std::vector<NamedLinop> factors;

  static constexpr const char* kind = "Kronecker";
  // DimError when two factors share a name, ArgumentError without factors.
  explicit Kronecker(std::vector<NamedLinop> factors);
  NamedShape shape() const;
  auto state() const { return std::tuple(factors); }
  static Kronecker from_state(std::vector<NamedLinop> of) { return Kronecker(std::move(of)); }
  std::optional<i64> size(NamedDimension d) const;
  std::optional<Device> device() const;
  Shape output_shape(const Shape& input) const;
  DType output_dtype(DType t) const;
  void apply(Recorder& r, const View& x, const View& y) const;
  Kronecker adjoint() const;
  NamedLinop normal() const;
  bool isometry() const;
  Kronecker renamed(const Renames& r) const;
  NamedLinop split(const Tile& tile) const;
  template <class Self, class F>
  static void each_part(Self& self, F&& f) {
    for (auto& a : self.factors) f(a);
  }
};

extern template struct NamedLinop::Model<Kronecker>;

}  // namespace tessera
