// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operators side by side along an existing dim: along an input dim (each takes its part of the
// input, results are summed), along an output dim (each gives its part of the output), or along
// both (block diagonal). Parts write straight into their places; sums are accumulated.
//   NamedLinop A = concat({B, C}, {.odim = ND("P")});

#include <optional>
#include <vector>

#include "tessera/linop/containers/placed_parts.hpp"
#include "tessera/linop/core/linop.hpp"

namespace tessera {

struct TESSERA_API Concat {
  // One part, and the ranges of idim and odim that are its own (all of them where there is no such
  // dim).
  struct Block {
    NamedLinop a;
    i64 in_start = 0, in_size = 0, out_start = 0, out_size = 0;
    auto state() const { return std::tuple(a, in_start, in_size, out_start, out_size); }
    static Block from_state(NamedLinop a, i64 in, i64 in_n, i64 out, i64 out_n) {
      return {std::move(a), in, in_n, out, out_n};
    }
  };
  std::vector<Block> blocks;
  std::optional<NamedDimension> idim, odim;
  i64 isize = 0, osize = 0;
  NamedShape names;

  static constexpr const char* kind = "Concat";
  NamedShape shape() const { return names; }
  auto state() const { return std::tuple(blocks, idim, odim, isize, osize, names); }
  static Concat from_state(std::vector<Block> of, std::optional<NamedDimension> idim,
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
  bool covers_output() const { return !odim || gaps().empty(); }
  NamedLinop adjoint() const;
  std::optional<NamedLinop> normal() const;
  Concat renamed(const Renames& r) const;
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
  std::vector<std::pair<i64, i64>> gaps() const;  // rows of odim that no block gives
};

struct ConcatDims {
  std::optional<NamedDimension> idim{}, odim{};
};
// ArgumentError without a dim; DimError when names do not fit, a dim is missing or a part does not
// know its size.
TESSERA_API NamedLinop concat(std::vector<NamedLinop> operators, const ConcatDims& along);
// Block diagonal: concat along the first named dim of the input and of the output.
TESSERA_API NamedLinop block_diag(std::vector<NamedLinop> operators, ConcatDims along = {});

extern template struct NamedLinop::Model<Concat>;

}  // namespace tessera
