// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the results of plans come to lie: a new file of the backing folder, or the file of a job.
// Private to the library.
//   StorePtr c = result_store({path, facts, {m, n}, DType::f64},
//                     [&](const StorePtr& c, const Options& o, const MakeScratch&) {
//                       return plan_matmul(a, b, c, {}, o); });

#include "tessera/store/tiers/backing_file.hpp"
#include "tessera/streaming/plan/job.hpp"

namespace tessera::streaming {

// Tiles small enough that a few of them fit the budget.
store::TileGrid grid_for(const Shape& shape, DType dtype);

// Zeros in a tiled file of the backing folder: the name goes with the last handle of the store. Its
// version is what the numbers are, which takes reading them once.
StorePtr backed_store(const Shape& shape, DType dtype, store::Space space);

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
  // The shape of the file's tiles for a budget; without it they are square.
  std::function<Shape(i64 budget)> tiles = {};
};
StorePtr result_store(const ResultSpec& what, const PlanInto& plan);

}  // namespace tessera::streaming
