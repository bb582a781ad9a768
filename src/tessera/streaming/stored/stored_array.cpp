// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/stored/stored_array.hpp"

#include <algorithm>
#include <filesystem>
#include <mutex>

#include "tessera/compute/context.hpp"
#include "tessera/store/tiles/open_store.hpp"
#include "tessera/streaming/passes/sort.hpp"
#include "tessera/streaming/plan/planning.hpp"
#include "tessera/streaming/stored/result_store.hpp"

namespace tessera::streaming {
namespace {

void require_matrices(const StoredArray& a, const StoredArray& b) {
  require<ShapeError>(a.ndim() == 2 && b.ndim() == 2 && a.shape()[1] == b.shape()[0],
                      "matmul: stored matrices of shapes ", tessera::to_text(a.shape()), " and ",
                      tessera::to_text(b.shape()), " cannot be multiplied");
}

// Some elements of a formula, piece by piece: sources and registers of a piece are small.
Array evaluated(const Expression& formula, const Box& box) {
  constexpr i64 least = i64{64} << 10, most = i64{4} << 20;
  const i64 all = box.size() * size_of(DType::c128);
  const i64 piece_bytes = all <= least ? least : std::clamp(stream_budget() / 16, least, most);
  const Program program(formula);
  Array out = Array::empty(box.shape, program.dtype());
  const Shape piece = store::TileGrid::rows(box.shape, DType::c128, piece_bytes).tile_shape();
  const Array registers =
      Array::empty({program.register_bytes(std::max<i64>(count_of(piece), 1))}, DType::u8);
  if (box.size() == 0) return out;
  if (Planning* planning = Planning::now()) {
    std::vector<Planning::Part> sources;
    for (const StorePtr& s : program.sources())
      sources.push_back({s, beside(box, s->grid().shape())});
    planning->note_read(sources);
    out.fill(Value(0.0));
    return out;
  }
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

StorePtr saved(const Expression& formula, const std::string& path) {
  const auto facts = [&] {
    return JobFacts{{"operation", "assign"}, {"formula", formula.version()}};
  };
  return result_store({path, facts, formula.shape(), formula.dtype()},
                      [&](const StorePtr& out, const Options& options, const MakeScratch&) {
                        return plan_assign(formula, out, options);
                      });
}

bool is_one_file(const std::string& a, const std::string& b) {
  std::error_code unknown;
  return !a.empty() && !b.empty() && std::filesystem::equivalent(a, b, unknown);
}

StorePtr as_factor(const StoredArray& a, DType dtype) {
  return StoredArray(a.expression().as(dtype)).store();
}

struct Factors {
  DType dtype;  // of the product
  Device device;
  StorePtr left, right;

  Factors(const StoredArray& a, const StoredArray& b, std::optional<Device> where)
      : dtype(promote(a.dtype(), b.dtype())),
        device(where ? *where : context().forced().value_or(cpu)) {
    require_matrices(a, b);
    left = as_factor(a, sums_of_product(dtype));
    right = as_factor(b, sums_of_product(dtype));
  }
};

}  // namespace

bool is_same_place(const StorePtr& a, const StorePtr& b) {
  return a == b || (a && b && is_one_file(a->path(), b->path()));
}

struct StoredArray::State {
  explicit State(const Expression& e)
      : shape(e.shape()), dtype(e.dtype()), formula(e), store(e.store()) {}
  const Shape shape;
  const DType dtype;
  std::mutex computing;  // held as long as a formula is computed; the other one never is
  std::mutex mutex;
  Expression formula;  // of the store, once there is one
  StorePtr store;
};

StoredArray::StoredArray(StorePtr store) : StoredArray(Expression(std::move(store))) {}
StoredArray::StoredArray(const Expression& formula) : state_(std::make_shared<State>(formula)) {}

StoredArray StoredArray::create(const Shape& shape, DType dtype, const std::string& path) {
  if (path.empty()) return StoredArray(backed_store(shape, dtype, store::Space::now));
  const store::TileGrid grid = grid_for(shape, dtype);
  if (Planning* planning = Planning::now()) {
    namespace fs = std::filesystem;
    store::require_result_name(path);
    require<IoError>(!fs::exists(fs::symlink_status(path)), "cannot create '", path,
                     "': File exists");
    return StoredArray(planning->store(cat("new file ", path), grid));
  }
  return StoredArray(store::create_store(path, grid));
}

StoredArray StoredArray::zeros(const Shape& shape, DType dtype) {
  return StoredArray(backed_store(shape, dtype, store::Space::later));
}

StoredArray StoredArray::open(const std::string& path, bool writable, const std::string& dataset) {
  return StoredArray(store::open_store(path, writable, dataset));
}

StoredArray StoredArray::in_place(const Array& array) {
  const store::TileGrid grid = store::TileGrid::square(array.shape(), array.dtype());
  return StoredArray(store::memory_store(array, grid.tile_shape()));
}

StoredArray StoredArray::from(const Array& array, const std::string& path) {
  return StoredArray(Expression(array.to(cpu))).save(path);
}

bool StoredArray::is_formula() const {
  std::lock_guard lock(state_->mutex);
  return state_->store == nullptr;
}
const Shape& StoredArray::shape() const { return state_->shape; }
DType StoredArray::dtype() const { return state_->dtype; }
Expression StoredArray::expression() const {
  std::lock_guard lock(state_->mutex);
  return state_->formula;
}

StorePtr StoredArray::store() const {
  const std::lock_guard one(state_->computing);
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->store) return state_->store;
  }
  if (Planning* planning = Planning::now())
    return planning->of_formula(state_, [&] { return saved(expression(), ""); });
  StorePtr made = saved(expression(), "");
  const std::lock_guard lock(state_->mutex);
  state_->formula = Expression(made);
  return state_->store = std::move(made);
}

std::string StoredArray::describe() const {
  {
    std::lock_guard lock(state_->mutex);
    if (state_->store) return state_->store->describe();
  }
  const Program program(expression());
  std::string sources;
  for (const StorePtr& s : program.sources())
    sources += cat(sources.empty() ? "" : "; ", s->describe());
  return cat("formula over ", sources);
}

std::string StoredArray::path() const {
  std::lock_guard lock(state_->mutex);
  return state_->store ? state_->store->path() : std::string();
}

void StoredArray::each_part(const std::function<void(const Array& part)>& take) const {
  constexpr i64 at_a_time = i64{4} << 20;
  if (size() == 0) return;
  const store::TileGrid rows = store::TileGrid::rows(shape(), dtype(), at_a_time);
  for (i64 t = 0; t < rows.tiles(); ++t) {
    poll_stream();
    take(read(rows.tile(t)));
  }
}

Array StoredArray::read(const Box& box) const {
  store::TileGrid(shape(), Shape(ndim(), 1), dtype()).check("read", box);
  return is_formula() ? evaluated(expression(), box) : read_box(store(), box);
}

void StoredArray::write(const Box& box, const Array& from) const {
  require<ArgumentError>(!is_formula(),
                         "write: this array is a formula; save it or store it first");
  const Array whole = from.astype(dtype()).broadcast_to(box.shape);
  write_box(store(), box, whole);
}

StoredArray StoredArray::save(const std::string& path) const {
  return StoredArray(saved(expression(), path));
}

StoredArray StoredArray::transpose(const std::optional<Shape>& axes,
                                   const std::string& path) const {
  require<ArgumentError>(!axes || axes->size() == ndim(), "transpose: axes ",
                         axes.value_or(Shape()), " do not name each of the ", ndim(), " axes once");
  Shape order(ndim(), 0), to(ndim(), 0);
  for (i64 d = 0; d < ndim(); ++d) order[d] = axes ? (*axes)[d] : ndim() - 1 - d;
  for (i64 d = 0; d < ndim(); ++d) to[d] = shape()[normalize_axis(order[d], ndim(), "transpose")];
  const StorePtr from = store();
  const auto facts = [&] {
    return JobFacts{{"operation", cat("transpose by ", order)}, {"source", from->version()}};
  };
  return StoredArray(
      result_store({path, facts, to, dtype()},
                   [&](const StorePtr& out, const Options& options, const MakeScratch&) {
                     return plan_transpose(from, out, order, options);
                   }));
}

Expression kept_operand(const Array& operand) {
  if (operand.bytes() <= stream_budget() / 4) return Expression(operand.copy());
  return StoredArray::from(operand).expression();
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

StoredArray matmul(const StoredArray& a, const StoredArray& b, const std::string& path,
                   std::optional<Device> device) {
  const Factors f(a, b, device);
  const auto facts = [&] {
    return JobFacts{{"operation", cat("matmul in ", name(f.dtype), place_text(f.device))},
                    {"A", f.left->version()},
                    {"B", f.right->version()}};
  };
  const Shape shape{a.shape()[0], b.shape()[1]};
  return StoredArray(result_store(
      {.path = path, .facts = facts, .shape = shape, .dtype = f.dtype, .device = f.device},
      [&](const StorePtr& out, const Options& options, const MakeScratch&) {
        return plan_matmul(f.left, f.right, out, {.device = f.device}, options);
      }));
}

void matmul_into(const StoredArray& out, const StoredArray& a, const StoredArray& b,
                 std::optional<Device> device) {
  const DType dtype = promote(a.dtype(), b.dtype());
  require<ArgumentError>(!out.is_formula(), "matmul: the output is a formula");
  require<DTypeError>(out.dtype() == dtype, "matmul: the product is ", name(dtype), ", the output ",
                      name(out.dtype()));
  const Factors f(a, b, device);
  require<ArgumentError>(
      !is_same_place(out.store(), f.left) && !is_same_place(out.store(), f.right),
      "matmul: the output is one of the factors");
  plan_matmul(f.left, f.right, out.store(), {.device = f.device},
              {.budget = stream_budget(f.device)})
      .run();
}

StoredArray sort(const StoredArray& x, i64 axis, const std::string& path) {
  const i64 last = x.ndim() - 1, along = normalize_axis(axis, x.ndim(), "sort");
  if (along != last) {  // an exchange of two axes, which is its own inverse
    Shape order;
    for (i64 d = 0; d <= last; ++d) order.push_back(d == along ? last : d == last ? along : d);
    return sort(x.transpose(order)).transpose(order, path);
  }
  const StorePtr from = x.store();
  const auto facts = [&] { return JobFacts{{"operation", "sort"}, {"source", from->version()}}; };
  return StoredArray(
      result_store({path, facts, x.shape(), x.dtype(), {"runs", "taken"}},
                   [&](const StorePtr& out, const Options& options, const MakeScratch& scratch) {
                     return plan_sort(from, out, scratch, options, !path.empty());
                   }));
}

}  // namespace tessera::streaming
