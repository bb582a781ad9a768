// SPDX-License-Identifier: Apache-2.0
#pragma once
// How an array is cut into tiles: the shape, the shape of a tile (the last ones along an axis may be
// smaller) and the dtype. Pure arithmetic; no memory and no file is touched.
//   TileGrid g({1000, 700}, {256, 512}, DType::f64);   // 4 x 2 tiles
//   Box b = g.tile(3);   b.begin == (256, 512), b.shape == (256, 188)

#include <vector>

#include "tessera/base/dtype.hpp"
#include "tessera/base/shape.hpp"

namespace tessera::store {

// A rectangle of elements.
struct TESSERA_API Box {
  Shape begin, shape;
  i64 size() const { return count_of(shape); }
  friend bool operator==(const Box&, const Box&) = default;
};
// "[0:256, 512:700]"
TESSERA_API std::string to_text(const Box& box);

class TESSERA_API TileGrid {
 public:
  TileGrid(Shape shape, Shape tile, DType dtype);  // ShapeError: ranks differ, tiles below 1
  // Tiles of about `bytes` with sides as equal as the shape allows: rows and columns cost the same.
  static TileGrid square(const Shape& shape, DType dtype, i64 bytes = default_tile_bytes);
  // Whole rows (all of the last axes), as many as fit: what streams along the first axis wants.
  static TileGrid rows(const Shape& shape, DType dtype, i64 bytes = default_tile_bytes);
  static constexpr i64 default_tile_bytes = i64{32} << 20;

  const Shape& shape() const { return shape_; }
  const Shape& tile_shape() const { return tile_; }
  DType dtype() const { return dtype_; }
  i64 bytes() const { return count_of(shape_) * size_of(dtype_); }
  i64 tile_bytes() const { return count_of(tile_) * size_of(dtype_); }  // of a full tile
  const Shape& counts() const { return counts_; }                       // tiles along each axis
  i64 tiles() const { return count_of(counts_); }
  Box whole() const;
  Box tile(i64 number) const;                       // row-major numbering; IndexError
  Box tile(const Shape& place) const;               // by its place along each axis
  std::vector<i64> tiles_of(const Box& box) const;  // numbers of the tiles that a box touches
  void check(std::string_view who, const Box& box) const;  // IndexError unless the box lies inside
  friend bool operator==(const TileGrid&, const TileGrid&) = default;

 private:
  Shape shape_, tile_, counts_;
  DType dtype_;
};

}  // namespace tessera::store
