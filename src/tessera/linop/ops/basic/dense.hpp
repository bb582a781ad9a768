// SPDX-License-Identifier: Apache-2.0
#pragma once
// A tensor with names applied to an array with names: products are summed over the dims that the
// output does not have. Dims of weight and both sides are batches, dims of both sides without the
// weight pass through. Lowered to an element-wise product, an inner product or a matrix product,
// without copies when strides allow.
//   Dense(w, dims("MN"), dims("N"), dims("M"))      Dense(maps, dims("CXY"), dims("XY"),
//   dims("CXY"))

#include "tessera/linop/core/linop.hpp"

namespace tessera {

struct TESSERA_API Dense {
  Array weight;
  Dims weightshape;
  NamedShape names;
  Dims broadcast_dims;      // weight axes of size 1 that apply to any size
  bool conjugated = false;  // conj(weight), without a copy

  static constexpr const char* kind = "Dense";
  Dense(Array weight, Dims weightshape, Dims ishape, Dims oshape, Dims broadcast_dims = {},
        bool conjugated = false);
  // Without names: the last axis is summed, the one before it is the output, the rest are batches.
  explicit Dense(Array weight);
  NamedShape shape() const { return names; }
  auto state() const { return std::tuple(weight, weightshape, names, broadcast_dims, conjugated); }
  static Dense from_state(Array w, Dims of_weight, const NamedShape& n, Dims broadcast,
                          bool conjugates) {
    return Dense(std::move(w), std::move(of_weight), n.ishape, n.oshape, std::move(broadcast),
                 conjugates);
  }
  std::optional<i64> size(NamedDimension d) const;
  std::optional<Device> device() const { return weight.device(); }
  DType output_dtype(DType t) const { return promote(t, weight.dtype()); }
  void apply(Recorder& r, const View& x, const View& y) const;
  bool apply_add(Recorder& r, const View& x, const View& y) const;
  bool needs_copies(const Layout& x, const Layout& y) const;
  Dense adjoint() const;
  // sum |w|^2 where the map only spreads its input; the Gram matrix where that is less work.
  std::optional<NamedLinop> normal() const;
  Dense renamed(const Renames& r) const;
  Dense split(const Tile& tile) const;
  std::string details() const;
  NamedWeight named_weight() const { return {weight, weightshape, broadcast_dims, conjugated}; }
  // W^H W, or W^H between W with a weight point by point, as one Dense (batches + new inputs +
  // inputs). No for half precision, which could not hold the sums that W^H (W x) forms in the
  // precision of x, where `between` varies along axes without a name, and where the inputs that are
  // summed are more than twice the outputs.
  std::optional<NamedLinop> gram(const NamedLinop* between) const;
  // A map that spreads its input over new leading dims (coil maps) lets weights of the input's dims
  // pass: there they multiply the smaller array.
  std::optional<NamedLinop> weight_before(const NamedLinop& w) const;
  std::optional<NamedLinop> weight_after(const NamedLinop& w) const;
  Dense opened() const;
  bool ignores_axis(i64 axis) const;
  bool normal_keeps(NamedDimension) const { return false; }
  std::optional<NamedLinop> joined_with(const NamedLinop& next, const Seam& seam) const;
  std::optional<NamedLinop> joined_stack(const std::vector<NamedLinop>& tiles, NamedDimension dim,
                                         const NamedShape& whole) const;
  template <class Self, class F>
  static void each_array(Self& self, F&& f) {
    f(self.weight);
  }

 private:
  bool gram_pays() const;
  bool is_like(const Dense& other) const;
  bool record_product(Recorder& r, const View& x, const View& y, bool adds) const;
  void record_matrices(Recorder& r, const View& w, const View& x, const View& y, bool adds) const;
  struct Matrices;
  Matrices matrices(const Layout& w, const Layout& x, const Layout& y) const;
};

extern template struct NamedLinop::Model<Dense>;

}  // namespace tessera
