// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/stored/vector_sweep.hpp"

#include <algorithm>

namespace tessera::solve_stored {
namespace {

using streaming::Buffers;
using streaming::BufferView;

// The largest boxes of which two rounds fit the budget.
Shape box_shape(const store::TileGrid& grid, std::size_t vectors, i64 budget) {
  Shape box = grid.tile_shape();
  const auto held = [&] {
    return 2 * static_cast<i64>(vectors) *
           streaming::StreamPlan::rounded(count_of(box) * size_of(grid.dtype()));
  };
  while (held() > budget && count_of(box) > 1) {
    i64& longest = *std::max_element(box.begin(), box.end());
    longest = (longest + 1) / 2;
  }
  return box;
}

template <class T>
Swept<T> numbers_of(const Buffers& buffers, const std::vector<BufferView>& views) {
  Swept<T> box{
      {}, views.front().layout.size() * size_of(views.front().dtype) / static_cast<i64>(sizeof(T))};
  for (const BufferView& v : views) box.vectors.push_back(buffers.at<T>(v.buffer));
  return box;
}

}  // namespace

streaming::StreamPlan plan_sweep(std::string title, const std::vector<SweptVector>& vectors,
                                 const SweepWork& work) {
  const store::TileGrid& grid = vectors.front().store->grid();
  const DType real = real_of(grid.dtype());
  require<DTypeError>(real == DType::f32 || real == DType::f64, title, ": vectors on disk are of ",
                      name(grid.dtype()),
                      ", expected float32, float64 or complex numbers of these");
  const i64 budget = streaming::stream_budget();
  streaming::StreamPlan plan(std::move(title), {.budget = budget});
  if (count_of(grid.shape()) == 0) return plan;
  const Shape box = box_shape(grid, vectors.size(), budget);
  std::vector<i64> numbers, buffers;
  for (const SweptVector& v : vectors) numbers.push_back(plan.add_store("vector", v.store));
  for (std::size_t i = 0; i < 2 * vectors.size(); ++i)
    buffers.push_back(plan.add_buffer(count_of(box) * size_of(grid.dtype())));
  std::size_t round = 0;
  for (i64 t = 0; t < grid.tiles(); ++t)
    for (const store::Box& part : streaming::parts_of(grid.tile(t), box)) {
      streaming::Step step;
      std::vector<BufferView> views;
      for (std::size_t i = 0; i < vectors.size(); ++i) {
        const i64 buffer = buffers[(round % 2) * vectors.size() + i];
        views.push_back(streaming::dense_view(buffer, part.shape, grid.dtype()));
        step.reads.push_back({numbers[i], part, views.back()});
        if (vectors[i].changed) step.writes.push_back({numbers[i], part, views.back()});
      }
      step.compute = [work, views, real](const Buffers& all) {
        real == DType::f32 ? work.single(numbers_of<float>(all, views))
                           : work.twice(numbers_of<double>(all, views));
      };
      plan.add_step(std::move(step));
      ++round;
    }
  return plan;
}

}  // namespace tessera::solve_stored
