// SPDX-License-Identifier: Apache-2.0
#pragma once
// An iteration made of recorded parts and, where a proximal map is somebody's function, calls in
// between: as many plans as that makes necessary, one where nothing is called.
//   Sequence s(e);   s.record([&](Recorder& r) {...});   s.prox(g, A.in, w, step, w);   s.finish();
//   s();

#include <initializer_list>
#include <optional>

#include "tessera/solve/core/engine.hpp"
#include "tessera/solve/proximal/prox.hpp"

namespace tessera {

class Sequence {
 public:
  // `of` tells its plans from those of other sequences of the solve.
  explicit Sequence(Engine& e, std::string of = {}) : e_(e), of_(std::move(of)) {}
  void record(std::function<void(Recorder&)> part) { pending_.push_back(std::move(part)); }
  void prox(const Prox& p, const VectorSpace& side, const vec::Vector& x, double t,
            const vec::Vector& y);
  void run(Run& other, i64 times);  // another plan, so often, between the parts
  void finish() { flush(); }        // after the last part
  void operator()();                // the next iteration
  void operator()(i64 iteration);   // that one, which may be tried again

 private:
  void flush();
  void call(const Prox& p, const Array& x, double t, const Array& y);
  struct Part {
    Run* run;
    std::function<void()> call;
  };
  Engine& e_;
  std::string of_;
  std::optional<i64>
      iteration_{};  // the one that runs: the engine counts those that it has looked at
  std::vector<std::function<void(Recorder&)>> pending_;
  std::vector<Part> parts_;
};

// The key of a solve whose plans have these maps in them; kept where their names tell what they do.
SolveKey with_maps(SolveKey key, std::initializer_list<const Prox*> maps);

// The largest eigenvalue of A.N(), a little too large rather than too small: what step sizes are
// made of.
double squared_norm_of(std::string_view who, const NamedLinop& A, const Shape& shape, DType dtype,
                       Device device);

}  // namespace tessera
