// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/plan/planning.hpp"

#include "tessera/store/tiles/tiled_file.hpp"

namespace tessera::streaming {
namespace {

thread_local Planning* planning_now = nullptr;

}  // namespace

// Within a planning its bytes count as long as somebody holds it, as those of a file do; it may
// outlive the planning.
class PlannedStore final : public store::TileStore {
 public:
  PlannedStore(std::string description, store::TileGrid grid, Planning* counted)
      : description_(std::move(description)),
        grid_(std::move(grid)),
        bytes_(counted ? store::tiled_file_bytes(grid_) : 0) {
    if (!counted) return;
    counted->disk_now_ += bytes_;
    counted->disk_peak_ = std::max(counted->disk_peak_, counted->disk_now_);
  }
  ~PlannedStore() override {
    if (Planning* p = Planning::now()) p->disk_now_ -= bytes_;
  }
  const store::TileGrid& grid() const override { return grid_; }
  std::string describe() const override { return description_; }
  bool writable() const override { return true; }
  bool on_disk() const override { return true; }
  store::Transfer read(const Box& box, const Array& into) override {
    store::check_transfer("read", grid_, box, into);
    into.fill(Value(0.0));
    return {};
  }
  store::Transfer write(const Box& box, const Array& from) override {
    store::check_transfer("write", grid_, box, from);
    return {};
  }
  i64 bytes_to_read(const Box& box, const Layout& into) const override {
    return store::tiled_bytes_to_read(grid_, box, into);
  }

 private:
  std::string description_;
  store::TileGrid grid_;
  i64 bytes_;
};

Planning::Planning() {
  require<ArgumentError>(planning_now == nullptr, "explain: this is called within another explain");
  planning_now = this;
}
Planning::~Planning() { planning_now = nullptr; }
Planning* Planning::now() { return planning_now; }

Array planned_numbers(const Shape& shape, DType dtype) {
  return Array::scalar(Value(0.0), dtype).broadcast_to(shape);
}

StorePtr Planning::store(std::string description, const store::TileGrid& grid) {
  return std::make_shared<PlannedStore>(std::move(description), grid, this);
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

}  // namespace tessera::streaming
