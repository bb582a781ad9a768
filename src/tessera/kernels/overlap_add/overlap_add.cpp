// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/overlap_add/overlap_add.hpp"

namespace tessera {

Shape block_counts(std::string_view who, const Shape& grid, const Shape& block,
                   const Shape& stride) {
  require<ShapeError>(!block.empty() && grid.size() == block.size() && grid.size() == stride.size(),
                      who, ": the grid ", grid, ", the block ", block, " and the stride ", stride,
                      " must have as many axes, at least one");
  Shape counts;
  for (i64 a = 0; a < block.size(); ++a) {
    require<ShapeError>(block[a] > 0 && stride[a] > 0, who, ": blocks of ", block, " at strides ",
                        stride, "; both must be positive");
    require<ShapeError>(block[a] <= grid[a], who, ": the block ", block,
                        " is larger than the grid ", grid, " along axis ", a);
    counts.push_back((grid[a] - block[a]) / stride[a] + 1);
  }
  return counts;
}

Layout unfold_layout(const Layout& array, const Shape& block, const Shape& stride) {
  const i64 rank = block.size(), batch = array.ndim() - rank;
  Layout view;
  view.offset = array.offset;
  view.shape.assign(array.shape.begin(), array.shape.begin() + batch);
  view.strides.assign(array.strides.begin(), array.strides.begin() + batch);
  for (i64 a = 0; a < rank; ++a) {
    view.shape.push_back((array.shape[batch + a] - block[a]) / stride[a] + 1);
    view.strides.push_back(array.strides[batch + a] * stride[a]);
  }
  for (i64 a = 0; a < rank; ++a) {
    view.shape.push_back(block[a]);
    view.strides.push_back(array.strides[batch + a]);
  }
  return view;
}

}  // namespace tessera
