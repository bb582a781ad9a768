// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/transforms/split_axis.hpp"

#include <algorithm>
#include <exception>

#include "tessera/streaming/plan/planning.hpp"

namespace tessera::streaming {
namespace {

Shape with_two(const Shape& shape, i64 axis, i64 first, i64 second) {
  Shape out;
  for (i64 d = 0; d < shape.size(); ++d) {
    out.push_back(d == axis ? first : shape[d]);
    if (d == axis) out.push_back(second);
  }
  return out;
}

// Two neighbouring axes as one that holds `length` elements from `begin` on.
Box with_one(const Box& box, i64 axis, i64 begin, i64 length) {
  Box out;
  for (i64 d = 0; d < box.begin.size(); ++d) {
    if (d == axis + 1) continue;
    out.begin.push_back(d == axis ? begin : box.begin[d]);
    out.shape.push_back(d == axis ? length : box.shape[d]);
  }
  return out;
}

struct AllOf final : store::Transfer::State {
  std::vector<store::Transfer> parts;
  // All have ended when the first failure passes.
  void wait() override {
    std::exception_ptr first;
    for (const store::Transfer& t : parts) try {
        t.wait();
      } catch (...) {
        if (!first) first = std::current_exception();
      }
    if (first) std::rethrow_exception(first);
  }
  bool done() const override {
    return std::all_of(parts.begin(), parts.end(), [](const auto& t) { return t.done(); });
  }
};

class SplitAxis final : public store::TileStore {
 public:
  SplitAxis(StorePtr whole, i64 axis, i64 columns)
      : whole_(std::move(whole)),
        axis_(axis),
        columns_(columns),
        grid_(split_grid(whole_->grid(), axis, columns)) {}

  const store::TileGrid& grid() const override { return grid_; }
  std::string describe() const override {
    return cat(whole_->describe(), ", axis ", axis_, " in rows of ", columns_);
  }
  bool writable() const override { return whole_->writable(); }
  bool on_disk() const override { return whole_->on_disk(); }
  std::string version() const override { return whole_->version(); }
  store::Transfer read(const Box& box, const Array& into) override {
    store::check_transfer("read", grid_, box, into);
    return by_rows(box, into,
                   [&](const Box& b, const Array& part) { return whole_->read(b, part); });
  }
  store::Transfer write(const Box& box, const Array& from) override {
    store::check_transfer("write", grid_, box, from);
    return by_rows(box, from,
                   [&](const Box& b, const Array& part) { return whole_->write(b, part); });
  }
  void flush() override { whole_->flush(); }

 private:
  template <class MoveBox>
  store::Transfer by_rows(const Box& box, const Array& memory, MoveBox&& move) const {
    if (box.size() == 0) return {};
    const i64 rows = box.shape[axis_], columns = box.shape[axis_ + 1];
    const i64 first = box.begin[axis_] * columns_ + box.begin[axis_ + 1];
    const Strides& steps = memory.layout().strides;
    const bool joined =
        rows == 1 || (columns == columns_ && steps[axis_] == columns * steps[axis_ + 1]);
    if (joined) return move(with_one(box, axis_, first, rows * columns), line(memory, rows));
    auto all = std::make_shared<AllOf>();
    all->parts.reserve(static_cast<std::size_t>(rows));
    try {
      for (i64 r = 0; r < rows; ++r)
        all->parts.push_back(move(with_one(box, axis_, first + r * columns_, columns),
                                  line(memory.slice(axis_, r, r + 1), 1)));
    } catch (...) {
      try {
        all->wait();
      } catch (...) {  // the first error is on its way already
      }
      throw;
    }
    return store::Transfer(all);
  }
  // Rows that lie behind each other, as one axis.
  Array line(const Array& memory, i64 rows) const {
    Layout l = memory.layout();
    const i64 length = rows * l.shape[axis_ + 1];
    l = l.select(axis_, 0);
    l.shape[axis_] = length;
    return Array(memory.storage(), std::move(l), memory.dtype());
  }

  StorePtr whole_;
  i64 axis_, columns_;
  store::TileGrid grid_;
};

}  // namespace

store::TileGrid split_grid(const store::TileGrid& grid, i64 axis, i64 columns) {
  const i64 n = grid.shape()[axis], tile = grid.tile_shape()[axis];
  return {
      with_two(grid.shape(), axis, (n + columns - 1) / columns, columns),
      with_two(grid.tile_shape(), axis, std::max<i64>(1, tile / columns), std::min(tile, columns)),
      grid.dtype()};
}

StorePtr split_axis(const StorePtr& store, i64 axis, i64 columns) {
  if (const Planning* planning = Planning::now()) planning->require_own(store);  // seen here last
  return std::make_shared<SplitAxis>(store, axis, columns);
}

}  // namespace tessera::streaming
