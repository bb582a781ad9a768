// SPDX-License-Identifier: Apache-2.0
#pragma once
// An operator whose array is not in memory. It knows its names and sizes as any other, and is cut,
// renamed and composed as any other; its numbers are read when a plan is made of it, those of its
// part alone. Who runs it tile by tile (stored_apply.hpp) reads them beforehand, beside the tile,
// and lends them for the time of the planning; without that they are read there and then.
//   NamedLinop maps = dense_on_disk(w, dims("CXY"), dims("XY"), dims("CXY"));   maps.split(tile)(x)

#include "tessera/linop/core/linop.hpp"
#include "tessera/streaming/stored/stored_array.hpp"

namespace tessera::streaming {

struct TESSERA_API OnDisk {
  NamedLinop sketch;  // the operator over an array of that shape that has no numbers
  StorePtr store;
  Box box;    // of the store: the numbers of this operator
  Dims axes;  // the names of the store's axes, "..." where one has none

  static constexpr const char* kind = "OnDisk";
  NamedShape shape() const { return sketch.shape(); }
  Dims dims() const { return sketch.dims(); }
  std::optional<i64> size(NamedDimension d) const { return sketch.size(d); }
  std::optional<NamedDimension> same_size(NamedDimension d) const { return sketch.same_size(d); }
  std::optional<Device> device() const { return cpu; }
  Shape output_shape(const Shape& input) const { return sketch.output_shape(input); }
  DType output_dtype(DType t) const { return sketch.output_dtype(t); }
  void apply(Recorder& r, const View& x, const View& y) const { loaded().record(r, x, y); }
  bool apply_add(Recorder& r, const View& x, const View& y) const {
    loaded().record_add(r, x, y);
    return true;
  }
  // In a chain it merges with its neighbours as it would in memory.
  std::vector<NamedLinop> expanded(const Shape&, Device, SharedTables&) const { return {loaded()}; }
  OnDisk adjoint() const { return {sketch.H(), store, box, axes}; }
  OnDisk renamed(const Renames& r) const { return {sketch.rename(r), store, box, rename(axes, r)}; }
  // Of a Diagonal |weight|^2, which is formed of the numbers once they are there; of a Dense it
  // would take all of them now.
  std::optional<NamedLinop> normal() const;
  OnDisk split(const Tile& tile) const;
  NamedLinop to(Device device) const;  // its numbers are sent by each run
  std::string details() const;

  i64 bytes() const { return box.size() * size_of(store->grid().dtype()); }
  NamedLinop loaded() const;  // the operator in memory
};

// As the constructors of Diagonal and Dense; no names for a Dense: those that it takes then.
TESSERA_API NamedLinop diagonal_on_disk(const StoredArray& weight, const Dims& ioshape,
                                        const Dims& broadcast_dims = {});
TESSERA_API NamedLinop dense_on_disk(const StoredArray& weight, const Dims& weightshape,
                                     const Dims& ishape, const Dims& oshape,
                                     const Dims& broadcast_dims = {});
TESSERA_API NamedLinop dense_on_disk(const StoredArray& weight);

// Numbers of a store that an operator and its parts need: each box once.
struct WeightBox {
  StorePtr store;
  Box box;
  i64 bytes() const { return box.size() * size_of(store->grid().dtype()); }
  friend bool operator==(const WeightBox&, const WeightBox&) = default;
};
TESSERA_API std::vector<WeightBox> weights_on_disk(const NamedLinop& a);
// Whether there are any; quick where no operator of this process has its array on disk.
TESSERA_API bool has_weights_on_disk(const NamedLinop& a);

// As long as it lives, plans that this thread makes find these numbers in memory.
class LentWeights {
 public:
  LentWeights(std::vector<WeightBox> boxes, std::vector<Array> arrays);
  LentWeights(const LentWeights&) = delete;
  LentWeights& operator=(const LentWeights&) = delete;
  ~LentWeights();
  // Those of a box, as a part of one that was lent; no array where there is none.
  static Array find(const store::TileStore& store, const Box& box);

 private:
  std::vector<WeightBox> boxes_;
  std::vector<Array> arrays_;
  const LentWeights* outer_;
};

// Arrays for plans that nobody runs: zeros that take no memory.
Array sketched(const Shape& shape, DType dtype);

}  // namespace tessera::streaming
