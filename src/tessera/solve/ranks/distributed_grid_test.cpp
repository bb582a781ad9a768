// SPDX-License-Identifier: Apache-2.0
// Every solver on operators that were cut into rows and columns over several devices: the answers
// of the whole operator, pieces of vectors that stay at home, and bytes that are those of tiles
// that are not.
#include <gtest/gtest.h>

#include "support/devices.hpp"
#include "support/every_solver.hpp"
#include "tessera/solve/core/sharded_operator.hpp"

namespace tessera {
namespace {

using namespace problems;

struct Grid {
  std::string_view name;
  std::vector<BatchSpec> specs;
};
DeviceMatrix square_of_four() { return {{2, 2}, {"sim:0", "sim:1", "sim:2", "sim:3"}}; }
// Rows and columns on four devices; more tiles than devices, so that some are neighbours; batches
// as well; rows first, then columns of what a device has.
std::vector<Grid> grids() {
  return {
      {"2 x 2", {{.batch_sizes = {{"M", 5}, {"N", 4}}, .device_matrix = square_of_four()}}},
      {"3 x 3", {{.batch_sizes = {{"M", 4}, {"N", 3}}, .device_matrix = {"sim:0", "sim:1"}}}},
      {"2 x 2 x 2",
       {{.batch_sizes = {{"T", 3}, {"M", 5}, {"N", 4}}, .device_matrix = square_of_four()}}},
      {"two levels",
       {{.batch_sizes = {{"M", 5}}, .device_matrix = {"sim:0", "sim:1"}},
        {.batch_sizes = {{"N", 4}}, .device_matrix = {"sim:2", "cpu"}}}},
  };
}
NamedLinop tiled(const NamedLinop& a, const Grid& g, Device base) {
  std::vector<BatchSpec> specs = g.specs;
  specs.front().base_device = base;
  return create_batched_linop(a, specs);
}
Grid four() { return grids().front(); }

TEST(DistributedGrid, PiecesAreAtHomeWithTheirFirstTile) {
  const NamedLinop a = tiled(matrices(DType::f64, cpu), four(), cpu);
  const ShardedOperator s(a, {batches, columns, 4}, {batches, rows, 4}, cpu);
  ASSERT_EQ(s.in.count(), 2U);
  ASSERT_EQ(s.out.count(), 2U);
  EXPECT_EQ(s.in.device(0), sim_at(0));
  EXPECT_EQ(s.in.device(1), sim_at(1));
  EXPECT_EQ(s.out.device(0), sim_at(0));
  EXPECT_EQ(s.out.device(1), sim_at(2));
  EXPECT_EQ(s.in.shape(1), Shape({batches, columns - 4, 4}));
  // A square operator has both of a piece's vectors in one place: where its diagonal is.
  const NamedLinop w =
      Dense(Random(1).normal({7, 7}, DType::f64), dims("MN"), dims("N"), dims("M"));
  const Grid same{"", {{.batch_sizes = {{"M", 4}, {"N", 4}}, .device_matrix = square_of_four()}}};
  const ShardedOperator square = ShardedOperator::square(tiled(w, same, cpu), {7}, cpu);
  ASSERT_EQ(square.in.count(), 2U);
  EXPECT_TRUE(square.in == square.out);
  EXPECT_EQ(square.in.device(0), sim_at(0));
  EXPECT_EQ(square.in.device(1), sim_at(3));
}

TEST(DistributedGrid, GivesTheAnswersOfTheWhole) {
  for (const Grid& g : grids())
    for (const auto& [t, base] : {std::pair(DType::f64, cpu), std::pair(DType::c64, sim_at(0))}) {
      if (t == DType::c64 && g.name != grids().front().name) continue;
      const NamedLinop a = matrices(t, base);
      expect_answers_of_the_whole(problem(a, 4, t, base), problem(tiled(a, g, base), 4, t, base),
                                  g.name);
    }
}

// How often an iteration applies the operator and its adjoint; the differences of "admm with G" and
// "pdhg of three terms" mix what lies in different pieces, and what stands for groups or for a
// restart comes on top of the others.
std::optional<i64> applications(std::string_view name) {
  if (name == "cg with a preconditioner") return 2;
  if (name == "admm") return 4;
  if (name == "randomized_svd") return 5;
  for (const std::string_view other : {"gmres", "fista of groups", "power_method of batches"})
    if (name == other) return std::nullopt;
  return 1;
}

// What travels grows with the vectors as tiles say that are not where their vectors are: of two
// tiles in a column one needs the part of the input, of two in a row one sends its sum.
TEST(DistributedGrid, OnlyTilesAwayFromHomeSend) {
  for (const Grid& g : grids()) {
    const bool columns_stay = g.name == grids()[1].name || g.name == grids()[3].name;
    const NamedLinop a = tiled(matrices(DType::f64, cpu), g, cpu);
    const i64 once = 2 * 8 * batches * (columns_stay ? rows : rows + columns);
    for (const Named& n : solvers()) {
      const std::string_view name = n.name;
      const bool mixes = name == "admm with G" || name == "pdhg of three terms";
      if (mixes || (g.name != four().name && name != "cg" && name != "lsqr")) continue;
      const i64 more = bytes_of_iteration(n, a, 65) - bytes_of_iteration(n, a, 5);
      if (const auto times = applications(name)) {
        EXPECT_EQ(more, 60 * *times * once) << g.name << ", " << name;
      } else {
        EXPECT_LT(more, 60 * once * 3 / 2) << g.name << ", " << name;
      }
    }
  }
}

TEST(DistributedGrid, AResumedSolveIsTheUninterruptedOne) {
  expect_resumed_as_uninterrupted(
      problem(tiled(matrices(DType::f32, cpu), four(), cpu), 3, DType::f32, cpu), "grid");
}

TEST(DistributedGrid, IterationsAllocateNothing) {
  expect_iterations_allocate_nothing(
      problem(tiled(matrices(DType::f64, cpu), four(), cpu), 3, DType::f64, cpu));
}

// A square operator in a grid, and one of which only some devices have tiles off the diagonal.
TEST(DistributedGrid, SquareOperators) {
  const i64 n = 23;
  const Array w = Random(6).normal({n, n}, DType::f64);
  const NamedLinop a = Dense(ops::multiply(w, Value(0.1)), dims("MN"), dims("N"), dims("M"));
  const NamedLinop plain = Value(3.0) * NamedLinop(Identity()) + a;
  const NamedLinop distribution =
      Value(3.0) * NamedLinop(Identity()) +
      tiled(a, {"", {{.batch_sizes = {{"M", 6}, {"N", 6}}, .device_matrix = square_of_four()}}},
            cpu);
  EXPECT_EQ(ShardedOperator::square(distribution, {n}, cpu).in.count(), 4U);
  const Array b = Random(7).normal({n}, DType::f64);
  const SolveOptions o{.rtol = 1e-12, .maxiter = 60};
  const SolveResult expected = gmres(plain, b, o, {.restart = 30}),
                    r = gmres(distribution, b, o, {.restart = 30});
  EXPECT_TRUE(r.converged) << r.reason;
  EXPECT_LT(relative(r.x, expected.x), 1e-9);
}

}  // namespace
}  // namespace tessera
