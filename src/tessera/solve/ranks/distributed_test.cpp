// SPDX-License-Identifier: Apache-2.0
// Every solver on operators that were cut over two devices: the answers of the whole operator,
// vectors that stay in their pieces, and the promises of checkpoint_test.cpp.
#include <gtest/gtest.h>

#include "support/devices.hpp"
#include "support/every_solver.hpp"

namespace tessera {
namespace {

using namespace problems;

NamedLinop cut(const NamedLinop& a, NamedDimension along, i64 tile, Device base) {
  return create_batched_linop(
      a,
      {.batch_sizes = {{along, tile}}, .device_matrix = {"sim:0", "sim:1"}, .base_device = base});
}

TEST(DistributedSolve, GivesTheAnswersOfTheWhole) {
  for (const DType t : {DType::f64, DType::c64})
    for (const Device base : {cpu, sim0}) {
      const NamedLinop a = matrices(t, base);
      expect_answers_of_the_whole(problem(a, 4, t, base), problem(cut(a, "T", 2, base), 4, t, base),
                                  "tiles of T");
    }
}

// What travels are numbers, as many for short vectors as for long ones.
TEST(DistributedSolve, VectorsStayWhereTheyAre) {
  const NamedLinop a = cut(matrices(DType::f64, cpu), "T", 2, cpu);
  for (const Named& n : solvers()) {
    const i64 few = bytes_of_iteration(n, a, 5), many = bytes_of_iteration(n, a, 500);
    // Groups that lie across the three pieces: three sums of each come together, and what they are
    // shrunk by goes to the two devices.
    const bool groups = std::string_view(n.name) == "fista of groups";
    EXPECT_EQ(many - few, groups ? (500 - 5) * (3 + 2) * 8 : 0) << n.name;
    EXPECT_LT(few, 4000) << n.name;
  }
}

TEST(DistributedSolve, AResumedSolveIsTheUninterruptedOne) {
  expect_resumed_as_uninterrupted(
      problem(cut(matrices(DType::f32, cpu), "T", 4, cpu), 3, DType::f32, cpu), "spread");
}

TEST(DistributedSolve, IterationsAllocateNothing) {
  expect_iterations_allocate_nothing(
      problem(cut(matrices(DType::f64, cpu), "T", 2, cpu), 3, DType::f64, cpu));
}

// A function of somebody's sees whole vectors.
TEST(DistributedSolve, ProximalFunctionsSeeTheWhole) {
  const NamedLinop a = matrices(DType::f64, cpu);
  const Prox half = prox::function("half", [](const Array& v, double t) {
    EXPECT_EQ(v.shape(), Shape({batches, columns, 4}));
    return ops::multiply(v, Value(1 / (1 + t)));
  });
  const SolveOptions o{.rtol = 0, .maxiter = 9};
  const Problem p = problem(cut(a, "T", 2, cpu), 4, DType::f64, cpu);
  const Array expected = fista(a, p.c, prox::l2_squared(1), o, {.step = 0.1}).x;
  EXPECT_LT(relative(fista(p.any, p.c, half, o, {.step = 0.1}).x, expected), 1e-12);
}

// Tiles of either side of an operator: only the vectors of the other side travel.
TEST(DistributedSolve, TilesOfOneSide) {
  const auto matrix_of = [](i64 m, i64 n) {
    return NamedLinop(
        Dense(Random(5).normal({m, n}, DType::f64), dims("MN"), dims("N"), dims("M")));
  };
  const std::vector<Named> methods{
      {"fista", [](P p, O o) { return fista(p.any, p.c, prox::l1(0.1), o, {.step = 1e-3}); }},
      {"fista that searches",
       [](P p, O o) { return fista(p.any, p.c, prox::l1(0.1), o, {.search = true}); }},
      {"pdhg",
       [](P p, O o) {
         return pdhg(p.any, p.c, prox::l2_squared(1), prox::l1(0.1), o,
                     {.tau = 0.01, .sigma = 0.01});
       }},
      {"admm", [](P p, O o) { return admm(p.any, p.c, prox::l1(0.2), o, {.inner = 3}); }},
      {"cg of A.N", [](P p, O o) { return cg(positive(p.any), p.b, o); }},
      {"svd", [](P p, O o) { return svd(p.any, {.shape = p.b.shape()}, {.k = 2, .ncv = 8}, o); }},
  };
  for (const Named& n : methods)
    for (const bool input : {false, true}) {
      i64 moved[2];
      for (const int size : {0, 1}) {
        const i64 longer = size == 0 ? 60 : 600, r = input ? 20 : longer, c = input ? longer : 20;
        const NamedLinop a = matrix_of(r, c);
        const Array b = Random(2).normal({c}, DType::f64),
                    right = Random(3).normal({r}, DType::f64);
        const Problem whole{a, a, b, right},
            distribution{a, cut(a, input ? "N" : "M", longer / 3, cpu), b, right};
        auto bytes_of = [&](i64 iterations) {
          const i64 before = bytes_moved();
          const SolveOptions o{.rtol = 0, .maxiter = iterations};
          const SolveResult result = n.solve(distribution, o);
          const i64 after = bytes_moved();
          EXPECT_LT(relative(result.x, n.solve(whole, o).x), 1e-8) << n.name;
          return after - before;
        };
        moved[size] = (bytes_of(7) - bytes_of(4)) / 3;
      }
      EXPECT_EQ(moved[0], moved[1]) << n.name << (input ? " in tiles of the input" : "");
    }
}

}  // namespace
}  // namespace tessera
