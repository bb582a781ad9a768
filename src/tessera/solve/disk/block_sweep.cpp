// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/disk/block_sweep.hpp"

#include <algorithm>

#include "tessera/streaming/passes/pass.hpp"

namespace tessera {
namespace {

using streaming::BufferView;
using streaming::StreamPlan;

i64 whole_blocks(i64 numbers, i64 block) { return (numbers + block - 1) / block * block; }

// The largest boxes of whole blocks, no larger than a tile needs, of which two rounds fit the budget.
Shape shape_of_boxes(const SweptBlocks& grid, const store::TileGrid& tiles, i64 vectors,
                     const BlockBudget& budget) {
  Shape box = grid.part.shape;
  const auto may_shrink = [&](i64 axis) {
    return grid.blocks[axis] > 0 && box[axis] > grid.blocks[axis];
  };
  for (i64 axis = 0; axis < box.size(); ++axis)
    if (const i64 block = grid.blocks[axis]; block > 0)
      box[axis] = std::min(box[axis], whole_blocks(tiles.tile_shape()[axis], block));
  const auto held = [&] {
    return 2 * vectors * StreamPlan::rounded(count_of(box) * size_of(tiles.dtype()));
  };
  while (held() > budget.wanted) {
    i64 longest = -1;
    for (i64 axis = 0; axis < box.size(); ++axis)
      if (may_shrink(axis) && (longest < 0 || box[axis] > box[longest])) longest = axis;
    if (longest < 0) break;
    box[longest] = whole_blocks((box[longest] + 1) / 2, grid.blocks[longest]);
  }
  streaming::require_budget("vectors on disk", {.budget = budget.most}, held());
  return box;
}

// A box of a vector and the part of a buffer's layout where it belongs.
struct Piece {
  store::Box box;
  Layout layout;
};

// What a box of the moved grid is in the vector: two pieces along every axis whose end it leaves.
std::vector<Piece> pieces_of(const SweptBlocks& grid, const store::Box& box) {
  std::vector<Piece> pieces{{box, Layout::contiguous(box.shape)}};
  for (i64 axis = 0; axis < box.shape.size(); ++axis) {
    const i64 all = grid.part.shape[axis], count = box.shape[axis];
    const i64 from = (box.begin[axis] + grid.shift[axis]) % all,
              first = std::min(count, all - from);
    std::vector<Piece> cut;
    for (const Piece& p : pieces)
      for (const auto& [at, start, size] :
           {std::tuple{from, i64{0}, first}, std::tuple{i64{0}, first, count - first}}) {
        if (size == 0) continue;
        Piece part{p.box, p.layout.slice(axis, start, size)};
        part.box.begin[axis] = grid.part.begin[axis] + at;
        part.box.shape[axis] = size;
        cut.push_back(std::move(part));
      }
    pieces = std::move(cut);
  }
  return pieces;
}

}  // namespace

StreamPlan plan_block_sweep(std::string title, const std::vector<SweptVector>& vectors,
                            const SweptBlocks& grid, const BlockWork& work,
                            const BlockBudget& budget) {
  const store::TileGrid& tiles = vectors.front().store->grid();
  const DType dtype = tiles.dtype(), real = real_of(dtype);
  require<DTypeError>(real == DType::f32 || real == DType::f64, title, ": vectors on disk are of ",
                      name(dtype), ", expected float32, float64 or complex numbers of these");
  StreamPlan plan(std::move(title), {.budget = budget.most});
  if (count_of(grid.part.shape) == 0) return plan;
  const Shape box = shape_of_boxes(grid, tiles, static_cast<i64>(vectors.size()), budget);
  std::vector<i64> numbers, buffers;
  for (const SweptVector& v : vectors) numbers.push_back(plan.add_store("vector", v.store));
  for (std::size_t i = 0; i < 2 * vectors.size(); ++i)
    buffers.push_back(plan.add_buffer(count_of(box) * size_of(dtype)));
  std::size_t round = 0;
  const store::Box all{Shape(grid.part.shape.size(), 0), grid.part.shape};
  for (const store::Box& part : streaming::parts_of(all, box)) {
    streaming::Step step;
    const std::vector<Piece> pieces = pieces_of(grid, part);
    std::vector<BufferView> views;
    for (std::size_t i = 0; i < vectors.size(); ++i) {
      const i64 buffer = buffers[(round % 2) * vectors.size() + i];
      views.push_back(streaming::dense_view(buffer, part.shape, dtype));
      for (const Piece& p : pieces) {
        const BufferView view{buffer, p.layout, dtype};
        if (vectors[i].read) step.reads.push_back({numbers[i], p.box, view});
        if (vectors[i].changed) step.writes.push_back({numbers[i], p.box, view});
      }
    }
    step.compute = [work, views, begin = part.begin](const streaming::Buffers& memory) {
      std::vector<Array> arrays;
      for (const BufferView& v : views) arrays.push_back(memory(v));
      work(arrays, begin);
    };
    plan.add_step(std::move(step));
    ++round;
  }
  return plan;
}

}  // namespace tessera
