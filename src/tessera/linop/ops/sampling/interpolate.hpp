// SPDX-License-Identifier: Apache-2.0
#pragma once
// Values at points off a grid: each is a weighted sum of the grid points within half a kernel width
// (batch + grid -> batch + points). The adjoint adds points to the grid (gridding). Locations count
// in grid points from 0, or are frequencies; they are checked now, and sorted once, when a plan first
// needs them, on the device where they are then: the array does not change in between. For a Fourier
// transform at such points see NUFFT.
//   NamedLinop A = Interpolate(locs, {64, 48}, dims("C"), dims("RK"), dims("KxKy"),
//                              {.width = {4.0}, .beta = 7.0});

#include <memory>
#include <mutex>

#include "tessera/kernels/interpolate/interpolate.hpp"
#include "tessera/linop/core/linop.hpp"

namespace tessera {

constexpr SpreadKind last_of(SpreadKind) { return SpreadKind::spline; }

struct TESSERA_API Interpolate {
  Array locs;  // as given: (points..., axes)
  NamedShape names;
  Shape grid;
  SpreadKernel kernel;  // with a width for each axis
  Frequencies of;       // what locs count

  static constexpr const char* kind = "Interpolate";
  // Default names: Nx, Ny, Nz for the grid and K, K1, ... for the axes of locs but the last.
  // DimError for names that do not fit or repeat, ArgumentError for a kernel wider than the grid;
  // what checked_points refuses, in the name of `who` where one is given.
  Interpolate(Array locs, const Shape& grid_size,
              const Dims& batch_shape = {NamedDimension::ellipses()},
              const std::optional<Dims>& locs_batch_shape = {},
              const std::optional<Dims>& grid_shape = {}, const SpreadKernel& kernel = {},
              const Frequencies& of = {}, std::string_view who = {});
  NamedShape shape() const { return names; }
  auto state() const {
    const SpreadKernel& k = kernel;
    return std::tuple(locs, grid, names, k.width, k.kind, k.beta, i64{k.norm}, k.circular, k.scale,
                      of.image, of.zero);
  }
  static Interpolate from_state(Array locs, const Shape& grid, const NamedShape& n,
                                SmallVec<double, 3> width, SpreadKind spread, double beta, i64 norm,
                                bool circular, double scale, const Shape& image, const Shape& zero);
  std::optional<i64> size(NamedDimension d) const;
  std::optional<Device> device() const { return locs.device(); }
  DType output_dtype(DType t) const;
  void apply(Recorder& r, const View& x, const View& y) const;
  void apply_adjoint(Recorder& r, const View& y, const View& x) const;
  Interpolate renamed(const Renames& r) const;
  Interpolate split(const Tile& tile) const;  // along dims of the points and batches
  // Sorted at the first call, for all copies of this operator on this device.
  const GridPoints& points() const;
  Array positions() const;  // of the shape of locs, in grid points
  std::string details() const;
  template <class Self, class F>
  static void each_array(Self& self, F&& f) {
    const void* const was = self.locs.storage().data();
    f(self.locs);
    if constexpr (!std::is_const_v<Self>)
      if (self.locs.storage().data() != was) self.sorted_ = std::make_shared<Sorted>();
  }

 private:
  struct Sorted {
    std::mutex mutex;
    std::optional<GridPoints> points;
  };
  std::shared_ptr<Sorted> sorted_;
};

extern template struct NamedLinop::Model<Interpolate>;

}  // namespace tessera
