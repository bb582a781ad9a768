// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operators side by side along a new dim, which is inserted at an index of the input, of the
// output, or of both: each part acts on, or gives, one position of it. Parts write straight into
// their places; sums are accumulated.
//   NamedLinop A = stack({B, C}, {}, StackDim{ND("M"), 1});   // (Q,) -> (P, M)

#include <optional>
#include <vector>

#include "tessera/linop/containers/placed_parts.hpp"
#include "tessera/linop/core/linop.hpp"

namespace tessera {

struct StackDim {
  NamedDimension dim;
  i64 index = 0;  // where it is inserted; negative counts from the end of the new shape
};

struct TESSERA_API Stack {
  struct Block {
    NamedLinop a;
    i64 in = 0, out = 0;  // its positions along the new dims
    auto state() const { return std::tuple(a, in, out); }
    static Block from_state(NamedLinop a, i64 in, i64 out) { return {std::move(a), in, out}; }
  };
  std::vector<Block> blocks;
  std::optional<NamedDimension> idim, odim;
  i64 isize = 0, osize = 0;
  NamedShape names;

  static constexpr const char* kind = "Stack";
  NamedShape shape() const { return names; }
  auto state() const { return std::tuple(blocks, idim, odim, isize, osize, names); }
  static Stack from_state(std::vector<Block> of, std::optional<NamedDimension> idim,
                          std::optional<NamedDimension> odim, i64 isize, i64 osize,
                          NamedShape names);
  std::optional<i64> size(NamedDimension d) const;
  std::optional<NamedDimension> same_size(NamedDimension d) const;
  std::optional<Device> device() const;
  Shape output_shape(const Shape& input) const;
  DType output_dtype(DType t) const;
  Device output_device(Device d) const { return blocks.front().a.output_device(d); }
  bool is_real_linear() const;
  void apply(Recorder& r, const View& x, const View& y) const;
  bool apply_add(Recorder& r, const View& x, const View& y) const;
  std::vector<PlacedPart> placed(const View& x, const View& y) const;
  bool covers_output() const;  // every position along odim has a part
  NamedLinop adjoint() const;
  std::optional<NamedLinop> normal() const;
  Stack renamed(const Renames& r) const;
  NamedLinop split(const Tile& tile) const;
  // What of x and y is a block's own.
  std::pair<View, View> views_of(const Block& b, const View& x, const View& y) const;
  std::vector<NamedLinop> parts() const;
  template <class Self, class F>
  static void each_part(Self& self, F&& f) {
    for (auto& b : self.blocks) f(b.a);
  }
  std::string details() const;

 private:
  bool gives(i64 position) const;  // some part is at this position along odim
};

// ArgumentError without a dim; DimError when the dim exists already or names do not fit.
TESSERA_API NamedLinop stack(std::vector<NamedLinop> operators, std::optional<StackDim> idim,
                             std::optional<StackDim> odim);

extern template struct NamedLinop::Model<Stack>;

}  // namespace tessera
