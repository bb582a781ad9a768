// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/stored_array.hpp"

#include <algorithm>
#include <mutex>

#include "tessera/device/host_limits.hpp"
#include "tessera/device/memory.hpp"
#include "tessera/store/tiers/backing_file.hpp"
#include "tessera/store/tiles/tiled_file.hpp"

namespace tessera::streaming {
namespace {

// A tiled file of the backing folder: the name goes with the last handle of the store.
class BackedStore final : public store::TileStore {
 public:
  explicit BackedStore(const store::TileGrid& grid) : file_(store::BackingFile::make("array")) {
    file_.claim(0, store::tiled_file_bytes(grid));
    store::TiledFileOptions options;
    options.reserve = false;  // claimed above
    tiles_ = store::format_tiled_file(file_.path(), grid, options);
  }
  const store::TileGrid& grid() const override { return tiles_->grid(); }
  std::string describe() const override { return tiles_->describe(); }
  bool writable() const override { return tiles_->writable(); }
  bool on_disk() const override { return true; }
  store::Transfer read(const Box& box, const Array& into) override {
    return tiles_->read(box, into);
  }
  store::Transfer write(const Box& box, const Array& from) override {
    return tiles_->write(box, from);
  }
  void advise(store::Access access) override { tiles_->advise(access); }
  void prefetch(const Box& box) override { tiles_->prefetch(box); }
  void discard(const Box& box) override { tiles_->discard(box); }
  void flush() override { tiles_->flush(); }

 private:
  store::BackingFile file_;
  StorePtr tiles_;
};

// Tiles small enough that a few of them fit the budget.
store::TileGrid grid_for(const Shape& shape, DType dtype) {
  constexpr i64 least = i64{256} << 10, share = 16;
  return store::TileGrid::square(
      shape, dtype,
      std::clamp(stream_budget() / share, least, store::TileGrid::default_tile_bytes));
}

StorePtr new_store(const Shape& shape, DType dtype, const std::string& path) {
  const store::TileGrid grid = grid_for(shape, dtype);
  if (path.empty()) return std::make_shared<BackedStore>(grid);
  return store::create_tiled_file(path, grid);
}

Options options_now() { return {.budget = stream_budget()}; }

void require_matrices(const StoredArray& a, const StoredArray& b) {
  require<ShapeError>(a.ndim() == 2 && b.ndim() == 2 && a.shape()[1] == b.shape()[0],
                      "matmul: stored matrices of shapes ", tessera::to_text(a.shape()), " and ",
                      tessera::to_text(b.shape()), " cannot be multiplied");
}

// Some elements of a formula, piece by piece: sources and registers of a piece are small.
Array evaluated(const Expression& formula, const Box& box) {
  constexpr i64 piece_bytes = i64{4} << 20;
  const Program program(formula);
  Array out = Array::empty(box.shape, program.dtype());
  const Shape piece = store::TileGrid::rows(box.shape, DType::c128, piece_bytes).tile_shape();
  const Array registers =
      Array::empty({program.register_bytes(std::max<i64>(count_of(piece), 1))}, DType::u8);
  if (box.size() == 0) return out;
  for (const Box& part : parts_of(box, piece)) {
    std::vector<Program::Part> parts;
    for (const StorePtr& s : program.sources()) {
      const Box source = beside(part, s->grid().shape());
      parts.push_back({store::read_box(*s, source), source});
    }
    program.run(parts, part, registers, part_within({out, box}, part));
  }
  return out;
}

// Both in the dtype of the product, which has one of its own for float and complex numbers.
StoredArray as_factor(const StoredArray& a, DType dtype) {
  return StoredArray(StoredArray(a.expression().as(dtype)).store());
}

DType product_dtype(const StoredArray& a, const StoredArray& b) {
  const DType t = promote(a.dtype(), b.dtype());
  const bool known = t == DType::f32 || t == DType::f64 || t == DType::c64 || t == DType::c128;
  return known ? t : promote(t, DType::f32);
}

}  // namespace

i64 stream_budget() {
  const MemoryStats host = memory_stats(cpu);
  const i64 free = host_memory_available() / 2;
  if (host.budget <= 0) return std::max<i64>(free, 1);
  return std::max<i64>(std::min(host.budget - host.in_use, free), 1);
}

struct StoredArray::State {
  explicit State(const Expression& e) : formula(e) {}
  std::mutex mutex;
  Expression formula;  // of the store, once there is one
  StorePtr store;
};

StoredArray::StoredArray(StorePtr store) : state_(std::make_shared<State>(Expression(store))) {
  state_->store = std::move(store);
}
StoredArray::StoredArray(const Expression& formula) : state_(std::make_shared<State>(formula)) {
  state_->store = formula.store();
}

StoredArray StoredArray::create(const Shape& shape, DType dtype, const std::string& path) {
  return StoredArray(new_store(shape, dtype, path));
}

StoredArray StoredArray::open(const std::string& path, bool writable) {
  return StoredArray(store::open_tiled_file(path, writable));
}

StoredArray StoredArray::from(const Array& array, const std::string& path) {
  const StoredArray out = create(array.shape(), array.dtype(), path);
  assign(Expression(array.to(cpu)), out.store(), options_now());
  return out;
}

bool StoredArray::is_formula() const {
  std::lock_guard lock(state_->mutex);
  return state_->store == nullptr;
}
const Expression& StoredArray::expression() const { return state_->formula; }

StorePtr StoredArray::store() const {
  std::lock_guard lock(state_->mutex);
  if (!state_->store) {
    const StorePtr out = new_store(shape(), dtype(), "");
    assign(state_->formula, out, options_now());
    state_->store = out;
  }
  return state_->store;
}

std::string StoredArray::describe() const {
  {
    std::lock_guard lock(state_->mutex);
    if (state_->store) return state_->store->describe();
  }
  const Program program(state_->formula);
  std::string sources;
  for (const StorePtr& s : program.sources())
    sources += cat(sources.empty() ? "" : "; ", s->describe());
  return cat("formula over ", sources);
}

Array StoredArray::read(const Box& box) const {
  store::TileGrid(shape(), Shape(ndim(), 1), dtype()).check("read", box);
  return is_formula() ? evaluated(expression(), box) : store::read_box(*store(), box);
}

void StoredArray::write(const Box& box, const Array& from) const {
  require<ArgumentError>(!is_formula(),
                         "write: this array is a formula; save it or store it first");
  const Array whole = from.broadcast_to(box.shape).astype(dtype());
  store::write_box(*store(), box, whole);
}

StoredArray StoredArray::save(const std::string& path) const {
  const StorePtr out = new_store(shape(), dtype(), path);
  assign(expression(), out, options_now());
  out->flush();
  return StoredArray(out);
}

StoredArray StoredArray::transpose(const std::optional<Shape>& axes) const {
  Shape order(ndim(), 0), to(ndim(), 0);
  for (i64 d = 0; d < ndim(); ++d) order[d] = axes ? (*axes)[d] : ndim() - 1 - d;
  for (i64 d = 0; d < ndim(); ++d) to[d] = shape()[normalize_axis(order[d], ndim(), "transpose")];
  const StorePtr out = new_store(to, dtype(), "");
  plan_transpose(store(), out, order, options_now()).run();
  return StoredArray(out);
}

StoredArray apply(ElementOp op, std::span<const Expression> inputs) {
  return StoredArray(Expression::apply(op, inputs));
}
StoredArray operator+(const StoredArray& a, const StoredArray& b) {
  return StoredArray(a.expression() + b.expression());
}
StoredArray operator-(const StoredArray& a, const StoredArray& b) {
  return StoredArray(a.expression() - b.expression());
}
StoredArray operator*(const StoredArray& a, const StoredArray& b) {
  return StoredArray(a.expression() * b.expression());
}
StoredArray operator/(const StoredArray& a, const StoredArray& b) {
  return StoredArray(a.expression() / b.expression());
}

StoredArray matmul(const StoredArray& a, const StoredArray& b) {
  require_matrices(a, b);
  const DType dtype = product_dtype(a, b);
  const StoredArray left = as_factor(a, dtype), right = as_factor(b, dtype);
  const StoredArray out = StoredArray::create({a.shape()[0], b.shape()[1]}, dtype);
  matmul(left.store(), right.store(), out.store(), {}, options_now());
  return out;
}

}  // namespace tessera::streaming
