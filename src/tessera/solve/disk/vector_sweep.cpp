// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/disk/vector_sweep.hpp"

#include <algorithm>
#include <array>

#include "tessera/store/tiles/slab.hpp"

namespace tessera {
namespace {

using streaming::Buffers;
using streaming::BufferView;
using streaming::StorePtr;

// The largest boxes of a part of which two rounds fit the budget.
Shape box_shape(const store::TileGrid& grid, const Shape& part, std::size_t vectors, i64 budget,
                const Axes& uncut) {
  Shape box = part;
  for (i64 axis = 0; axis < box.size(); ++axis)
    if (std::find(uncut.begin(), uncut.end(), axis) == uncut.end())
      box[axis] = std::min(box[axis], grid.tile_shape()[axis]);
  const auto held = [&] {
    return 2 * static_cast<i64>(vectors) *
           streaming::StreamPlan::rounded(count_of(box) * size_of(grid.dtype()));
  };
  const auto longest = [&]() -> i64* {
    i64* found = nullptr;
    for (i64 axis = 0; axis < box.size(); ++axis)
      if (std::find(uncut.begin(), uncut.end(), axis) == uncut.end() && box[axis] > 1 &&
          (!found || box[axis] > *found))
        found = &box[axis];
    return found;
  };
  while (held() > budget) {
    i64* const axis = longest();
    if (!axis) break;
    *axis = (*axis + 1) / 2;
  }
  streaming::require_budget("vectors on disk", {.budget = budget}, held());
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
                                 const SweepWork& work, i64 budget, const Axes& uncut,
                                 const std::optional<store::Box>& part_or_all) {
  const store::TileGrid& grid = vectors.front().store->grid();
  const DType real = real_of(grid.dtype());
  require<DTypeError>(real == DType::f32 || real == DType::f64, title, ": vectors on disk are of ",
                      name(grid.dtype()),
                      ", expected float32, float64 or complex numbers of these");
  streaming::StreamPlan plan(std::move(title), {.budget = budget});
  const store::Box all = part_or_all.value_or(grid.whole());
  if (count_of(all.shape) == 0) return plan;
  const Shape box = box_shape(grid, all.shape, vectors.size(), budget, uncut);
  Shape tiles = uncut.empty() ? grid.tile_shape() : box;
  for (const i64 axis : uncut) tiles[axis] = grid.shape()[axis];
  const store::TileGrid cut(grid.shape(), tiles, grid.dtype());
  std::vector<i64> numbers, buffers;
  for (const SweptVector& v : vectors) numbers.push_back(plan.add_store("vector", v.store));
  for (std::size_t i = 0; i < 2 * vectors.size(); ++i)
    buffers.push_back(plan.add_buffer(count_of(box) * size_of(grid.dtype())));
  std::size_t round = 0;
  for (const i64 t : cut.tiles_of(all))
    for (const store::Box& part : streaming::parts_of(intersection(cut.tile(t), all), box)) {
      streaming::Step step;
      std::vector<BufferView> views;
      for (std::size_t i = 0; i < vectors.size(); ++i) {
        const i64 buffer = buffers[(round % 2) * vectors.size() + i];
        views.push_back(streaming::dense_view(buffer, part.shape, grid.dtype()));
        if (vectors[i].read) step.reads.push_back({numbers[i], part, views.back()});
        if (vectors[i].changed) step.writes.push_back({numbers[i], part, views.back()});
      }
      step.compute = [work, views, real, part](const Buffers& all) {
        real == DType::f32 ? work.single(numbers_of<float>(all, views), part)
                           : work.twice(numbers_of<double>(all, views), part);
      };
      plan.add_step(std::move(step));
      ++round;
    }
  return plan;
}

bool SweepProgram::takes(const StorePtr& vector, const Factor& factor) const {
  if (ops_.empty()) return true;
  const store::TileGrid &mine = vectors_.front().store->grid(), &other = vector->grid();
  return mine.shape() == other.shape() && mine.dtype() == other.dtype() &&
         std::none_of(ops_.begin(), ops_.end(), [&](const Op& op) {
           return op.kind == SweepKind::dot && factor.cell >= 0;  // perhaps made of this sum
         });
}

int SweepProgram::number_of(const StorePtr& store, bool reads, bool changes) {
  if (!store) return -1;
  for (std::size_t i = 0; i < vectors_.size(); ++i)
    if (vectors_[i].store == store) {
      vectors_[i].changed = vectors_[i].changed || changes;
      return static_cast<int>(i);
    }
  vectors_.push_back({store, changes, reads});
  return static_cast<int>(vectors_.size()) - 1;
}

void SweepProgram::add(SweepKind kind, const Operands& in, const StorePtr& to, i64 cell) {
  const int a = number_of(in.a, true, false), b = number_of(in.b, true, false);
  ops_.push_back({kind, a, b, number_of(to, false, true), in.factor, cell});
}

namespace {

// So many numbers of each vector stay in the cache from one operation to the next.
constexpr i64 chunk = 2048;

// Several sums side by side, which the processor adds at once.
template <class T>
double dot_of(const T* a, const T* b, i64 n) {
  std::array<double, 8> sums{};
  i64 i = 0;
  for (; i + 8 <= n; i += 8)
    for (std::size_t k = 0; k < 8; ++k) {
      const i64 at = i + static_cast<i64>(k);
      sums[k] += static_cast<double>(a[at]) * static_cast<double>(b[at]);
    }
  for (; i < n; ++i) sums[0] += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

template <class T>
void element(SweepKind kind, const T* a, T f, const T* b, T* y, i64 n) {
  const auto each = [&](auto value) {
    for (i64 i = 0; i < n; ++i) y[i] = value(i);
  };
  switch (kind) {
    case SweepKind::copy: return each([&](i64 i) { return a[i]; });
    case SweepKind::fill: return each([&](i64) { return f; });
    case SweepKind::scale: return each([&](i64 i) { return f * a[i]; });
    case SweepKind::add: return each([&](i64 i) { return a[i] + b[i]; });
    case SweepKind::subtract: return each([&](i64 i) { return a[i] - b[i]; });
    case SweepKind::multiply_add: return each([&](i64 i) { return a[i] * f + b[i]; });
    case SweepKind::select: return each([&](i64 i) { return f != T{0} ? a[i] : b[i]; });
    case SweepKind::dot:
    case SweepKind::norm2: return;
  }
}

}  // namespace

template <class T>
void SweepProgram::work_on(const Swept<T>& box) {
  const auto numbers = [&](int vector, i64 from) -> T* {
    return vector < 0 ? nullptr : box.vectors[static_cast<std::size_t>(vector)] + from;
  };
  const T* cells = reinterpret_cast<const T*>(cells_);
  for (i64 from = 0; from < box.count; from += chunk) {
    const i64 n = std::min(chunk, box.count - from);
    for (Op& op : ops_) {
      const T *a = numbers(op.a, from), *b = numbers(op.b, from);
      if (op.kind == SweepKind::dot) {
        op.sum += dot_of(a, b, n);
        continue;
      }
      const T f = op.factor.cell >= 0 ? cells[op.factor.cell] : static_cast<T>(op.factor.value);
      element(op.kind, a, f, b, numbers(op.to, from), n);
    }
  }
}

void SweepProgram::run(double* cells, i64 budget) {
  if (!plan_)
    plan_.emplace(plan_sweep("vectors on disk", vectors_,
                             sweep_work([this](const auto& box, const auto&) { work_on(box); }),
                             budget));
  cells_ = cells;
  for (Op& op : ops_) op.sum = 0;
  plan_->run();
  for (const Op& op : ops_)
    if (op.kind == SweepKind::dot) cells[op.cell] = op.sum;
}

}  // namespace tessera
