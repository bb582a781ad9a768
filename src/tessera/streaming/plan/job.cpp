// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/plan/job.hpp"

#include <unistd.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <filesystem>

#include "tessera/device/threads.hpp"
#include "tessera/kernels/linalg/linalg_error.hpp"
#include "tessera/store/tiles/open_store.hpp"
#include "tessera/store/tiles/tiled_file.hpp"
#include "tessera/streaming/plan/job_file.hpp"

namespace tessera::streaming {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

std::atomic<double> mark_seconds{1.0};
constexpr std::string_view budget_fact = "budget";

// What a process cannot tell another one about: no later run has the same.
std::string text_of_this_process() {
  return cat("only process ", getpid(), " knew it, at ", Clock::now().time_since_epoch().count());
}

class JobRun {
 public:
  JobRun(const Job& job, const store::TileGrid& grid)
      : job_(job), grid_(grid), partial_(job.path + ".partial"), file_(job.path + ".job") {
    for (auto& [what, text] : job_.facts) {
      if (text.empty()) text = text_of_this_process();
      text = one_line(text);
    }
    job_.facts.emplace_back("number of threads", cat(num_threads()));  // steps follow from it
    if (job_.path.ends_with(".npy")) job_.about.clear();               // which cannot say it
  }

  // The file of an earlier run that was ended between its last two acts.
  bool is_finished() const {
    return file_.next_step() == JobFile::finished && fs::exists(job_.path) &&
           !fs::exists(partial_) && first_difference() == nullptr;
  }

  StorePtr output() {
    if (file_.is_new()) {
      if (fs::exists(partial_)) {
        file_.remove();
        throw IoError(
            cat(who(), "'", partial_, "' is there without the file of its job: remove it"));
      }
      JobFacts all = job_.facts;
      all.emplace_back(budget_fact, cat(job_.budget));
      file_.begin(all);
    }
    if (const auto* fact = first_difference())
      throw ArgumentError(cat(who(), "'", job_.path, ".job' is of another job: its ", fact->first,
                              " was '", file_.fact(fact->first), "', now it is '", fact->second,
                              "'. Remove it and '", partial_, "' to begin anew"));
    const i64 begun_with = budget();
    require<ArgumentError>(begun_with <= job_.limit, who(), "'", job_.path,
                           ".job' was begun with a budget of ", bytes_text(begun_with),
                           ", now there are ", bytes_text(job_.limit),
                           ". Give it as much, or remove it and '", partial_, "' to begin anew");
    if (file_.next_step() == 0) {
      fs::remove(partial_);  // perhaps without a header yet
      try {
        if ((job_.half || !job_.about.empty()) && !job_.path.ends_with(".npy"))
          return store::create_tiled_file(partial_, grid_,
                                          {.reserve = !job_.half, .about = job_.about});
        return store::create_store(partial_, grid_, job_.path);
      } catch (...) {
        give_up();
        throw;
      }
    }
    require<IoError>(is_written() || fs::exists(partial_), who(), "'", partial_,
                     "' is not there any more: remove '", job_.path, ".job' to begin anew");
    StorePtr out = store::open_store(partial_, true);
    require_own(out, partial_);
    return out;
  }

  // A store beside the output, as it is or new.
  StorePtr scratch(std::string_view name, const Shape& shape, DType dtype,
                   const std::optional<Shape>& tile) {
    const std::string path = cat(partial_, ".", name);
    if (file_.next_step() == 0) fs::remove(path);
    beside_.push_back(file_.next_step() == 0
                          ? store::create_store(path, scratch_grid(shape, dtype, tile))
                          : store::open_store(path, true));
    const store::TileGrid& grid = beside_.back()->grid();
    require<IoError>(grid.shape() == shape && grid.dtype() == dtype, who(), "'", path,
                     "' is not what its job has written: ", beside_.back()->describe());
    return beside_.back();
  }

  bool is_written() const { return file_.next_step() == JobFile::finished; }  // all but its name

  void run(StreamPlan plan, const StorePtr& out) {
    const i64 begin = file_.next_step();
    require<IoError>(begin <= plan.steps(), who(), "'", job_.path, ".job' names step ", begin,
                     " of ", plan.steps());
    if (begin == 0) file_.set_plan(plan.fingerprint());
    require<ArgumentError>(file_.plan() == plan.fingerprint(), who(), "'", job_.path,
                           ".job' counts steps of another cut: an operand has other tiles, or "
                           "another version of the library began it. Remove it and '",
                           partial_, "' to begin anew");
    const auto due = [&] { return Clock::now() + std::chrono::duration<double>(mark_seconds); };
    auto next = due();
    Watch watch;
    watch.first = begin;
    watch.wants_mark = [&](i64 step) { return step > watch.first && Clock::now() >= next; };
    watch.mark = [&](i64 step) {
      out->flush();
      for (const StorePtr& s : beside_) s->flush();
      file_.set_next(step);
      next = due();
    };
    plan.run(watch);
    out->flush();
    file_.set_next(JobFile::finished);
  }

  void finish() {
    require<IoError>(!fs::exists(job_.path), who(), "there is a file '", job_.path, "' now");
    fs::rename(partial_, job_.path);
  }
  // The finished file. Until it has been opened the same call finds it.
  StorePtr result() {
    StorePtr out = store::open_store(job_.path, true);
    require_own(out, job_.path);
    forget();
    return out;
  }
  void forget() noexcept {
    std::error_code ignored;
    for (const std::string& name : job_.scratch) fs::remove(cat(partial_, ".", name), ignored);
    file_.remove();
  }
  // Nothing was written that is worth going on from.
  void undo() noexcept {
    if (file_.next_step() == 0) give_up();
  }
  void give_up() noexcept {
    std::error_code ignored;
    fs::remove(partial_, ignored);
    forget();
  }
  i64 budget() const {
    const std::string text = file_.fact(budget_fact);
    i64 bytes = 0;
    std::from_chars(text.data(), text.data() + text.size(), bytes);
    require<IoError>(bytes > 0, who(), "'", job_.path, ".job' has no budget");
    return bytes;
  }

 private:
  // The same numbers may be meant otherwise: as a matrix of another form, or of none.
  void require_own(const StorePtr& out, const std::string& path) const {
    const std::string about = out->about();
    require<IoError>(out->grid().shape() == grid_.shape() && out->grid().dtype() == grid_.dtype() &&
                         about == job_.about,
                     who(), "'", path, "' is not what its job has written: ", out->describe(),
                     about == job_.about
                         ? ""
                         : cat("; it is said to hold '", about, "', expected '", job_.about, "'"));
  }
  // Tiles of which a few fit the budget that the job was begun with.
  store::TileGrid scratch_grid(const Shape& shape, DType dtype,
                               const std::optional<Shape>& tile) const {
    if (tile) return {shape, *tile, dtype};
    return store::TileGrid::square(shape, dtype, tile_bytes_for(budget()));
  }
  std::string who() const { return cat(job_.facts.front().second, ": "); }
  const std::pair<std::string, std::string>* first_difference() const {
    for (const auto& fact : job_.facts)
      if (file_.fact(fact.first) != fact.second) return &fact;
    return nullptr;
  }

  Job job_;
  store::TileGrid grid_;
  std::string partial_;
  JobFile file_;
  std::vector<StorePtr> beside_;
};

}  // namespace

void set_mark_interval(double seconds) { mark_seconds = seconds; }

StorePtr run_job(const Job& job, const store::TileGrid& grid, const PlanInto& plan) {
  const bool is_there = fs::exists(job.path);
  require<IoError>(!is_there || fs::exists(job.path + ".job"), "cannot create '", job.path,
                   "': File exists");
  JobRun run(job, grid);
  if (run.is_finished()) return run.result();
  require<IoError>(!is_there, "cannot create '", job.path, "': File exists");
  StorePtr out = run.output();
  try {
    const auto scratch = [&run](std::string_view name, const Shape& shape, DType dtype,
                                const std::optional<Shape>& tile) {
      return run.scratch(name, shape, dtype, tile);
    };
    if (!run.is_written()) run.run(plan(out, {.budget = run.budget()}, scratch), out);
  } catch (const LinAlgError&) {  // the same again, whenever it goes on
    run.give_up();
    throw;
  } catch (...) {
    out = nullptr;
    run.undo();
    throw;
  }
  out = nullptr;  // by its new name from here on
  run.finish();
  return run.result();
}

}  // namespace tessera::streaming
