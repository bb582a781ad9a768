// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/ops/moves/array_to_blocks.hpp"

#include <algorithm>

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/linop/core/dim_sizes.hpp"
#include "tessera/linop/ops/basic/identity.hpp"
#include "tessera/linop/rewrite/grid_names.hpp"

namespace tessera {
namespace {

std::vector<i64> marked_places(std::string_view who, const Array& mask, const Shape& block) {
  require<DTypeError>(mask.dtype() == DType::b1, who, ": the mask holds ", name(mask.dtype()),
                      ", expected bool");
  require<ShapeError>(mask.shape() == block, who, ": the mask has shape ", mask.shape(),
                      ", the block ", block);
  const Array host = mask.to(cpu).contiguous();
  const auto* p = static_cast<const std::uint8_t*>(host.host_data());
  std::vector<i64> places;
  for (i64 i = 0; i < host.size(); ++i)
    if (p[i] != 0) places.push_back(i);
  require<ArgumentError>(!places.empty(), who, ": the mask of shape ", mask.shape(),
                         " keeps no place of a block");
  return places;
}

void check_block_names(std::string_view who, const BlockGrid& s) {
  const i64 rank = s.grid.size(), expected = s.masked ? rank + 1 : 2 * rank;
  require<DimError>(s.array.size() == rank && !has_ellipses(s.array), who, ": a grid of shape ",
                    s.grid, " needs ", rank, " names, got ", to_text(s.array));
  require<DimError>(s.blocks.size() == expected && !has_ellipses(s.blocks), who,
                    ": blocks of shape ", s.block, s.masked ? " with a mask" : "", " need ",
                    expected, " names, got ", to_text(s.blocks));
  check_names(who, {&s.batch, &s.array, &s.blocks});
}

Dims default_blocks(const Dims& array, bool masked) {
  Dims blocks;
  for (i64 a = 0; a < array.size(); ++a) blocks.push_back(NamedDimension(cat("B", "xyz"[a])));
  if (masked) {
    blocks.push_back("P");
    return blocks;
  }
  for (NamedDimension d : array) blocks.push_back(d + 1);
  return blocks;
}

Shape tail(const Shape& s, i64 n) { return Shape(s.end() - n, s.end()); }
Shape head(const Shape& s, i64 n) { return Shape(s.begin(), s.begin() + n); }

}  // namespace

BlockGrid::BlockGrid(std::string_view who, Shape grid_size, Shape block_size, Shape strides,
                     const Array& mask, Dims batch_shape, std::optional<Dims> array_shape,
                     std::optional<Dims> blocks_shape)
    : grid(std::move(grid_size)),
      block(std::move(block_size)),
      stride(strides.empty() ? Shape(grid.size(), 1) : std::move(strides)),
      masked(static_cast<bool>(mask)),
      batch(std::move(batch_shape)) {
  const bool named = array_shape && blocks_shape;
  require<DimError>(named || grid.size() <= 3, who, ": a grid of ", grid.size(),
                    " axes has no default names; give array_shape and blocks_shape");
  array = array_shape ? *array_shape : nd_shape(grid.size());
  blocks = blocks_shape ? *blocks_shape : default_blocks(nd_shape(grid.size()), masked);
  check_block_names(who, *this);
  const std::string names = cat(who, " between ", to_text(array), " and ", to_text(blocks));
  counts = block_counts(names, grid, block, stride);
  if (masked) places = marked_places(names, mask, block);
}

Shape BlockGrid::blocks_sizes() const {
  Shape s = counts;
  if (masked)
    s.push_back(static_cast<i64>(places.size()));
  else
    s.append(block);
  return s;
}

std::optional<i64> BlockGrid::size(NamedDimension d) const {
  const Shape sizes = blocks_sizes();
  for (i64 a = 0; a < array.size(); ++a)
    if (array[a] == d) return grid[a];
  for (i64 a = 0; a < blocks.size(); ++a)
    if (blocks[a] == d) return sizes[a];
  return std::nullopt;
}

Shape BlockGrid::to_blocks(const Shape& input) const {
  const i64 rank = grid.size();
  require<DimError>(input.size() >= rank && tail(input, rank) == grid, "ArrayToBlocks ",
                    to_text(array), ": expected a grid of shape ", grid, ", got an array of shape ",
                    input);
  Shape out = head(input, input.size() - rank);
  out.append(blocks_sizes());
  return out;
}

Shape BlockGrid::to_array(const Shape& input) const {
  const Shape sizes = blocks_sizes();
  require<DimError>(input.size() >= sizes.size() && tail(input, sizes.size()) == sizes,
                    "BlocksToArray ", to_text(blocks), ": expected blocks of shape ", sizes,
                    ", got an array of shape ", input);
  Shape out = head(input, input.size() - sizes.size());
  out.append(grid);
  return out;
}

void BlockGrid::record_unfold(Recorder& r, const View& x, const View& y) const {
  const Layout view = unfold_layout(x.layout, block, stride);
  if (!masked) return record::copy(r, sub_view(x, view), y);
  // out[place, batch, blocks] = view[places, batch, blocks]
  const i64 rank = grid.size(), front = view.ndim() - rank;
  Shape source_axes, out_axes{y.layout.ndim() - 1};
  for (i64 a = 0; a < rank; ++a) source_axes.push_back(front + a);
  for (i64 a = 0; a < front; ++a) {
    source_axes.push_back(a);
    out_axes.push_back(a);
  }
  const View source = sub_view(x, view.permute(source_axes)),
             out = sub_view(y, y.layout.permute(out_axes));
  GatherSpec spec{.source = operand_of(source), .indices = {}, .out = operand_of(out)};
  std::vector<View> reads{source};
  const i64 n = static_cast<i64>(places.size());
  Shape weight(rank, 1);
  for (i64 a = rank - 2; a >= 0; --a) weight[a] = weight[a + 1] * block[a + 1];
  for (i64 a = 0; a < rank; ++a) {
    const Array index(Storage::allocate(cpu, n * 8), Layout::contiguous({n}), DType::i64);
    i64* p = index.host<i64>();
    for (i64 i = 0; i < n; ++i) p[i] = places[static_cast<std::size_t>(i)] / weight[a] % block[a];
    reads.push_back(r.constant(index.to(r.device(x))));
    spec.indices.push_back(operand_of(reads.back()));
  }
  r.launch(&KernelTable::gather, "gather", spec, reads, out);
}

void BlockGrid::record_overlap_add(Recorder& r, const View& x, const View& y) const {
  const OverlapAddSpec spec{.in = operand_of(x),
                            .out = operand_of(y),
                            .block = block,
                            .stride = stride,
                            .masked = masked,
                            .places = places};
  const View reads[] = {x};
  r.launch(&KernelTable::overlap_add, "overlap_add", spec, reads, y);
}

BlockGrid BlockGrid::from_state(Shape grid, Shape block, Shape stride, bool masked,
                                const std::vector<i64>& places, Dims batch, Dims array,
                                Dims blocks) {
  Array mask;
  if (masked) {
    for (const i64 n : block)
      require<ArgumentError>(n > 0 && n <= i64{1} << 40, "ArrayToBlocks: a block of shape ", block);
    mask = zeros(block, DType::b1).contiguous();
    for (const i64 i : places) {
      require<ArgumentError>(i >= 0 && i < mask.size(), "ArrayToBlocks: place ", i,
                             " of a block of shape ", block);
      static_cast<std::uint8_t*>(mask.host_data())[i] = 1;
    }
  }
  return BlockGrid("ArrayToBlocks", std::move(grid), std::move(block), std::move(stride), mask,
                   std::move(batch), std::move(array), std::move(blocks));
}

BlockGrid BlockGrid::renamed(const Renames& renames) const {
  BlockGrid s = *this;
  for (Dims* list : {&s.batch, &s.array, &s.blocks}) *list = rename(*list, renames);
  return s;
}

std::string BlockGrid::details() const {
  return cat("grid ", grid, " block ", block, " stride ", stride,
             masked ? cat(" mask of ", places.size()) : std::string());
}

bool BlockGrid::covers_once() const {
  if (masked) return false;
  for (i64 a = 0; a < grid.size(); ++a)
    if (counts[a] * block[a] != grid[a] || (counts[a] > 1 && stride[a] != block[a])) return false;
  return true;
}

bool BlockGrid::at_most_once() const {
  for (i64 a = 0; a < grid.size(); ++a)
    if (counts[a] > 1 && stride[a] < block[a]) return false;
  return true;
}

Array BlockGrid::coverage() const {
  const Array out = empty_dense(grid, DType::f32, cpu);
  const Array one = Array::scalar(Value(1.0), DType::f32);
  const OverlapAddSpec spec{.in = {one.layout().broadcast_to(blocks_sizes()), DType::f32},
                            .out = operand_of(out),
                            .block = block,
                            .stride = stride,
                            .masked = masked,
                            .places = places};
  launch_now(&KernelTable::overlap_add, "overlap_add", spec, cpu, {&one, &out});
  const double most = reduce(ReduceOp::max, out, {}).item().as<double>();
  return most < 256 ? out.astype(DType::u8) : most < 65536 ? out.astype(DType::u16) : out;
}

ArrayToBlocks::ArrayToBlocks(Shape grid_size, Shape block_size, Shape stride, const Array& mask,
                             Dims batch_shape, std::optional<Dims> array_shape,
                             std::optional<Dims> blocks_shape)
    : spec(kind, std::move(grid_size), std::move(block_size), std::move(stride), mask,
           std::move(batch_shape), std::move(array_shape), std::move(blocks_shape)) {}

NamedShape ArrayToBlocks::shape() const {
  return NamedShape(spec.batch) + NamedShape(spec.array, spec.blocks);
}

BlocksToArray ArrayToBlocks::adjoint() const { return BlocksToArray(spec); }

NamedLinop ArrayToBlocks::normal() const {
  const Dims in = shape().ishape;
  if (isometry()) return Identity(in);
  return BlockCoverage{spec.coverage(), NamedShape(in)};
}

BlocksToArray::BlocksToArray(Shape grid_size, Shape block_size, Shape stride, const Array& mask,
                             Dims batch_shape, std::optional<Dims> blocks_shape,
                             std::optional<Dims> array_shape)
    : spec(kind, std::move(grid_size), std::move(block_size), std::move(stride), mask,
           std::move(batch_shape), std::move(array_shape), std::move(blocks_shape)) {}

NamedShape BlocksToArray::shape() const {
  return NamedShape(spec.batch) + NamedShape(spec.blocks, spec.array);
}

std::optional<NamedLinop> BlocksToArray::normal() const {
  if (!isometry()) return std::nullopt;
  return Identity(shape().ishape);
}

BlockCoverage BlockCoverage::from_state(Array counts, const NamedShape& n) {
  require<DTypeError>(is_unsigned_int(counts.dtype()) && counts.device() == cpu,
                      "BlockCoverage: counts of ", name(counts.dtype()), " on ", counts.device());
  (void)cut_last("BlockCoverage", n.ishape, counts.ndim());
  return {std::move(counts), NamedShape(n.ishape)};
}

std::optional<i64> BlockCoverage::size(NamedDimension d) const {
  const i64 first = names.ishape.size() - counts.ndim();
  for (i64 a = 0; a < counts.ndim(); ++a)
    if (names.ishape[first + a] == d) return counts.shape(a);
  return std::nullopt;
}

BlockCoverage BlockCoverage::split(const Tile& tile) const {
  const Dims grid(names.ishape.end() - counts.ndim(), names.ishape.end());
  return {counts.view(part_of(counts.layout(), grid, tile.only(grid))), names};
}

void BlockCoverage::apply(Recorder& r, const View& x, const View& y) const {
  record::multiply(r, r.constant(counts.to(r.device(x))), x, y);
}

}  // namespace tessera
