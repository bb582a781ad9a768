// SPDX-License-Identifier: Apache-2.0
#pragma once
// The place of a tile that another rank computes, or of one beside a diagonal of blocks: names,
// sizes and dtypes of the tile, none of its memory, and zeros where its result would be. What all
// ranks give, summed, is the whole.
//   NamedLinop e = RemoteTile::of(tile);   e.bytes() == 0;   e(x) is all zeros

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/linop/core/linop.hpp"

namespace tessera {

struct RemoteTile {
  NamedLinop sketch;  // the tile over arrays of one number each

  static constexpr const char* kind = "RemoteTile";
  static RemoteTile of(const NamedLinop& tile) {
    return {
        tile.mapped([](const Array& a) { return zeros({}, a.dtype()).broadcast_to(a.shape()); })};
  }
  NamedShape shape() const { return sketch.shape(); }
  Dims dims() const { return sketch.dims(); }
  std::optional<i64> size(NamedDimension d) const { return sketch.size(d); }
  std::optional<NamedDimension> same_size(NamedDimension d) const { return sketch.same_size(d); }
  Shape output_shape(const Shape& input) const { return sketch.output_shape(input); }
  DType output_dtype(DType t) const { return sketch.output_dtype(t); }
  bool is_real_linear() const { return sketch.real_linear(); }
  void apply(Recorder& r, const View&, const View& y) const { record::fill(r, Value(0), y); }
  bool apply_add(Recorder&, const View&, const View&) const { return true; }
  RemoteTile adjoint() const { return {sketch.H()}; }
  RemoteTile normal() const { return {sketch.N()}; }
  RemoteTile renamed(const Renames& r) const { return {sketch.rename(r)}; }
  RemoteTile split(const Tile& tile) const { return {sketch.split(tile)}; }
  std::string details() const { return "of another rank"; }
};

}  // namespace tessera
