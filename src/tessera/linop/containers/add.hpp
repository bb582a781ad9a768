// SPDX-License-Identifier: Apache-2.0
#pragma once
// The sum of its parts: same input, same output.
//   NamedLinop A = B + C;   NamedLinop A = sum({B, C, D});

#include <vector>

#include "tessera/linop/containers/placed_parts.hpp"
#include "tessera/linop/core/linop.hpp"

namespace tessera {

struct TESSERA_API Add {
  std::vector<NamedLinop> operators;

  static constexpr const char* kind = "Add";
  NamedShape shape() const;
  auto state() const { return std::tuple(operators); }
  static Add from_state(std::vector<NamedLinop> of) {
    require<IoError>(!of.empty(), "Add: no operators");
    return {std::move(of)};
  }
  std::optional<i64> size(NamedDimension d) const;
  std::optional<NamedDimension> same_size(NamedDimension d) const;
  std::optional<Device> device() const;
  Shape output_shape(const Shape& input) const;
  DType output_dtype(DType t) const;
  Device output_device(Device d) const { return operators.front().output_device(d); }
  bool is_real_linear() const;
  void apply(Recorder& r, const View& x, const View& y) const;
  bool apply_add(Recorder& r, const View& x, const View& y) const;
  std::vector<PlacedPart> placed(const View& x, const View& y) const;
  NamedLinop adjoint() const;
  Add renamed(const Renames& r) const;
  NamedLinop split(const Tile& tile) const;
  template <class Self, class F>
  static void each_part(Self& self, F&& f) {
    for (auto& a : self.operators) f(a);
  }
};

// DimError when the names of two parts do not fit. Sums inside are merged into one.
TESSERA_API NamedLinop sum(std::vector<NamedLinop> operators);

extern template struct NamedLinop::Model<Add>;

}  // namespace tessera
