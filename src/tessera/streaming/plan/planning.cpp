// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/plan/planning.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "tessera/device/stream.hpp"
#include "tessera/store/tiles/tiled_file.hpp"

namespace tessera::streaming {
namespace {

thread_local Planning* planning_now = nullptr;

}  // namespace

// Its bytes count in the planning that made it as long as somebody holds it, as those of a file do; it
// may outlive that planning, and has no numbers then.
class PlannedStore final : public store::TileStore {
 public:
  PlannedStore(std::string description, store::TileGrid grid,
               std::shared_ptr<Planning::Files> counted)
      : description_(std::move(description)), grid_(std::move(grid)), counted_(std::move(counted)) {
    if (!counted_) return;
    counted_->now += store::tiled_file_bytes(grid_);
    counted_->peak = std::max(counted_->peak, counted_->now.load());
  }
  ~PlannedStore() override {
    if (counted_) counted_->now -= store::tiled_file_bytes(grid_);
  }
  const store::TileGrid& grid() const override { return grid_; }
  std::string describe() const override { return description_; }
  bool writable() const override { return true; }
  bool on_disk() const override { return true; }
  store::Transfer read(const Box& box, const Array& into) override {
    store::check_transfer("read", grid_, box, into);
    require_planning("read", Planning::now());
    into.fill(Value(0.0));
    return {};
  }
  store::Transfer write(const Box& box, const Array& from) override {
    store::check_transfer("write", grid_, box, from);
    require_planning("write", Planning::now());
    return {};
  }
  i64 bytes_to_read(const Box& box, const Layout& into) const override {
    return store::tiled_bytes_to_read(grid_, box, into);
  }
  void require_planning(std::string_view who, const Planning* now) const {
    require<ArgumentError>(
        now && now->files_ == counted_, who, ": the ", name(grid_.dtype()), " array of shape ",
        grid_.shape(),
        " is the result of a plan, which computes nothing: make the call itself, "
        "outside of plan and explain, to have its numbers");
  }

 private:
  std::string description_;
  store::TileGrid grid_;
  std::shared_ptr<Planning::Files> counted_;
};

Planning::Planning() {
  require<ArgumentError>(planning_now == nullptr, "explain: this is called within another explain");
  planning_now = this;
}

struct Planning::Numbers {
  std::mutex mutex;
  Array zeros;  // none once nobody holds them

  Array seen(const std::shared_ptr<Numbers>& self) {
    const Storage memory = Storage::adopt(cpu, zeros.data(), zeros.bytes(), [self] {
      const std::lock_guard lock(self->mutex);
      self->zeros = Array();
    });
    return Array(memory, Layout::contiguous(zeros.shape()), zeros.dtype());
  }
  void spoil() {
    const std::lock_guard lock(mutex);
    if (zeros && zeros.dtype() != DType::b1)
      std::memset(zeros.data(), 0xFF, static_cast<std::size_t>(zeros.bytes()));
  }
};

Planning::~Planning() {
  planning_now = nullptr;
  try {
    Stream::home(cpu).sync();  // of who still reads zeros
  } catch (...) {              // what failed there is told to who waits for it
  }
  for (const auto& n : numbers_) n->spoil();
}
Planning* Planning::now() { return planning_now; }

namespace {

Array dense_zeros(const Shape& shape, DType dtype) {
  return Array::scalar(Value(0.0), dtype).broadcast_to(shape).contiguous();
}

}  // namespace

Array Planning::spoiled_later(const Array& zeros) {
  if (zeros.bytes() == 0) return zeros;
  std::erase_if(numbers_, [](const auto& n) {
    const std::lock_guard lock(n->mutex);
    return !n->zeros;
  });
  const auto n = numbers_.emplace_back(std::make_shared<Numbers>());
  n->zeros = zeros;
  return n->seen(n);
}

Array planned_numbers(const Shape& shape, DType dtype) {
  const Array zero = dense_zeros({}, dtype);
  Planning* planning = Planning::now();
  return (planning ? planning->spoiled_later(zero) : zero).broadcast_to(shape);
}

StorePtr Planning::store(std::string description, const store::TileGrid& grid) {
  return std::make_shared<PlannedStore>(std::move(description), grid, files_);
}

StorePtr Planning::unmade_store(std::string description, const store::TileGrid& grid) {
  return std::make_shared<PlannedStore>(std::move(description), grid, nullptr);
}

StorePtr Planning::of_formula(std::shared_ptr<const void> formula,
                              const std::function<StorePtr()>& make) {
  for (const auto& [known, store] : formulas_)
    if (known == formula) return store;
  StorePtr made = make();
  formulas_.emplace_back(std::move(formula), made);
  return made;
}

void Planning::require_own(const StorePtr& store) const {
  if (const auto* planned = dynamic_cast<const PlannedStore*>(store.get()))
    planned->require_planning("plan", this);
}

void Planning::add(PassFigures pass, const std::vector<StorePtr>& stores) {
  for (const StorePtr& s : stores) require_own(s);
  passes_.push_back(std::move(pass));
}

void Planning::note(std::string_view what, const std::vector<Part>& read,
                    const std::vector<Part>& written) {
  std::string of;
  Step step;
  StreamPlan pass("", {});
  std::vector<StorePtr> stores;
  const auto take = [&](const Part& p, std::string_view role, std::vector<Move>& to) {
    const DType dtype = p.store->grid().dtype();
    of += cat(of.empty() ? "" : ", ", p.box.shape, " ", name(dtype));
    stores.push_back(p.store);
    const i64 buffer = pass.add_buffer(p.box.size() * size_of(dtype));
    to.push_back({pass.add_store(std::string(role), p.store), p.box,
                  dense_view(buffer, p.box.shape, dtype)});
  };
  for (const Part& p : read) take(p, "source", step.reads);
  for (const Part& p : written) take(p, "output", step.writes);
  pass.add_step(std::move(step));
  add(pass.figures(), stores);
  passes_.back().title = cat(what, ": ", of);
}

Array read_box(const StorePtr& store, const Box& box) {
  Planning* planning = Planning::now();
  if (!planning) return store::read_box(*store, box);
  planning->note_read({{store, box}});
  return planning->spoiled_later(dense_zeros(box.shape, store->grid().dtype()));
}

void write_box(const StorePtr& store, const Box& box, const Array& from) {
  Planning* planning = Planning::now();
  if (!planning) return store::write_box(*store, box, from);
  store::check_transfer("write", store->grid(), box, from);
  require<IoError>(store->writable(), "write: ", store->describe(), " was opened to be read only");
  planning->note_write({store, box});
}

}  // namespace tessera::streaming
