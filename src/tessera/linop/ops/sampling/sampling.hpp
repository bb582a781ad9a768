// SPDX-License-Identifier: Apache-2.0
#pragma once
// Picks points of a grid by their indices (batch + grid -> batch + points); the adjoint adds them
// back. Indices are checked and turned into positions once, when the operator is made; its normal
// counts how often each grid point is taken. Points off the grid: Interpolate.
//   NamedLinop A = Sampling({rows, columns}, {64, 48}, dims("K"), dims("KxKy"));
//   Sampling::from_mask(mask, {}, dims("K"), dims("KxKy"))

#include "tessera/linop/core/linop.hpp"

namespace tessera {

struct TESSERA_API Sampling {
  Array positions;   // int64, row-major in the grid; one axis per output dim
  Shape input_size;  // of the grid
  NamedShape names;

  static constexpr const char* kind = "Sampling";
  // One integer array per axis of the grid, broadcast to one shape. Default names: Nx, Ny, Nz and
  // K, K1, ... ArgumentError for an index outside [0, size), DimError for names that do not fit.
  Sampling(const std::vector<Array>& idx, const Shape& input_size,
           const std::optional<Dims>& output_shape = {},
           const std::optional<Dims>& input_shape = {},
           const Dims& batch_shape = {NamedDimension::ellipses()});
  // Where a bool array of the grid's shape is true, in row-major order.
  static Sampling from_mask(const Array& mask, const std::optional<Shape>& input_size = {},
                            const std::optional<Dims>& output_shape = {},
                            const std::optional<Dims>& input_shape = {},
                            const Dims& batch_shape = {NamedDimension::ellipses()});
  // Indices of shape (points..., axes).
  static Sampling from_stacked_idx(const Array& idx, const Shape& input_size,
                                   const std::optional<Dims>& output_shape = {},
                                   const std::optional<Dims>& input_shape = {},
                                   const Dims& batch_shape = {NamedDimension::ellipses()});
  static Sampling from_positions(const Array& positions, const Shape& input_size,
                                 const std::optional<Dims>& output_shape = {},
                                 const std::optional<Dims>& input_shape = {},
                                 const Dims& batch_shape = {NamedDimension::ellipses()});
  Array locs() const;  // int64 (points..., axes): the indices again
  NamedShape shape() const { return names; }
  auto state() const { return std::tuple(positions, input_size, names); }
  static Sampling from_state(const Array& positions, const Shape& input_size, const NamedShape& n);
  std::optional<i64> size(NamedDimension d) const;
  std::optional<Device> device() const { return positions.device(); }
  void apply(Recorder& r, const View& x, const View& y) const;
  void apply_adjoint(Recorder& r, const View& y, const View& x) const;
  NamedLinop normal() const;  // a diagonal of counts
  bool isometry() const { return false; }
  Sampling renamed(const Renames& r) const;
  Sampling split(const Tile& tile) const;  // along dims of the points and batches
  std::string details() const;
  template <class Self, class F>
  static void each_array(Self& self, F&& f) {
    f(self.positions);
  }

 private:
  Sampling() = default;
};

extern template struct NamedLinop::Model<Sampling>;

}  // namespace tessera
