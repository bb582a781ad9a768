// SPDX-License-Identifier: Apache-2.0
// A matrix in tiles on one device beside the same matrix in one piece: rows, columns and grids. The
// tiles are views of one array; they are joined when the plan is made. Goals: 1.05, 1.1 and 1.3
// times the unsplit time for 4, 16 and 64 tiles.
#include "ratio.hpp"
#include "tessera/base/config.hpp"
#include "tessera/tessera.hpp"

namespace tessera::bench {
namespace {

std::vector<NamedLinop> tiles(const NamedLinop& a, NamedDimension d, i64 count) {
  std::vector<NamedLinop> all;
  const i64 n = *a.size(d);
  for (i64 i = 0; i < count; ++i) all.push_back(a.split({{d, n * i / count, n * (i + 1) / count}}));
  return all;
}

NamedLinop rows_of(const NamedLinop& a, i64 count) {
  return concat(tiles(a, "M", count), {.odim = ND("M")});
}
NamedLinop columns_of(const NamedLinop& a, i64 count) {
  return concat(tiles(a, "N", count), {.idim = ND("N")});
}
NamedLinop grid_of(const NamedLinop& a, i64 side) {
  std::vector<NamedLinop> all;
  for (const NamedLinop& row : tiles(a, "M", side)) all.push_back(columns_of(row, side));
  return concat(all, {.odim = ND("M")});
}

}  // namespace

void bench_tiles() {
  const bool cuda = why_unavailable(Kind::cuda).empty();
  const Device device = cuda ? Device::parse("cuda:0") : cpu;
  const i64 n = cuda ? 8192 : 4096;
  const NamedLinop A =
      Dense(Random(1).normal({n, n}, DType::f32, device), dims("MN"), dims("N"), dims("M"));
  const Array x = Random(2).normal({n}, DType::f32, device);
  const Array y = zeros({n}, DType::f32, device);
  struct Case {
    i64 count, side;
    double goal;
  };
  // What people write: the operator called again and again.
  auto called = [&](const std::string& name, const NamedLinop& B, double goal) {
    auto timed = [&](const NamedLinop& op) {
      return [&op, &x, device] {
        (void)op(x);
        Stream::home(device).sync();
      };
    };
    compare(cat("Dense ", n, "² ", name, ", B(x)"), "A(x) in one piece", 1 / goal, timed(B),
            timed(A));
  };
  auto row = [&](const std::string& name, const NamedLinop& B, double goal) {
    Run whole = A.plan({.shape = {n}, .dtype = DType::f32, .device = device}).instance();
    const Plan plan = B.plan({.shape = {n}, .dtype = DType::f32, .device = device});
    Run split = plan.instance();
    auto timed = [&](Run& run) {
      return [&run, &x, &y] {
        run(x, y);
        run.sync();
      };
    };
    compare(cat("Dense ", n, "² ", name), "in one piece", goal > 0 ? 1 / goal : 0, timed(split),
            timed(whole), cat(plan.steps().size(), " steps on ", device));
  };
  for (const Case& c : {Case{4, 2, 1.05}, Case{16, 4, 1.1}, Case{64, 8, 1.3}}) {
    row(cat("in ", c.count, " tiles of rows"), rows_of(A, c.count), c.goal);
    row(cat("in ", c.count, " tiles of columns"), columns_of(A, c.count), c.goal);
    row(cat("in a grid of ", c.side, " by ", c.side), grid_of(A, c.side), c.goal);
    called(cat("in ", c.count, " tiles of rows"), rows_of(A, c.count), 1.05);
  }
  const Using apart(config().rewrite_tiles, false);
  row("in 64 tiles of rows, not joined", rows_of(A, 64), 0);
  row("in 64 tiles of columns, not joined", columns_of(A, 64), 0);
  if (!cuda) return;  // there the graph that they become makes up for the launches
  for (const i64 count : {4, 16, 64})
    called(cat("in ", count, " tiles of rows, not joined"), rows_of(A, count), 1.05);
}

}  // namespace tessera::bench
