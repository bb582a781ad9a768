// SPDX-License-Identifier: Apache-2.0
#pragma once
// Multiplication by an array, point by point. The weight is aligned to the right of the dims; axes
// of size 1 and dims named in broadcast_dims apply to any size. Neighbouring diagonals of a chain
// become one with several factors; their product is formed when a plan is made, in the precision of
// the data.
//   NamedLinop D = Diagonal(w, dims("CNxNy"), dims("C"));   // w of shape (1, nx, ny) or (nx, ny)

#include "tessera/linop/core/dim_sizes.hpp"
#include "tessera/linop/core/linop.hpp"

namespace tessera {

struct TESSERA_API Diagonal {
  struct Factor {
    Array weight;
    bool conjugated = false;  // conj(weight), without a copy
    bool squared = false;     // |weight|^2
    bool follows = false;     // takes the precision of the data, as a number would
    auto state() const { return std::tuple(weight, conjugated, squared, follows); }
    static Factor from_state(Array w, bool conj, bool square, bool follow) {
      return {std::move(w), conj, square, follow};
    }
  };
  std::vector<Factor> factors;
  Value scale{1.0};
  NamedShape names;
  Dims broadcast_dims;

  static constexpr const char* kind = "Diagonal";
  // DimError when the weight has more axes than there are dims, or reaches a "..." that is not the
  // first of them.
  explicit Diagonal(Array weight, Dims ioshape = {NamedDimension::ellipses()},
                    Dims broadcast_dims = {});
  // A weight whose axes are named: dims of ioshape that it does not have are broadcast, with the
  // sizes given for them. Nothing is copied. DimError for a dim that ioshape does not have.
  static Diagonal from_weight(const Array& weight, const Dims& weight_shape, Dims ioshape,
                              const DimSizes& sizes = {});
  NamedShape shape() const { return names; }
  auto state() const { return std::tuple(factors, scale, names.ishape, broadcast_dims); }
  static Diagonal from_state(std::vector<Factor> f, Value s, const Dims& ioshape,
                             const Dims& broadcast);
  Shape weight_shape() const;  // of the product
  std::optional<i64> size(NamedDimension d) const;
  std::optional<Device> device() const { return factors.front().weight.device(); }
  Shape output_shape(const Shape& input) const;
  DType output_dtype(DType t) const;
  void apply(Recorder& r, const View& x, const View& y) const;
  bool apply_add(Recorder& r, const View& x, const View& y) const;
  Diagonal adjoint() const;
  NamedLinop normal() const;
  Diagonal renamed(const Renames& r) const;
  Diagonal split(const Tile& tile) const;
  // The same weights without a say in the dtype of the result: tables that an operator computes.
  Diagonal following() const;
  // One multiplication; no where the product would be larger than either weight.
  std::optional<NamedLinop> merged_with(const NamedLinop& next) const;
  Diagonal scaled(const Value& by) const;
  std::optional<NamedLinop> weight_on(const Dims& ioshape, const AxisRanges& kept) const;
  std::optional<NamedLinop> settled(const NamedShape& n) const;
  Diagonal opened() const;
  bool ignores_axis(i64 axis) const;
  std::optional<NamedLinop> joined_with(const NamedLinop& next, const Seam& seam) const;
  Array product(DType data) const;  // all factors and the scale, in the precision of the data
  Diagonal power(const Value& exponent) const;  // weight ** exponent
  std::string details() const;
  template <class Self, class F>
  static void each_array(Self& self, F&& f) {
    for (auto& factor : self.factors) f(factor.weight);
  }

 private:
  bool plain() const;
  View constant(Recorder& r, DType data) const;
  void include(const Factor& f);
  Diagonal with_names(const Dims& ioshape) const;
};

extern template struct NamedLinop::Model<Diagonal>;

}  // namespace tessera
