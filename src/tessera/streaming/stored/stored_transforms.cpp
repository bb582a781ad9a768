// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/stored/stored_transforms.hpp"

#include <algorithm>
#include <filesystem>

#include "tessera/streaming/plan/planning.hpp"
#include "tessera/streaming/stored/result_store.hpp"
#include "tessera/streaming/transforms/transform_plan.hpp"

namespace tessera::streaming {
namespace {

std::string text_of(const TransformSpec& what) {
  std::string text = cat(name(what.direction), " scaled by ", what.scale);
  for (const AxisTransform& s : what.stages) text += cat(", axis ", s.axis, " of ", s.points);
  return text;
}

// Before anything is planned, which takes the longer the more tiles there are.
void require_room(const TransformSpec& what, const std::string& path) {
  if (Planning::now()) return;
  namespace fs = std::filesystem;
  const i64 bytes = count_of(what.out) * size_of(what.result);
  std::error_code unknown;
  const fs::path folder =
      path.empty() ? fs::path(store::backing_dir()) : fs::absolute(path).parent_path();
  // What a job has written already is its own.
  const std::uintmax_t all = fs::space(folder, unknown).capacity;
  const i64 most = path.empty()
                       ? store::disk_left()
                       : static_cast<i64>(std::min<std::uintmax_t>(all, 0x7fffffffffffffff));
  if (!path.empty() && unknown) return;
  require<IoError>(bytes <= most, name(what.direction), ": an array of shape ", what.out, " of ",
                   name(what.result), " takes ", exact_bytes(bytes), "; the disk of '",
                   folder.string(), "' has ", exact_bytes(most),
                   path.empty() ? " left" : " in all");
}

store::TileGrid grid_of_result(const TransformSpec& what, const store::TileStore& source,
                               i64 budget) {
  const Shape tile = count_of(what.out) == 0
                         ? Shape(what.out.size(), 1)
                         : transform_layout(what, source, {.budget = budget}).tiles.back();
  return store::TileGrid(what.out, tile, what.result);
}

}  // namespace

StoredArray transform(const StoredArray& x, const Direction& direction, const Shape& axes,
                      Norm norm, const std::optional<Shape>& n, const std::string& path) {
  const TransformSpec what = transform_spec(direction, x.shape(), x.dtype(), axes, norm, n);
  require_room(what, path);
  const StorePtr from = x.store();
  const auto facts = [&] {
    return JobFacts{{"operation", text_of(what)}, {"source", from->version()}};
  };
  const store::TileGrid grid = grid_of_result(what, *from, result_budget(path));
  return StoredArray(
      result_store({path, facts, what.out, what.result, scratch_of_transform(what), grid},
                   [&](const StorePtr& out, const Options& options, const MakeScratch& scratch) {
                     return plan_transform(what, from, out, scratch, options);
                   }));
}

StoredArray fftshift(const StoredArray& x, const Shape& axes, bool inverse,
                     const std::string& path) {
  for (const i64 a : axes) normalize_axis(a, x.ndim(), "fftshift");
  const StorePtr from = x.store();
  const auto facts = [&] {
    return JobFacts{{"operation", cat(inverse ? "ifftshift" : "fftshift", " along ", axes)},
                    {"source", from->version()}};
  };
  return StoredArray(
      result_store({path, facts, x.shape(), x.dtype()},
                   [&](const StorePtr& out, const Options& options, const MakeScratch&) {
                     return plan_shift(from, out, axes, inverse, options);
                   }));
}

}  // namespace tessera::streaming
