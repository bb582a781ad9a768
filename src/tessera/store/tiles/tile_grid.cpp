// SPDX-License-Identifier: Apache-2.0
#include "tessera/store/tiles/tile_grid.hpp"

#include <algorithm>
#include <cmath>

namespace tessera::store {

std::string to_text(const Box& box) {
  std::string out = "[";
  for (i64 d = 0; d < box.begin.size(); ++d)
    out += cat(d > 0 ? ", " : "", box.begin[d], ":", box.begin[d] + box.shape[d]);
  return out + "]";
}

TileGrid::TileGrid(Shape shape, Shape tile, DType dtype)
    : shape_(std::move(shape)), tile_(std::move(tile)), dtype_(dtype) {
  require<ShapeError>(shape_.size() == tile_.size(), "tiles: an array of shape ",
                      tessera::to_text(shape_), " cannot be cut into tiles of shape ",
                      tessera::to_text(tile_), ": give one size for each axis");
  count_of(shape_);
  for (i64 d = 0; d < shape_.size(); ++d) {
    require<ShapeError>(tile_[d] >= 1, "tiles: sizes are at least 1, got ",
                        tessera::to_text(tile_));
    tile_[d] = std::min(tile_[d], std::max<i64>(1, shape_[d]));
    counts_.push_back((shape_[d] + tile_[d] - 1) / tile_[d]);
  }
}

TileGrid TileGrid::square(const Shape& shape, DType dtype, i64 bytes) {
  // Sides as equal as they can be: an axis shorter than the side leaves its share to the others.
  Shape tile = shape;
  double room = std::max(1.0, static_cast<double>(bytes) / static_cast<double>(size_of(dtype)));
  std::vector<i64> axes(static_cast<std::size_t>(shape.size()));
  for (i64 d = 0; d < shape.size(); ++d) axes[static_cast<std::size_t>(d)] = d;
  std::sort(axes.begin(), axes.end(), [&](i64 a, i64 b) { return shape[a] < shape[b]; });
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const double side = std::pow(room, 1.0 / static_cast<double>(axes.size() - k));
    const i64 d = axes[k];
    tile[d] = std::clamp<i64>(static_cast<i64>(side + 1e-9), 1, std::max<i64>(1, shape[d]));
    room /= static_cast<double>(tile[d]);
  }
  return {shape, tile, dtype};
}

TileGrid TileGrid::rows(const Shape& shape, DType dtype, i64 bytes) {
  Shape tile = shape;
  i64 room = std::max<i64>(1, bytes / size_of(dtype));
  for (i64 d = shape.size() - 1; d >= 0; --d) {
    tile[d] = std::clamp<i64>(room, 1, std::max<i64>(1, shape[d]));
    room = std::max<i64>(1, room / tile[d]);
  }
  return {shape, tile, dtype};
}

Box TileGrid::whole() const { return {Shape(shape_.size(), 0), shape_}; }

Box TileGrid::tile(i64 number) const {
  require<IndexError>(number >= 0 && number < tiles(), "tiles: there is no tile ", number, " of ",
                      tiles());
  Shape place(shape_.size(), 0);
  for (i64 d = shape_.size() - 1; d >= 0; --d) {
    place[d] = number % counts_[d];
    number /= counts_[d];
  }
  return tile(place);
}

Box TileGrid::tile(const Shape& place) const {
  Box box;
  for (i64 d = 0; d < shape_.size(); ++d) {
    require<IndexError>(place[d] >= 0 && place[d] < counts_[d], "tiles: there is no tile at ",
                        tessera::to_text(place), " of ", tessera::to_text(counts_));
    box.begin.push_back(place[d] * tile_[d]);
    box.shape.push_back(std::min(tile_[d], shape_[d] - box.begin[d]));
  }
  return box;
}

std::vector<i64> TileGrid::tiles_of(const Box& box) const {
  check("tiles", box);
  std::vector<i64> out;
  if (box.size() == 0) return out;
  out.push_back(0);
  for (i64 d = 0; d < shape_.size(); ++d) {
    const i64 first = box.begin[d] / tile_[d];
    const i64 last = (box.begin[d] + box.shape[d] - 1) / tile_[d];
    std::vector<i64> next;
    next.reserve(out.size() * static_cast<std::size_t>(last - first + 1));
    for (const i64 n : out)
      for (i64 k = first; k <= last; ++k) next.push_back(n * counts_[d] + k);
    out = std::move(next);
  }
  return out;
}

void TileGrid::check(std::string_view who, const Box& box) const {
  bool inside = box.begin.size() == shape_.size() && box.shape.size() == shape_.size();
  for (i64 d = 0; inside && d < shape_.size(); ++d)
    inside = box.begin[d] >= 0 && box.shape[d] >= 0 && box.shape[d] <= shape_[d] &&
             box.begin[d] <= shape_[d] - box.shape[d];
  require<IndexError>(inside, who, ": the box ", to_text(box), " lies outside of the shape ",
                      tessera::to_text(shape_));
}

}  // namespace tessera::store
