// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operators one after another. Temporaries lie between the parts. Within a chain every name means
// one dim: a name that dies inside and is born again gets the next free name, so that a name on
// both sides of the whole means point by point.
//   NamedLinop A = chain({S, F, D});   // S first; the same as D * F * S

#include <string>
#include <vector>

#include "tessera/linop/core/linop.hpp"

namespace tessera {

struct TESSERA_API Chain {
  std::vector<NamedLinop> operators;  // in order of application
  Dims in, out;                       // with the wildcards that the neighbours settle

  static constexpr const char* kind = "Chain";
  NamedShape shape() const { return {in, out}; }
  auto state() const { return std::tuple(operators, in, out); }
  static Chain from_state(std::vector<NamedLinop> of, Dims in, Dims out) {
    require<IoError>(!of.empty(), "Chain: no operators");
    return {std::move(of), std::move(in), std::move(out)};
  }
  Dims dims() const;
  std::optional<i64> size(NamedDimension d) const;
  std::optional<NamedDimension> same_size(NamedDimension d) const;
  std::optional<Device> device() const;
  Shape output_shape(const Shape& input) const;
  DType output_dtype(DType t) const;
  Device output_device(Device d) const;
  bool is_real_linear() const;
  void apply(Recorder& r, const View& x, const View& y) const;
  bool apply_add(Recorder& r, const View& x, const View& y) const;
  NamedLinop adjoint() const;
  Chain renamed(const Renames& r) const;
  NamedLinop split(const Tile& tile) const;
  std::optional<NamedLinop> opened() const;
  template <class Self, class F>
  static void each_part(Self& self, F&& f) {
    for (auto& a : self.operators) f(a);
  }
};

// Checks the names (DimError names both parts), flattens chains, simplifies (linop/rewrite.hpp) and
// makes the names unique.
TESSERA_API NamedLinop chain(std::vector<NamedLinop> operators);

extern template struct NamedLinop::Model<Chain>;

}  // namespace tessera
