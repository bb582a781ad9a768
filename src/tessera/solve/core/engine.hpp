// SPDX-License-Identifier: Apache-2.0
#pragma once
// What all solvers share: the vectors and scalars of an iteration, plans over them, the loop with
// its history, callback, progress and checkpoints. A solver names what it keeps, records what an
// iteration does, and says what its status codes mean; it writes no loop of its own.
// It leaves its memory beside its operator when the solve was not cut short, and starts with what an
// earlier one left there.
//   Engine e(key, A, options, dtype);   vec::Vector x = e.keep("x", A.in, dtype);
//   Run& step = e.plan("step", [&](Recorder& r) { ... });   e.iterate([&] { e.run(step); });

#include <chrono>
#include <exception>

#include "tessera/solve/core/checkpoint.hpp"
#include "tessera/solve/core/options.hpp"
#include "tessera/solve/core/scalar_program.hpp"
#include "tessera/solve/core/sharded_operator.hpp"
#include "tessera/solve/core/solve_memory.hpp"
#include "tessera/solve/core/stored_vectors.hpp"
#include "tessera/solve/core/vectors.hpp"
#include "tessera/solve/disk/stored_checkpoint.hpp"

namespace tessera {

// Status codes: 0 goes on, 1 has converged, the last is for all; others are the solver's own.
inline constexpr int still_running = 0, has_converged = 1, numbers_not_finite = 99;

class Engine {
  struct Beside {
    SolveKey key;
    std::shared_ptr<SolveMemories> memories;
  };
  const StoredSolvePtr stored_;         // where vectors are on disk
  const std::optional<Beside> beside_;  // where memory is taken from and left
  std::unique_ptr<SolveMemory> memory_;

 public:
  Engine(const SolveKey& key, const NamedLinop& a, const SolveOptions& options, DType vectors);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  const std::string name;
  const SolveOptions& options;
  const Device device;
  ScalarProgram& scalars;
  const DeviceScalar measure, status;  // what report() reports

  // A vector of the state: zeros now, saved in checkpoints. The one named "x" is the iterate.
  vec::Vector keep(const std::string& name, const VectorSpace& side, DType dtype);
  // A host array of numbers, saved too. The first of them may be counts, by which the solver finds
  // its way in other arrays: one from a file is whole, and no more than it can be while the solve
  // goes on, or when it is over.
  struct Count {
    i64 most_running, most_over;
  };
  Array keep_host(std::string name, const Shape& shape, DType dtype,
                  std::vector<Count> counts = {});
  // A vector that an iteration fills before it reads it, and the same for a whole array.
  vec::Vector work(const std::string& name, const VectorSpace& side, DType dtype);
  Array work(const std::string& name, const Shape& shape, DType dtype);
  // A copy of a whole array of the caller's, as a vector.
  vec::Vector given(const std::string& name, const VectorSpace& side, const Array& whole);
  // The caller's array as one that given() takes.
  Array as(const std::string& name, const Array& whole, const Shape& shape, DType dtype) const;
  // What `a` makes of the right side b, as a vector.
  vec::Vector image(const std::string& name, const VectorSpace& side, const NamedLinop& a,
                    const Array& b, DType dtype);
  // A plan that is recorded once for all solves that share this memory: its name says which. Over
  // vectors of keep(), work() and given() alone, which it takes as constants; a graph where the
  // device has them.
  Run& plan(const std::string& name, const std::function<void(Recorder&)>& record);
  // y = A x (or A.H x) for any two vectors of its sides: run it as e.run(r, x, y).
  Run& plan_of(const std::string& name, const ShardedOperator& A, DType dtype, DType out_dtype,
               bool adjoint = false);
  void run(Run& r) const {
    scalars.send();
    r(std::span<const Array>{}, std::span<const Array>{});
  }
  void run(Run& r, const vec::Vector& x, const vec::Vector& y) const { r(x.pieces, y.pieces); }
  View factor(Recorder& r, DeviceScalar c) const { return scalars.factor(r, c); }
  View target(Recorder& r, DeviceScalar c) const { return scalars.target(r, c, 1); }

  // What a code means, when the solver ends with it.
  void outcome(int code, bool converged, std::string reason);

  // Facts that tell this problem from another; noted only when there is a checkpoint.
  template <class... Args>
  void about(std::string what, const Args&... args) {
    if (!checkpoint_.empty()) facts_.push_back(fact(std::move(what), args...));
  }
  // After all arrays are kept and all cells named: true when a checkpoint was found and read. One
  // of a solve that was over under other tolerances gives a first guess and a history instead.
  bool resume();
  // Where to start: the checkpoint's x or the caller's; empty: zeros.
  const Array& x0() const { return x0_; }
  // Runs what comes before the first iteration, and fetches its scalars. It gets the first guess as
  // a whole array on the device, where there is one.
  void start(const VectorSpace& side, DType dtype,
             const std::function<void(Recorder&, const Array& x0)>& record);
  void start_at(const vec::Vector& x,
                const VectorSpace& side) const;  // x becomes x0, if there is one
  void assign(const vec::Vector& v, const VectorSpace& side,
              const Array& whole) const;  // v = whole, now
  void set_tolerances();                  // as cells "rtol" and "atol", started or resumed
  // The measure before the first iteration; a code other than 0 ends the solve before it starts,
  // and so does a measure that is not finite: nothing has converged then, whatever the code says.
  void begin(double measure, int code = still_running);

  // Runs `step` until the status, maxiter or the callback ends it. A step on the device leaves its
  // report in the ring of the scalar program; one that decides on the host calls report() itself.
  SolveResult iterate(const std::function<void()>& step) { return loop(step, false); }
  SolveResult iterate_on_host(const std::function<void()>& step) { return loop(step, true); }
  // The iterate as it is, put together on the device; empty where none is kept. For the caller to
  // keep: a copy where the memory will be used again.
  Array x();
  Array answer();
  void report(double measure, int code);
  i64 iteration() const { return iterations_; }  // finished ones
  void poll();  // looks at signals, now and then: for steps that take long
  int code() const { return code_; }
  double target_of(double scale) const {  // max(rtol * scale, atol)
    return std::max(options.rtol * scale, options.atol);
  }

 private:
  using Clock = std::chrono::steady_clock;
  // Of the operator, of b and of settings; on disk by what their files and numbers are.
  Fact fact(std::string what, const NamedLinop& a, const Shape& shape, DType dtype,
            Device where) const;
  Fact fact(std::string what, const Array& b) const;
  static Fact fact(std::string what, std::string text) {
    return fact_of(std::move(what), std::move(text));
  }
  void restore_vectors(const Saved& s);
  bool stays() const;  // the memory will be used again
  Run* known(const std::string& plan);
  Run& add(const std::string& plan, Recorder r);
  SolveResult loop(const std::function<void()>& step, bool on_host);
  bool accept(const ScalarProgram::Report& report);  // false: stop
  void restore(const Saved& s);
  void check_counts(const Saved& s) const;
  void check_ranks_agree(const Saved& s) const;
  void save();
  void save_when_due();

  struct Outcome {
    int code;
    bool converged;
    std::string reason;
  };
  const std::string checkpoint_;  // its path; none within a Planning, which leaves the file alone
  NamedArrays kept_;
  NamedStores on_disk_;  // that are kept
  i64 set_ = -1;         // of files, that the last checkpoint is in
  std::vector<std::pair<std::size_t, std::vector<Count>>> counts_;  // of which of the arrays kept
  std::optional<VectorSpace> x_side_;
  vec::Vector x_;
  std::vector<Fact> facts_;
  std::vector<Outcome> outcomes_;
  std::vector<double> history_;
  Array x0_;
  i64 iterations_ = 0, saved_at_ = -1;
  int code_ = still_running;
  bool stopped_ = false;  // by the callback
  bool finished_ = false;
  const int exceptions_ = std::uncaught_exceptions();  // when it was made
  Clock::time_point saved_, polled_;
};

// Checks that every solver makes: positive tolerances, floating dtype, one device.
void check_options(std::string_view who, const SolveOptions& options);
// b in the dtype that A maps to itself (complex when A is): what the iteration computes in.
// ShapeError when A does not map b's shape to itself.
Array square_right_side(std::string_view who, const NamedLinop& a, const Array& b);
// For A x = b with any A: the shape and dtype of x, and b in the dtype of A x.
struct VectorSpaces {
  Array b;
  Shape shape;  // of x
  DType dtype;  // of x
};
VectorSpaces both_sides(std::string_view who, const NamedLinop& a, const Array& b);

}  // namespace tessera
