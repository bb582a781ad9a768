// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/core/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tessera/base/config.hpp"
#include "tessera/base/report/progress.hpp"
#include "tessera/device/registry.hpp"
#include "tessera/distributed/array/error_of_all.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/solve/core/ranks_checkpoint.hpp"
#include "tessera/streaming/operators/on_disk.hpp"
#include "tessera/streaming/operators/stored_apply.hpp"
#include "tessera/streaming/plan/planning.hpp"

namespace tessera {
namespace {

constexpr auto poll_interval = std::chrono::milliseconds(50);
constexpr i64 usual = 10000;  // iterations that have their place in the history from the start

bool reading_is_free(Device d) { return compute_device(d.kind).host_memory(); }

// The lanes of plans that exist already follow the home stream of the solver's device alone.
void settle_elsewhere(const Array& written, Device device) {
  if (written.device() != device) Stream::home(written.device()).sync();
}

}  // namespace

Engine::Engine(const SolveKey& key, const NamedLinop& a, const SolveOptions& options_,
               DType vectors)
    : stored_(stored_solve_of(a)),
      beside_(options_.group || stored_ || !key.kept ? std::nullopt
                                                     : std::optional(Beside{key, memories_of(a)})),
      memory_(beside_ ? beside_->memories->take(key) : nullptr),
      name(key.solver),
      options(options_),
      device(key.device),
      scalars(memory_ ? memory_->scalars
                      : (memory_ = std::make_unique<SolveMemory>(device, vectors))->scalars),
      measure(scalars.cell("measure")),
      status(scalars.cell("status")),
      checkpoint_(streaming::Planning::now() ? std::string() : options_.checkpoint.path),
      x0_(options_.x0),
      saved_(Clock::now()),
      polled_(Clock::now()) {
  outcome(has_converged, true, "residual below tolerance");
  outcome(numbers_not_finite, false, "breakdown: A, b or x0 gave numbers that are not finite");
  about("the solver", name);
  scalars.restart();
  if (stored_) stored_->use(scalars);
}

// Work that failed or was cut short may have left anything; its memory goes.
Engine::~Engine() {
  const bool whole = finished_ && std::uncaught_exceptions() == exceptions_;
  if (whole && stays()) beside_->memories->put(beside_->key, std::move(memory_));
}

// A function of somebody else may own a preconditioner's operator, and this one with it.
bool Engine::stays() const {
  return beside_ && memory_->bytes <= config().kept_solver_bytes &&
         !(memory_->calls_out && beside_->key.preconditioner);
}

vec::Vector Engine::work(const std::string& what, const VectorSpace& side, DType dtype) {
  if (const vec::Vector* known = memory_->find(what)) return *known;
  return memory_->add(what, side.zeros(dtype));
}

Array Engine::work(const std::string& what, const Shape& shape, DType dtype) {
  return work(what, VectorSpace(shape, device), dtype).pieces.front();
}

vec::Vector Engine::given(const std::string& what, const VectorSpace& side, const Array& whole) {
  if (stored_) return stored_->held(whole, whole.dtype());
  if (const vec::Vector* known = memory_->find(what)) {
    assign(*known, side, whole);
    return *known;
  }
  if (side.distribution()) return memory_->add(what, side.pieces_of(whole));
  const Array own = empty_dense(whole.shape(), whole.dtype(), whole.device());
  own.copy_from(whole);
  return memory_->add(what, side.pieces_of(own));
}

Array Engine::as(const std::string& what, const Array& whole, const Shape& shape,
                 DType dtype) const {
  if (stored_) return stored_->stand_in(whole, dtype);
  return vec::fitting(name, what, whole, shape, dtype, device);
}

vec::Vector Engine::image(const std::string& what, const VectorSpace& side, const NamedLinop& a,
                          const Array& b, DType dtype) {
  if (stored_) return stored_->image(a, b, dtype);
  return given(what, side, vec::fitting(name, what, a(b), side.shape(), dtype, device));
}

void Engine::start(const VectorSpace& side, DType dtype,
                   const std::function<void(Recorder&, const Array&)>& record) {
  Array first;
  if (x0_ && stored_) {
    require<ShapeError>(x0_.shape() == side.shape(), name, ": x0 has shape ", x0_.shape(),
                        ", expected ", side.shape());
    first = x0_;
  } else if (x0_) {
    const Array whole = vec::fitting(name, "x0", x0_, side.shape(), dtype, device);
    first = given("x0", VectorSpace(side.shape(), device), whole).pieces.front();
  }
  Run& before = plan(first ? "start at x0" : "start", [&](Recorder& r) { record(r, first); });
  scalars.upload();
  run(before);
  scalars.fetch();
}

vec::Vector Engine::keep(const std::string& what, const VectorSpace& side, DType dtype) {
  vec::Vector v;
  if (const vec::Vector* known = beside_ ? memory_->find(what) : nullptr) {
    v = *known;
    for (const Array& piece : v.pieces) {
      piece.fill(Value(0));
      settle_elsewhere(piece, device);
    }
  } else {
    v = memory_->add(what, side.zeros(dtype));
  }
  if (stored_) on_disk_.emplace_back(what, v.stored->store);
  for (std::size_t i = 0; i < v.pieces.size() && !stored_; ++i)
    kept_.emplace_back(side.distribution() ? cat(what, " ", i) : what, v.pieces[i]);
  if (what == "x") {
    if (stored_) stored_->solution = v.stored->store;
    x_ = v;
    x_side_ = side;
  }
  return v;
}

Array Engine::keep_host(std::string what, const Shape& shape, DType dtype,
                        std::vector<Count> counts) {
  const Array a = vec::zeros(shape, dtype, cpu);
  if (!counts.empty()) counts_.emplace_back(kept_.size(), std::move(counts));
  kept_.emplace_back(std::move(what), a);
  return a;
}

Run* Engine::known(const std::string& plan) {
  for (auto& [other, run] : memory_->runs)
    if (other == plan) return &run;
  return nullptr;
}

Run& Engine::add(const std::string& what, Recorder r) {
  const Plan plan(std::move(r), name);
  for (const auto& [where, bytes] : plan.workspace()) memory_->bytes += bytes;
  for (const Step& s : plan.steps())
    memory_->calls_out = memory_->calls_out || s.kind == Step::Kind::call;
  return memory_->runs.emplace_back(what, plan.instance(Stream::home(device))).second;
}

Run& Engine::plan(const std::string& what, const std::function<void(Recorder&)>& record) {
  if (Run* const run = known(what)) return *run;
  Recorder r;
  {
    const Recorder::Scope scope(r, name);
    if (stored_) stored_->close();
    record(r);
    if (stored_) stored_->close();
  }
  Run& run = add(what, std::move(r));
  run.capture();
  return run;
}

Run& Engine::plan_of(const std::string& what, const ShardedOperator& A, DType dtype,
                     DType out_dtype, bool adjoint) {
  if (Run* const run = known(what)) return *run;
  Recorder r;
  std::vector<View> x, y;
  const VectorSpace &from = adjoint ? A.out : A.in, &to = adjoint ? A.in : A.out;
  for (std::size_t i = 0; i < from.count(); ++i)
    x.push_back(r.input(Layout::contiguous(from.shape(i)), dtype, from.device(i)));
  for (std::size_t i = 0; i < to.count(); ++i)
    y.push_back(r.output(Layout::contiguous(to.shape(i)), out_dtype, to.device(i)));
  if (adjoint)
    A.record_adjoint(r, x, y);
  else
    A.record(r, x, y);
  return add(what, std::move(r));
}

void Engine::outcome(int code, bool converged, std::string reason) {
  for (Outcome& o : outcomes_)
    if (o.code == code) {
      o = {code, converged, std::move(reason)};
      return;
    }
  outcomes_.push_back({code, converged, std::move(reason)});
}

bool Engine::resume() {
  const std::string& path = checkpoint_;
  if (path.empty()) return false;
  std::optional<Saved> s = options.group ? read_checkpoint(*options.group, name, path, facts_)
                                         : read_checkpoint(name, path, facts_);
  if (!s) return false;
  if (options.group) {
    dist::error_of_all(*options.group, [&] { restore(*s); });
    check_ranks_agree(*s);
  } else {
    restore(*s);
  }
  history_ = std::move(s->history);
  iterations_ = saved_at_ = s->iterations;
  // What follows the end of a solve is not kept up to date: only x is good for going on.
  if (s->status != still_running && (s->rtol != options.rtol || s->atol != options.atol)) {
    if (x_side_ && stored_) stored_->start_at(x_);
    if (x_side_) x0_ = stored_ ? stored_->first_guess() : x_side_->whole(x_, device);
    for (const auto& [what, vector] : on_disk_) stored_->clear(vector);
    for (const auto& [what, array] : kept_) {
      array.fill(Value(0));
      settle_elsewhere(array, device);
    }
    return false;
  }
  code_ = s->status;
  scalars.restore(s->cells);
  scalars.set(status, code_);
  scalars.next_report(iterations_);
  scalars.upload();
  return true;
}

void Engine::restore(const Saved& s) {
  const std::string& path = checkpoint_;
  for (const auto& [what, array] : kept_) {
    auto it = std::find_if(s.arrays.begin(), s.arrays.end(),
                           [&, w = what](const auto& p) { return p.first == w; });
    require<IoError>(it != s.arrays.end(), name, ": the checkpoint '", path, "' lacks '", what,
                     "'");
    const Array& found = it->second;
    require<IoError>(found.shape() == array.shape() && found.dtype() == array.dtype(), name, ": '",
                     what, "' of the checkpoint '", path, "' is ", found.dtype(), " of ",
                     found.shape(), "; expected ", array.dtype(), " of ", array.shape());
    require<IoError>(s.status != still_running || all_finite(found), name, ": '", what,
                     "' of the checkpoint '", path, "' holds numbers that are not finite");
    array.copy_from(found.to(array.device()));
    settle_elsewhere(array, device);
  }
  check_counts(s);
  if (stored_) restore_vectors(s);
  require<IoError>(s.cells.size() == scalars.cells().size(), name, ": the checkpoint '", path,
                   "' is damaged: ", s.cells.size(), " scalars; expected ", scalars.cells().size());
}

void Engine::check_counts(const Saved& s) const {
  for (const auto& [at, counts] : counts_) {
    const auto& [what, array] = kept_[at];
    const auto* numbers = array.host<double>();
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const i64 most = s.status == still_running ? counts[i].most_running : counts[i].most_over;
      require<IoError>(is_count(numbers[i], most), name, ": '", what, "' of the checkpoint '",
                       checkpoint_, "' holds ", numbers[i], "; expected a whole number from 0 to ",
                       most);
    }
  }
}

// Each rank has a file of its own; what decides how they go on together is the same in all.
void Engine::check_ranks_agree(const Saved& s) const {
  std::vector<double> mine{static_cast<double>(s.iterations), static_cast<double>(s.status), s.rtol,
                           s.atol};
  for (const auto& [at, counts] : counts_) {
    const auto* numbers = kept_[at].second.host<double>();
    mine.insert(mine.end(), numbers, numbers + counts.size());
  }
  std::vector<double> first = mine;
  options.group->broadcast(first.data(), static_cast<i64>(first.size() * sizeof(double)), 0);
  dist::error_of_all(*options.group, [&] {
    require<IoError>(std::memcmp(first.data(), mine.data(), mine.size() * sizeof(double)) == 0,
                     name, ": the checkpoint '", checkpoint_, "' of rank ", options.group->rank(),
                     " is not of the same iteration as that of rank 0");
  });
}

void Engine::restore_vectors(const Saved& s) {
  const std::string& path = checkpoint_;
  const StoredSet found = stored_set_of(name, path, s.arrays);
  require<ArgumentError>(found.budget == stored_->budget, name, ": the checkpoint '", path,
                         "' is of a solve that had ", bytes_text(found.budget),
                         " of memory, now there are ", bytes_text(stored_->budget),
                         "; give it as much, or remove the file to start anew");
  read_vectors(name, path, found.set, on_disk_, stored_->budget, s.status == still_running);
  set_ = found.set;
}

Fact Engine::fact(std::string what, const NamedLinop& a, const Shape& shape, DType dtype,
                  Device where) const {
  const OnStoredVectors* op = a.as<OnStoredVectors>();
  if (!op) return fact_of(std::move(what), a, shape, dtype, where);
  const std::string numbers = streaming::version_of(op->a);
  return {std::move(what),
          cat(numbers.empty() ? op->a.tree() : numbers, "\non ", shape, " ", dtype)};
}

Fact Engine::fact(std::string what, const Array& b) const {
  if (!stored_) return fact_of(std::move(what), b);
  return {std::move(what), cat(b.dtype(), " ", b.shape(), " ", stored_->version_of(b))};
}

void Engine::assign(const vec::Vector& v, const VectorSpace& side, const Array& whole) const {
  for (std::size_t i = 0; i < v.pieces.size(); ++i) {
    const Array& piece = v.pieces[i];
    piece.copy_from(side.part(whole, i).to(piece.device()));
    settle_elsewhere(piece, device);
  }
}

void Engine::start_at(const vec::Vector& x, const VectorSpace& side) const {
  if (x0_ && stored_) {
    require<ShapeError>(x0_.shape() == side.shape(), name, ": x0 has shape ", x0_.shape(),
                        ", expected ", side.shape());
    return stored_->copy(stored_->held(x0_, x.dtype()), x);
  }
  if (x0_) assign(x, side, vec::fitting(name, "x0", x0_, side.shape(), x.dtype(), device));
}

Array Engine::x() {
  if (stored_) return Array();
  if (!x_side_ || !x_side_->distribution()) return x_side_ ? x_.pieces.front() : Array();
  const Array gathered = work("gathered", x_side_->shape(), x_.dtype());
  run(plan("gather", [&](Recorder& r) { x_side_->gather(r, x_, gathered); }));
  return gathered;
}

Array Engine::answer() {
  const Array own = x();
  return own && stays() ? own.copy() : own;
}

void Engine::set_tolerances() {
  scalars.set(scalars.cell("rtol"), options.rtol);
  scalars.set(scalars.cell("atol"), options.atol);
  scalars.upload();
}

void Engine::begin(double first, int code) {
  if (history_.empty()) history_.push_back(first);
  const bool fails = std::any_of(outcomes_.begin(), outcomes_.end(),
                                 [&](const Outcome& o) { return o.code == code && !o.converged; });
  code_ = std::isfinite(first) || fails ? code : numbers_not_finite;
  scalars.set(status, code_);
  scalars.next_report(iterations_);  // after the last one of a solve that is gone on with
  scalars.upload();
}

void Engine::report(double value, int code) {
  scalars.set({&scalars, 1 + static_cast<int>(iterations_ % ScalarProgram::ring)}, value);
  scalars.set(
      {&scalars, 1 + ScalarProgram::ring + static_cast<int>(iterations_ % ScalarProgram::ring)},
      code);
}

bool Engine::accept(const ScalarProgram::Report& report) {
  ++iterations_;
  history_.push_back(report.measure);
  code_ = report.status;
  Iteration now{iterations_, report.measure, options.callback ? x() : Array()};
  if (x_.stored) now.stored = std::make_shared<const streaming::StoredArray>(x_.stored->store);
  if (options.callback && !options.callback(now)) {
    stopped_ = code_ == still_running;
    return false;
  }
  return code_ == still_running;
}

SolveResult Engine::loop(const std::function<void()>& step, bool on_host) {
  const bool each = on_host || options.callback;
  const i64 stride = each ? 1
                     : options.check_every > 0
                         ? std::min<i64>(options.check_every, ScalarProgram::ring)
                     : reading_is_free(device) ? 1
                                               : ScalarProgram::ring;
  history_.reserve(history_.size() + static_cast<std::size_t>(std::min(options.maxiter, usual)));
  Progress bar(name, options.maxiter, options.progress);
  bool more = code_ == still_running;
  while (more && iterations_ < options.maxiter) {
    const i64 n = std::min(stride, options.maxiter - iterations_);
    for (i64 j = 0; j < n; ++j) step();
    if (!on_host) scalars.fetch();
    for (i64 j = 0; j < n && more; ++j) more = accept(scalars.reported(iterations_ + 1));
    if (options.progress) bar.update(iterations_, fmt::format("{:.2e}", history_.back()));
    save_when_due();
    poll();
  }
  if (!checkpoint_.empty() && saved_at_ != iterations_) save();
  SolveResult result;
  result.x = answer();
  result.iterations = iterations_;
  result.history = std::move(history_);
  result.reason = stopped_ ? "stopped by the callback" : "maxiter";
  for (const Outcome& o : outcomes_)
    if (o.code == code_) {
      result.converged = o.converged;
      result.reason = o.reason;
    }
  finished_ = true;
  return result;
}

void Engine::save() {
  const std::string& path = checkpoint_;
  Saved state{.facts = facts_,
              .arrays = kept_,
              .cells = scalars.cells(),
              .history = history_,
              .iterations = iterations_,
              .status = code_,
              .rtol = options.rtol,
              .atol = options.atol};
  const i64 set = set_ == 0 ? 1 : 0;
  if (stored_) {
    write_vectors(path, set, on_disk_, stored_->budget);
    state.arrays.push_back(entry_of({set, stored_->budget}));
  }
  if (options.group)
    write_checkpoint(*options.group, path, state);
  else
    write_checkpoint(path, state);
  if (stored_) {
    remove_vectors(path, 1 - set, on_disk_);
    set_ = set;
  }
  saved_at_ = iterations_;
  saved_ = Clock::now();
}

void Engine::save_when_due() {
  if (checkpoint_.empty()) return;
  const Checkpoint& c = options.checkpoint;
  const bool by_count = c.every > 0 && iterations_ - std::max<i64>(saved_at_, 0) >= c.every;
  bool by_time = Clock::now() - saved_ >= std::chrono::duration<double>(c.seconds);
  if (options.group && !by_count) options.group->broadcast(&by_time, sizeof by_time, 0);
  if (by_count || by_time) save();
}

void Engine::poll() {
  if (!options.poll) return;
  const auto now = Clock::now();
  if (now - polled_ < poll_interval) return;
  polled_ = now;
  options.poll();
}

void check_options(std::string_view who, const SolveOptions& o) {
  require<ArgumentError>(o.maxiter >= 0 && o.rtol >= 0 && o.atol >= 0, who, ": maxiter ", o.maxiter,
                         ", rtol ", o.rtol, " and atol ", o.atol, " must not be negative");
  require<ArgumentError>(o.check_every >= 0 && o.checkpoint.every >= 0, who, ": check_every ",
                         o.check_every, " and the checkpoint's every ", o.checkpoint.every,
                         " must not be negative");
}

namespace {

// The float dtype in which a solver works on `t`: integers become float64.
DType working(std::string_view who, DType t) {
  if (!is_inexact(t)) return DType::f64;
  require<DTypeError>(t != DType::f16 && t != DType::bf16, who, ": solvers work in float32, ",
                      "float64, complex64 and complex128; got ", t,
                      ": convert the arrays with astype() first");
  return t;
}

}  // namespace

namespace {

// The operator as its user knows it.
const NamedLinop& shown(const NamedLinop& a) {
  const OnStoredVectors* mine = a.as<OnStoredVectors>();
  return mine ? mine->a : a;
}

}  // namespace

Array square_right_side(std::string_view who, const NamedLinop& a, const Array& b) {
  const Shape out = shown(a).output_shape(b.shape());
  require<ShapeError>(out == b.shape(), who, ": ", shown(a), " maps shape ", b.shape(), " to ", out,
                      "; it must map b's shape to itself");
  const DType given = working(who, b.dtype()), t = a.output_dtype(given);
  require<DTypeError>(t == a.output_dtype(t) && can_cast_same_kind(given, t), who, ": ", shown(a),
                      " maps ", given, " to ", t, " and ", t, " to ", a.output_dtype(t),
                      "; it must keep a dtype");
  if (const StoredSolvePtr solve = stored_solve_of(a)) return solve->stand_in(b, t);
  return vec::fitting(who, "b", b, b.shape(), t, b.device());
}

VectorSpaces both_sides(std::string_view who, const NamedLinop& a, const Array& b) {
  const NamedLinop h = shown(a).H();
  const DType given = working(who, b.dtype());
  const Shape shape = h.output_shape(b.shape());
  const DType t = h.output_dtype(given), back = a.output_dtype(t);
  require<DTypeError>(h.output_dtype(back) == t && can_cast_same_kind(given, back), who, ": ",
                      shown(a), " maps ", t, " to ", back, ", its adjoint ", given, " to ", t,
                      "; they do not fit together");
  const Shape out = a.output_shape(shape);
  require<ShapeError>(out == b.shape(), who, ": ", shown(a), " gives shape ", out, ", b has ",
                      b.shape());
  if (const StoredSolvePtr solve = stored_solve_of(a)) return {solve->stand_in(b, back), shape, t};
  return {vec::fitting(who, "b", b, b.shape(), back, b.device()), shape, t};
}

}  // namespace tessera
