// SPDX-License-Identifier: Apache-2.0
#pragma once
// Overlapping blocks of a grid: ArrayToBlocks reads them, BlocksToArray sums them back; each is the
// adjoint of the other. Arrays are batch + grid on one side, batch + numbers of blocks + block on
// the other; with a mask of the block's shape only the marked places of a block are kept, and the
// block's axes become one. Grids of any rank. No padding: places that no block reaches are ignored.
//   NamedLinop B = ArrayToBlocks({128, 128}, {8, 8}, {4, 4});   // (..., Nx, Ny) -> (..., Bx, By,
//   Nx1, Ny1)

#include "tessera/linop/core/linop.hpp"

namespace tessera {

// What both operators know: sizes, the kept places, and the names of both sides.
struct TESSERA_API BlockGrid {
  Shape grid, block, stride, counts;
  bool masked = false;
  std::vector<i64> places;  // masked: row-major positions in a block
  Dims batch, array, blocks;

  // Empty stride: 1 along every axis. Default names: Nx, Ny, Nz and Bx, By, Bz, Nx1, Ny1, Nz1 (with
  // a mask Bx, By, Bz, P). ShapeError, DTypeError and DimError name `who`.
  BlockGrid(std::string_view who, Shape grid_size, Shape block_size, Shape strides,
            const Array& mask, Dims batch_shape, std::optional<Dims> array_shape,
            std::optional<Dims> blocks_shape);
  auto state() const {
    return std::tuple(grid, block, stride, masked, places, batch, array, blocks);
  }
  static BlockGrid from_state(Shape grid, Shape block, Shape stride, bool masked,
                              const std::vector<i64>& places, Dims batch, Dims array, Dims blocks);
  Shape blocks_sizes() const;  // of the axes that stand for the grid on the other side
  std::optional<i64> size(NamedDimension d) const;
  // The shape of the other side, for an array of this one.
  Shape to_blocks(const Shape& array_shape) const;
  Shape to_array(const Shape& blocks_shape) const;
  void record_unfold(Recorder& r, const View& array, const View& blocks) const;
  void record_overlap_add(Recorder& r, const View& blocks, const View& array) const;
  BlockGrid renamed(const Renames& renames) const;
  std::string details() const;
  bool covers_once() const;   // every place of the grid is in exactly one block
  bool at_most_once() const;  // no two blocks share a place
  Array coverage() const;     // how many kept places lie on each element; on the cpu
};

struct BlocksToArray;

struct TESSERA_API ArrayToBlocks {
  BlockGrid spec;

  static constexpr const char* kind = "ArrayToBlocks";
  explicit ArrayToBlocks(Shape grid_size, Shape block_size, Shape stride = {},
                         const Array& mask = {}, Dims batch_shape = {NamedDimension::ellipses()},
                         std::optional<Dims> array_shape = {},
                         std::optional<Dims> blocks_shape = {});
  explicit ArrayToBlocks(BlockGrid s) : spec(std::move(s)) {}
  NamedShape shape() const;
  auto state() const { return std::tuple(spec); }
  static ArrayToBlocks from_state(BlockGrid s) { return ArrayToBlocks(std::move(s)); }
  std::optional<i64> size(NamedDimension d) const { return spec.size(d); }
  Shape output_shape(const Shape& input) const { return spec.to_blocks(input); }
  void apply(Recorder& r, const View& x, const View& y) const { spec.record_unfold(r, x, y); }
  BlocksToArray adjoint() const;
  NamedLinop normal() const;  // multiplication by how often each element is covered
  bool isometry() const { return spec.covers_once(); }
  ArrayToBlocks renamed(const Renames& r) const { return ArrayToBlocks(spec.renamed(r)); }
  std::string details() const { return spec.details(); }
};

struct TESSERA_API BlocksToArray {
  BlockGrid spec;

  static constexpr const char* kind = "BlocksToArray";
  explicit BlocksToArray(Shape grid_size, Shape block_size, Shape stride = {},
                         const Array& mask = {}, Dims batch_shape = {NamedDimension::ellipses()},
                         std::optional<Dims> blocks_shape = {},
                         std::optional<Dims> array_shape = {});
  explicit BlocksToArray(BlockGrid s) : spec(std::move(s)) {}
  NamedShape shape() const;
  auto state() const { return std::tuple(spec); }
  static BlocksToArray from_state(BlockGrid s) { return BlocksToArray(std::move(s)); }
  std::optional<i64> size(NamedDimension d) const { return spec.size(d); }
  Shape output_shape(const Shape& input) const { return spec.to_array(input); }
  void apply(Recorder& r, const View& x, const View& y) const { spec.record_overlap_add(r, x, y); }
  ArrayToBlocks adjoint() const { return ArrayToBlocks(spec); }
  std::optional<NamedLinop> normal() const;  // the identity where blocks do not overlap
  bool isometry() const { return spec.at_most_once(); }
  BlocksToArray renamed(const Renames& r) const { return BlocksToArray(spec.renamed(r)); }
  std::string details() const { return spec.details(); }
};

// The normal of ArrayToBlocks: multiplication by whole numbers, on whatever device the data are.
struct TESSERA_API BlockCoverage {
  Array counts;  // on the cpu, of the smallest unsigned type that holds them
  NamedShape names;

  static constexpr const char* kind = "BlockCoverage";
  NamedShape shape() const { return names; }
  auto state() const { return std::tuple(counts, names); }
  static BlockCoverage from_state(Array counts, const NamedShape& n);
  std::optional<i64> size(NamedDimension d) const;
  DType output_dtype(DType t) const { return t; }
  Shape output_shape(const Shape& input) const { return input; }
  void apply(Recorder& r, const View& x, const View& y) const;
  BlockCoverage adjoint() const { return *this; }
  BlockCoverage renamed(const Renames& r) const { return {counts, names.renamed(r)}; }
  BlockCoverage split(const Tile& tile) const;
  std::string details() const { return cat("counts ", counts.shape(), " ", counts.dtype()); }
  BlockCoverage to(Device) const { return *this; }
  template <class Self, class F>
  static void each_array(Self& self, F&& f) {
    f(self.counts);
  }
};

extern template struct NamedLinop::Model<ArrayToBlocks>;
extern template struct NamedLinop::Model<BlocksToArray>;
extern template struct NamedLinop::Model<BlockCoverage>;

}  // namespace tessera
