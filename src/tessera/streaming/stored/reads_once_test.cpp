// SPDX-License-Identifier: Apache-2.0
// Operations of one pass read little more than their operands, whatever the tiles of the files are:
// plans are made over empty files, and nothing is run.
#include <gtest/gtest.h>

#include <cstdio>

#include "support/files.hpp"
#include "tessera/base/config.hpp"
#include "tessera/linop/ops/basic/diagonal.hpp"
#include "tessera/store/tiles/tiled_file.hpp"
#include "tessera/streaming/operators/stored_apply.hpp"
#include "tessera/streaming/plan/planning.hpp"
#include "tessera/streaming/transforms/transform_plan.hpp"

namespace tessera::streaming {
namespace {

constexpr i64 MiB = i64{1} << 20;
constexpr i64 rows = 6000, columns = 8192;  // of float64: 375 MiB

struct Tiles {
  Shape shape;
  bool column_major = false;
};
const Tiles every_kind[] = {{{2048, 2048}}, {{2048, 2048}, true}, {{64, 8192}},
                            {{6000, 100}},  {{6000, 100}, true},  {{300, 500}},
                            {{512, 4096}},  {{4096, 512}},        {{37, 1000}}};
std::string text_of(const Tiles& t) { return cat(t.shape, t.column_major ? " by columns" : ""); }

StorePtr empty_file(const Tiles& tiles, DType dtype = DType::f64) {
  static int number = 0;
  const std::string path = path_of(cat("reads_once_", ++number, ".tiles"));
  std::remove(path.c_str());
  StorePtr s = store::create_tiled_file(path, {{rows, columns}, tiles.shape, dtype},
                                        {.reserve = false, .column_major = tiles.column_major});
  std::remove(path.c_str());  // it goes with its last handle
  return s;
}
StorePtr unmade(const Shape& shape, const Shape& tile, DType dtype = DType::f64) {
  return Planning::unmade_store("a result", {shape, tile, dtype});
}
double share_read(const StreamPlan& plan) {
  i64 wanted = 0, read = 0;
  for (const StoreFigures& s : plan.figures().stores) {
    wanted += s.wanted.read;
    read += s.read;
  }
  return static_cast<double>(read) / static_cast<double>(wanted);
}

TEST(ReadsOnce, ElementwiseAndReductionsOfOneFile) {
  for (const Tiles& t : every_kind) {
    const StorePtr x = empty_file(t);
    for (const i64 budget : {4 * MiB, 16 * MiB, 64 * MiB, 1024 * MiB}) {
      const StorePtr y = unmade({rows, columns}, {2048, 2048});
      const Expression e = Expression(x) * Expression(x);
      EXPECT_LE(share_read(plan_assign(e, y, {.budget = budget})), 1.05) << text_of(t) << budget;
      EXPECT_LE(share_read(plan_reduce(Reduction::sum, e, {}, false, {.budget = budget})), 1.05)
          << text_of(t) << " " << budget;
      EXPECT_LE(share_read(plan_reduce(Reduction::sum, e, Axes{0}, false, {.budget = budget})),
                1.05)
          << text_of(t) << " " << budget;
    }
  }
}

// Where one file lies by rows and the other by columns, whole tiles of both must fit.
TEST(ReadsOnce, ElementwiseOfFilesInOtherTiles) {
  for (const Tiles& t : every_kind)
    for (const Tiles& u : every_kind) {
      const StorePtr x = empty_file(t), z = empty_file(u);
      const StorePtr y = unmade({rows, columns}, {2048, 2048});
      const Expression e = Expression(x) * Expression(z);
      const bool crossed = t.column_major != u.column_major;
      const Options options{.budget = crossed ? 2048 * MiB : 32 * MiB};
      const std::string which = cat(text_of(t), " and ", text_of(u));
      EXPECT_LE(share_read(plan_assign(e, y, options)), 1.05) << which;
      EXPECT_LE(share_read(plan_reduce(Reduction::sum, e, {}, false, options)), 1.05) << which;
    }
}

TEST(ReadsOnce, CopiesAndTransposes) {
  for (const Tiles& t : every_kind)
    for (const Tiles& u : every_kind) {
      const StorePtr x = empty_file(t);
      for (const i64 budget : {64 * MiB, 256 * MiB}) {
        EXPECT_LE(share_read(plan_copy(x, unmade({rows, columns}, u.shape), {.budget = budget})),
                  1.05)
            << text_of(t) << " " << text_of(u) << " " << budget;
        Shape turned{u.shape[1], u.shape[0]};
        for (const Shape& tile : {turned, Shape{u.shape[0], std::min(u.shape[1], rows)}})
          EXPECT_LE(
              share_read(plan_transpose(x, unmade({columns, rows}, tile), {}, {.budget = budget})),
              1.05)
              << text_of(t) << " T " << text_of({tile}) << " " << budget;
      }
    }
}

// Once where strips of whole tiles fit, or lines lie in one piece; else never worse than moving the
// numbers into other tiles first.
TEST(ReadsOnce, TransformsOfOneAxis) {
  const Using threads(config().num_threads, i64{2});  // each has a work area of its own
  const auto scratch = [](std::string_view, const Shape& s, DType d,
                          const std::optional<Shape>& tile) { return unmade(s, *tile, d); };
  for (const Tiles& t : every_kind) {
    const StorePtr x = empty_file(t, DType::c64);
    for (const i64 axis : {0, 1})
      for (const i64 budget : {64 * MiB, 400 * MiB}) {
        const TransformSpec spec =
            transform_spec({FftKind::complex, -1}, {rows, columns}, DType::c64, Shape{axis});
        const Shape tile = transform_layout(spec, *x, {.budget = budget}).tiles.back();
        const StreamPlan p = plan_transform(spec, x, unmade({rows, columns}, tile, DType::c64),
                                            MakeScratch(scratch), {.budget = budget});
        const i64 strip = x->grid().shape()[axis] * t.shape[1 - axis] * 8;
        const bool allows = strip + strip / 8 <= budget || (axis == 0) == t.column_major;
        EXPECT_LE(share_read(p), allows ? 1.05 : 2.05)
            << text_of(t) << ", axis " << axis << ", " << budget << "\n"
            << p.explain();
      }
  }
}

TEST(ReadsOnce, Operators) {
  const NamedLinop in_memory = Diagonal(Array::empty({columns}, DType::f64), dims("XY"));
  for (const Tiles& t : every_kind) {
    const StorePtr x = empty_file(t);
    const NamedLinop as_large = diagonal_on_disk(StoredArray(empty_file(t)), dims("XY"));
    for (const NamedLinop& A : {in_memory, as_large, as_large.H()})
      for (const i64 budget : {64 * MiB, 400 * MiB}) {
        const StorePtr y = unmade({rows, columns}, {2048, 2048});
        const StreamPlan p = plan_apply(A, x, y, {.budget = budget});
        EXPECT_LE(share_read(p), 1.05) << text_of(t) << ", " << budget << "\n" << p.explain();
      }
  }
}

}  // namespace
}  // namespace tessera::streaming
