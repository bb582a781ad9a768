// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/stored/result_store.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <mutex>
#include <vector>

#include "tessera/device/host_limits.hpp"
#include "tessera/device/memory.hpp"
#include "tessera/device/registry.hpp"
#include "tessera/store/tiles/open_store.hpp"
#include "tessera/store/tiles/tiled_file.hpp"
#include "tessera/streaming/plan/planning.hpp"
#include "tessera/streaming/stored/stored_array.hpp"

namespace tessera::streaming {
namespace {

// What the user's budget leaves.
i64 within_budget() {
  const MemoryStats host = memory_stats(cpu);
  return host.budget > 0 ? host.budget - host.in_use : std::numeric_limits<i64>::max();
}
// What an operation could hold at most.
i64 stream_limit(Device device) {
  return device == cpu ? std::min(within_budget(), host_memory_available()) : stream_budget(device);
}

class BackedStore final : public store::TileStore {
 public:
  BackedStore(const store::TileGrid& grid, store::Space space, i64 bytes)
      : file_(store::BackingFile::make("array")) {
    file_.claim(0, bytes, space);
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
    std::lock_guard lock(mutex_);  // until it is on its way: version() waits for it
    version_.clear();
    return tiles_->write(box, from);
  }
  std::string version() const override {
    std::lock_guard lock(mutex_);
    if (version_.empty()) {
      tiles_->flush();  // what is still being written is part of it
      version_ = store::version_of_numbers(grid(), [&](const Box& box, const Array& into) {
        poll_stream();
        tiles_->read(box, into).wait();
      });
    }
    return version_;
  }
  i64 bytes_to_read(const Box& box, const Layout& into) const override {
    return tiles_->bytes_to_read(box, into);
  }
  void advise(store::Access access) override { tiles_->advise(access); }
  void prefetch(const Box& box) override { tiles_->prefetch(box); }
  void discard(const Box& box) override { tiles_->discard(box); }
  i64 resident(const Box& box) const override { return tiles_->resident(box); }
  void flush() override { tiles_->flush(); }

 private:
  store::BackingFile file_;
  StorePtr tiles_;
  mutable std::mutex mutex_;
  mutable std::string version_;
};

}  // namespace

i64 stream_budget() {
  const i64 share = host_memory_available() / 2 / processes_here();
  return std::max<i64>(std::min(within_budget(), share), 1);
}

i64 stream_budget(Device device) {
  if (device == cpu) return stream_budget();
  const MemoryStats held = memory_stats(device);
  const i64 free =
      compute_device(device).info(device.index).memory_free + held.reserved - held.in_use;
  const i64 left = held.budget > 0 ? held.budget - held.in_use : free / 10 * 9;
  return std::max<i64>(std::min(left, free), 1);
}

store::TileGrid grid_for(const Shape& shape, DType dtype) {
  return store::TileGrid::square(shape, dtype, tile_bytes_for(stream_budget()));
}

StorePtr backed_store(const store::TileGrid& grid, store::Space space) {
  if (Planning* planning = Planning::now())
    return planning->store("new file of the backing folder", grid);
  return std::make_shared<BackedStore>(grid, space, store::tiled_file_bytes(grid));
}

StorePtr half_backed_store(const store::TileGrid& grid) {
  if (Planning* planning = Planning::now())
    return planning->store("new file of the backing folder, of which half is written", grid);
  const i64 all = store::tiled_file_bytes(grid);
  const i64 on_diagonal = std::max(grid.counts()[0], grid.counts()[1]) * grid.tile_bytes();
  return std::make_shared<BackedStore>(grid, store::Space::later,
                                       std::min(all, all / 2 + on_diagonal));
}

StorePtr backed_scratch(std::string_view, const Shape& shape, DType dtype,
                        const std::optional<Shape>& tile) {
  return backed_store(tile ? store::TileGrid(shape, *tile, dtype) : grid_for(shape, dtype),
                      store::Space::now);
}

i64 result_budget(const std::string& path, Device device) {
  const i64 all = stream_budget(device);
  return path.empty() ? all : std::max<i64>(all / 8 * 7, 1);
}

namespace {

// The same files and steps as a job that is begun now.
StorePtr planned_job(Planning& planning, const std::string& path, const store::TileGrid& grid,
                     i64 budget, const PlanInto& plan) {
  namespace fs = std::filesystem;
  // As run_job() refuses it; a job that lies there may be one to go on with.
  require<IoError>(!fs::exists(path) || fs::exists(path + ".job"), "cannot create '", path,
                   "': File exists");
  const StorePtr out = planning.store(cat("new file ", path), grid);
  const auto scratch = [&](std::string_view name, const Shape& shape, DType dtype,
                           const std::optional<Shape>& tile) {
    return planning.store(cat("file ", path, ".partial.", name, " until it ends"),
                          tile ? store::TileGrid(shape, *tile, dtype)
                               : store::TileGrid::square(shape, dtype, tile_bytes_for(budget)));
  };
  StreamPlan steps = plan(out, {.budget = budget}, scratch);
  steps.add_note(
      "a job: goes on where it was ended; operands that no file of yours holds are read once more, "
      "to know them again");
  steps.run();
  return out;
}

}  // namespace

StorePtr result_store(const ResultSpec& what, const PlanInto& plan) {
  const store::TileGrid grid = what.grid.value_or(grid_for(what.shape, what.dtype));
  const i64 budget = result_budget(what.path, what.device);
  if (!what.path.empty()) {
    store::require_result_name(what.path);
    if (Planning* planning = Planning::now())
      return planned_job(*planning, what.path, grid, budget, plan);
    const Job job{
        what.path,    what.facts(), budget,    std::max(stream_limit(what.device), budget),
        what.scratch, what.half,    what.about};
    return run_job(job, grid, plan);
  }
  const StorePtr out = what.half ? half_backed_store(grid) : backed_store(grid, store::Space::now);
  plan(out, {.budget = budget}, backed_scratch).run();
  return out;
}

}  // namespace tessera::streaming
