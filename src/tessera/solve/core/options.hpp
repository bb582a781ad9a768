// SPDX-License-Identifier: Apache-2.0
#pragma once
// What every solver takes and gives: tolerances, the caller's function between iterations,
// checkpoints, and the result. What only one solver knows is in its own header.
//   SolveResult r = cg(A, b, {.rtol = 1e-8, .checkpoint = {.path = "run.npz", .every = 50}});

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tessera/array/array.hpp"

namespace tessera {

class Communicator;
namespace streaming {
class StoredArray;
}

struct Iteration {
  i64 number;       // 1, 2, …
  double residual;  // the solver's measure, as in SolveResult::history
  Array x;          // the solver's own iterate: copy it to keep it; empty where it is not formed
  std::shared_ptr<const streaming::StoredArray> stored{};  // the same where it is on disk
};

// A file that holds everything needed to go on after a kill, bit for bit as if nothing had
// happened. Replaced as a whole or not at all. A run that finds it goes on from there; the file of
// another problem is refused (ArgumentError).
struct Checkpoint {
  std::string path{};
  i64 every = 0;        // iterations between two writes; 0 = by time alone
  double seconds = 60;  // most time between two writes
};

struct SolveOptions {
  double rtol = 1e-6;
  double atol = 0;
  i64 maxiter = 100;
  Array x0{};             // zeros when empty
  bool progress = false;  // a bar on stderr
  // After each iteration; false: stop here. Reads the measure from the device each time.
  std::function<bool(const Iteration&)> callback{};
  Checkpoint checkpoint{};
  // Iterations between two looks of the host at the measure, at most 16; 0 = each one where that is
  // free (cpu), 16 elsewhere. The result does not depend on it: a solver that has converged stands
  // still. With a callback, each iteration is looked at.
  i64 check_every = 0;
  // Called every now and then between iterations; what it throws ends the solve.
  std::function<void()> poll{};
  // Ranks that solve this together, each with its part (solve/over_ranks.hpp sets it): checkpoints
  // are written and read by all of them.
  std::shared_ptr<const Communicator> group{};
};

struct SolveResult {
  Array x;
  i64 iterations = 0;
  bool converged = false;
  std::string reason;           // why it stopped
  std::vector<double> history;  // the measure before the first iteration and after each
};

}  // namespace tessera
