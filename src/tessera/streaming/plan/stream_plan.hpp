// SPDX-License-Identifier: Apache-2.0
#pragma once
// A static schedule of steps over tile stores: boxes are read into buffers, a function computes,
// boxes are written. All buffers are parts of one block that a run takes once, within the budget.
// While a step computes, the reads of the steps behind it are under way as far as their buffers are
// free, and so are the writes of those before it; a read waits for earlier writes of the same
// elements, in the plan's order. Nothing here knows what is computed. Buffers may lie on a device,
// where the steps compute: then boxes pass through pinned host memory on their way.
//   StreamPlan p = plan_copy(from, to, {.budget = 1 << 20});   p.explain();   p.run();

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tessera/store/tiles/tile_store.hpp"
#include "tessera/streaming/plan/pass_figures.hpp"

namespace tessera::streaming {

using store::Box;
using StorePtr = std::shared_ptr<store::TileStore>;

struct Options {
  i64 budget = 0;  // bytes that a run may hold where it computes; 0: as many as help
};

// A part of a buffer as an array: the layout's offset counts elements from the buffer's start.
struct BufferView {
  i64 buffer = 0;
  Layout layout;
  DType dtype = DType::f32;
};

// A box of a store that comes into a buffer or goes from it.
struct Move {
  i64 store = 0;
  Box box;
  BufferView view;
};

// What a computation sees of a run: its buffers as arrays.
class TESSERA_API Buffers {
 public:
  Buffers(Array block, const std::vector<i64>& offsets) : block_(block), offsets_(offsets) {}
  Array operator()(const BufferView& view) const;
  template <class T>
  T* at(i64 buffer) const {
    return reinterpret_cast<T*>(static_cast<std::byte*>(block_.data()) +
                                offsets_[static_cast<std::size_t>(buffer)]);
  }

 private:
  Array block_;
  const std::vector<i64>& offsets_;
};

struct Step {
  std::vector<Move> reads, writes;
  std::vector<i64> uses;  // further buffers that the computation touches
  // Whether a run may begin here when everything before has been written: this step and those
  // behind it need nothing that earlier ones left in buffers, but for what is preloaded.
  bool restarts = false;
  // What a run that begins here reads first: what earlier steps left in buffers, from the stores
  // to which they wrote it as well.
  std::vector<Move> restores = {};
  // Whether it changes what earlier steps have read, so that they cannot be repeated from here on:
  // it restarts, and is always a mark.
  bool overwrites = false;
  // Whether it reads nothing before all steps before it have been written: the first of a phase.
  bool waits = false;
  std::function<void(const Buffers&)> compute;
};

// Stores beside the output that a plan needs while it runs, by name: in tiles of the shape that it
// asks for, where who makes them takes one, and otherwise in tiles that suit the budget.
class MakeScratch {
  using Tile = std::optional<Shape>;

 public:
  MakeScratch() = default;
  template <class F>
  MakeScratch(F make) {
    if constexpr (std::is_invocable_v<F, std::string_view, const Shape&, DType, const Tile&>)
      make_ = std::move(make);
    else
      make_ = [make = std::move(make)](std::string_view name, const Shape& shape, DType dtype,
                                       const Tile&) { return make(name, shape, dtype); };
  }
  StorePtr operator()(std::string_view name, const Shape& shape, DType dtype,
                      const Tile& tile = {}) const {
    return make_(name, shape, dtype, tile);
  }

 private:
  std::function<StorePtr(std::string_view, const Shape&, DType, const Tile&)> make_;
};

// Who follows a run, and from where it goes.
struct Watch {
  i64 first = 0;  // the step to begin with: 0, or one that restarts
  // Asked before steps that restart, with the step: whether that shall be a mark; steps that
  // overwrite are one unasked. Then everything before it is written to its store, and `mark` is told.
  std::function<bool(i64 step)> wants_mark = {};
  std::function<void(i64 step)> mark = {};
};

// Called between the steps of every run, on the thread that runs it: what it throws ends the run.
// Python looks for Ctrl-C there.
TESSERA_API void set_stream_poll(void (*poll)());
// The same call, for computations that take longer than people wait.
TESSERA_API void poll_stream();

class TESSERA_API StreamPlan {
 public:
  StreamPlan(std::string title, const Options& options) : options_(options) {
    figures_.title = std::move(title);
    figures_.budget = options.budget;
  }

  // For those who make plans. Before anything is added: the device of the buffers, which are dense,
  // and of computations, which may only enqueue on its home stream.
  void compute_on(Device device);
  i64 add_store(std::string role, StorePtr store);
  i64 add_buffer(i64 bytes);
  // Buffers that are added from here on lie where those before do: the step that is added next
  // begins when all before it have been written.
  void begin_phase();
  void add_step(Step step);
  // A box that is read before the first step of a run, wherever that is, and stays.
  void add_preload(Move move);
  // What a step moves whose computation reads and writes by itself, because what it finds decides
  // where. It names the buffers of earlier writes as used: they have ended before it.
  void add_traffic(i64 store, i64 read, i64 written);
  // Bytes beside the buffers that a run takes there: results and work spaces.
  void add_held(i64 bytes) { figures_.held += bytes; }
  // Of host memory, wherever it computes.
  void add_held_by_host(i64 bytes) {
    (figures_.device == cpu ? figures_.held : figures_.beside) += bytes;
  }
  void add_note(std::string note) { figures_.notes.push_back(std::move(note)); }
  // What all steps compute, for forecasts.
  void add_work(const Workload& work) { figures_.work.push_back(work); }
  // Called after the last step, with everything written.
  void at_end(std::function<Array(const Buffers&)> result) { result_of_ = std::move(result); }
  // Shape and dtype of that result.
  void gives(const Shape& shape, DType dtype) { given_ = {shape, dtype}; }

  const PassFigures& figures() const { return figures_; }
  i64 bytes_read() const { return figures_.wanted().read; }
  i64 bytes_written() const { return figures_.wanted().written; }
  i64 bytes_held() const { return figures_.held; }  // the peak of a run
  i64 steps() const { return static_cast<i64>(steps_.size()); }
  // What the steps move, and where a run may begin: two plans with one fingerprint have the same steps.
  std::uint64_t fingerprint() const { return fingerprint_; }
  std::string explain() const { return figures_.explain(); }
  // Runs all steps. What a store or a step throws passes, after every transfer has ended. Returns
  // what the operation gives back in memory; no array where it writes into a store.
  // Long runs show a bar on a terminal. Within a Planning it is noted and not run.
  Array run(const Watch& watch = {});

  // The bytes that a buffer of so many takes: whole pages where it is large, for direct IO.
  static i64 rounded(i64 bytes);

 private:
  class Run;
  void count_read(const Move& move);
  void count_write(const Move& move);

  Options options_;
  PassFigures figures_;  // its stores are those below
  std::vector<StorePtr> stores_;
  std::vector<i64> offsets_;
  i64 buffer_bytes_ = 0;
  i64 phase_bytes_ = 0;  // of the buffers of this phase
  bool begins_phase_ = false;
  std::vector<Step> steps_;
  std::uint64_t fingerprint_ = 0;
  std::vector<Move> preloads_;
  std::vector<std::vector<i64>> free_after_;  // of each read: the last earlier step on its buffer
  std::vector<i64> last_use_;                 // of each buffer
  std::function<Array(const Buffers&)> result_of_;
  std::pair<Shape, DType> given_{{}, DType::f64};
};

// A budget of 0 is one that allows everything.
inline i64 budget_of(const Options& options) {
  return options.budget > 0 ? options.budget : std::numeric_limits<i64>::max() / 4;
}
// Bytes of a tile of which a few fit a budget.
inline i64 tile_bytes_for(i64 budget) {
  constexpr i64 least = i64{256} << 10, share = 16;
  return std::clamp(budget / share, least, store::TileGrid::default_tile_bytes);
}
// The refusal of a budget that is too small.
TESSERA_API void require_budget(std::string_view who, const Options& options, i64 least);

TESSERA_API bool overlap(const Box& a, const Box& b);
inline BufferView dense_view(i64 buffer, const Shape& shape, DType dtype) {
  return {buffer, Layout::contiguous(shape), dtype};
}

}  // namespace tessera::streaming
