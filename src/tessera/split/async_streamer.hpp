// SPDX-License-Identifier: Apache-2.0
#pragma once
// Data of the host through one device, tile by tile: while a tile is computed, the next one is on
// its way there and the result of the one before on its way back, in two buffers each. The operator
// may stay on the host too (resident = false) when it is larger than the device. Pinned arrays
// travel at the full speed of the link.
//   NamedLinop S = AsyncStreamer(A, {{"C", 4}}, gpu);   S(x) equals A(x), x on the host

#include "tessera/linop/core/state.hpp"
#include "tessera/split/batched.hpp"

namespace tessera {

struct TESSERA_API AsyncStreamer {
  NamedLinop a;  // the operator in tiles
  Device where;  // it computes
  DimSizes tiles;

  static constexpr const char* kind = "AsyncStreamer";
  // `input`, the shape of an input, tells sizes that the operator does not know. Errors as
  // create_batched_linop.
  AsyncStreamer(const NamedLinop& op, DimSizes tile_sizes, Device computes, bool resident = true,
                const std::optional<Shape>& input = {});
  NamedShape shape() const { return a.shape(); }
  auto state() const { return std::tuple(a, where, tiles); }
  static AsyncStreamer from_state(NamedLinop tiled, Device computes, DimSizes tiles) {
    return AsyncStreamer(std::move(tiled), computes, std::move(tiles));
  }
  Dims dims() const { return a.dims(); }
  std::optional<i64> size(NamedDimension d) const { return a.size(d); }
  std::optional<NamedDimension> same_size(NamedDimension d) const { return a.same_size(d); }
  std::optional<Device> device() const { return a.device(); }
  Shape output_shape(const Shape& input) const { return a.output_shape(input); }
  DType output_dtype(DType t) const { return a.output_dtype(t); }
  bool isometry() const { return a.isometry(); }
  bool is_real_linear() const { return a.real_linear(); }
  void apply(Recorder& r, const View& x, const View& y) const { a.record(r, x, y); }
  NamedLinop adjoint() const { return a.H(); }
  NamedLinop normal() const { return a.N(); }
  NamedLinop stands_for() const { return a; }
  NamedLinop renamed(const Renames& r) const { return a.rename(r); }
  NamedLinop split(const Tile& tile) const { return a.split(tile); }
  template <class Self, class F>
  static void each_part(Self& self, F&& f) {
    f(self.a);
  }
  std::string details() const { return cat("tiles of ", to_text(tiles), " through ", where); }

 private:
  AsyncStreamer(NamedLinop tiled, Device computes, DimSizes sizes)
      : a(std::move(tiled)), where(computes), tiles(std::move(sizes)) {}
};

// What a description (linop/state.hpp) may hold of this layer.
TESSERA_API OperatorReaders split_readers();

}  // namespace tessera
