// SPDX-License-Identifier: Apache-2.0
#pragma once
// Long work that ends in a tiled file, and that may be killed at any moment: the same call again
// goes on from the last mark, and gives the same bits as a run that nobody disturbed. While it is
// under way there are PATH.partial, the file as far as it is, and PATH.job, which says what is being
// made of what and which step is next; PATH itself appears when all of it is there. A job that
// cannot go on (other inputs, another operation, less memory, another process at it) says why and
// leaves the files as they are.
//   Job job{"c.tiles", {{"operation", "matmul"}, {"A", a->version()}}, budget, budget};
//   StorePtr c = run_job(job, grid, [&](const StorePtr& c, const Options& o, const MakeScratch&) {
//     return plan_matmul(a, b, c, {}, o); });
// What a plan needs beside its output until it ends lies in PATH.partial.NAME.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/streaming/plan/stream_plan.hpp"

namespace tessera::streaming {

using JobFacts = std::vector<std::pair<std::string, std::string>>;

struct Job {
  std::string path;
  // What tells this job from others: the operation with its options, and of each input its
  // version(). An input without one makes a job that can be begun and not resumed.
  JobFacts facts;
  // Bytes of memory, of the device where it is computed: with so many it is begun, and it goes on with those that it was begun
  // with if they are not above the limit. Steps follow from the budget.
  i64 budget = 0, limit = 0;
  std::vector<std::string> scratch = {};  // names of all stores that the plan may ask for
  bool half = false;       // about half of the file is never written, and takes nothing of the disk
  std::string about = {};  // what a tiled file says of its numbers, TileStore::about()
};

using PlanInto = std::function<StreamPlan(const StorePtr& out, const Options& options,
                                          const MakeScratch& scratch)>;

// The finished file, writable; tiles as `grid` says, or as the run that goes on has them. IoError when there is one at the path already, ArgumentError when what lies there is of
// another job.
TESSERA_API StorePtr run_job(const Job& job, const store::TileGrid& grid, const PlanInto& plan);

// Least seconds between two marks: each waits until the disk has everything.
TESSERA_API void set_mark_interval(double seconds);

}  // namespace tessera::streaming
