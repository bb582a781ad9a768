// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the results of plans come to lie: a new file of the backing folder, or the file of a job.
// Private to the library.
//   StorePtr c = result_store({path, facts, {m, n}, DType::f64},
//                     [&](const StorePtr& c, const Options& o, const MakeScratch&) {
//                       return plan_matmul(a, b, c, {}, o); });

#include <optional>

#include "tessera/store/tiers/backing_file.hpp"
#include "tessera/streaming/plan/job.hpp"

namespace tessera::streaming {

// Tiles small enough that a few of them fit the budget.
store::TileGrid grid_for(const Shape& shape, DType dtype);

// Zeros in a tiled file of the backing folder: the name goes with the last handle of the store. Its
// version is what the numbers are, which takes reading them once.
StorePtr backed_store(const store::TileGrid& grid, store::Space space);
inline StorePtr backed_store(const Shape& shape, DType dtype, store::Space space) {
  return backed_store(grid_for(shape, dtype), space);
}
// The same of which one half, and the squares on the diagonal, will ever be written: it takes and
// counts no more of the disk than those.
StorePtr half_backed_store(const store::TileGrid& grid);

// A file of the backing folder beside a result, for plans.
StorePtr backed_scratch(std::string_view name, const Shape& shape, DType dtype,
                        const std::optional<Shape>& tile);

struct ResultSpec {
  std::string path;  // of a job; "": in the backing folder
  // Of a job alone: to say which numbers an operand has may take reading all of them.
  std::function<JobFacts()> facts;
  Shape shape;
  DType dtype = DType::f32;
  std::vector<std::string> scratch = {};
  std::optional<store::TileGrid> grid = {};  // otherwise grid_for(shape, dtype)
  bool half = false;                         // see half_backed_store
  std::string about = {};                    // see Job
  Device device = cpu;                       // where it is computed
};
// Of the operation of a job: its steps and its bits follow from the kind of device.
inline std::string place_text(Device device) {
  return device == cpu ? "" : cat(" on ", name(device.kind));
}
// With so many bytes a result is computed: of a job a part stays free, since another run may find a
// little less.
i64 result_budget(const std::string& path, Device device = cpu);
StorePtr result_store(const ResultSpec& what, const PlanInto& plan);

}  // namespace tessera::streaming
