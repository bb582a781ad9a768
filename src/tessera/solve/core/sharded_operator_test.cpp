// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/core/sharded_operator.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/devices.hpp"
#include "support/every_solver.hpp"
#include "support/support.hpp"
#include "tessera/base/trace.hpp"
#include "tessera/solve/linear/cg.hpp"
#include "tessera/solve/linear/lsmr.hpp"
#include "tessera/solve/linear/lsqr.hpp"

namespace tessera {
namespace {

// Positive definite blocks along T, each on a device of its own; and the same in one place.
struct Blocks {
  NamedLinop distribution, plain;
};
Blocks blocks(i64 n, i64 count, const std::vector<Device>& devices) {
  std::vector<NamedLinop> there, here;
  for (i64 k = 0; k < count; ++k) {
    const Device d = devices[static_cast<std::size_t>(k) % devices.size()];
    const Array w = ops::add(
        ops::abs2(Random(static_cast<std::uint64_t>(k) + 1).normal({2 + k % 2, n}, DType::f64)),
        Value(0.5));
    here.push_back(Diagonal(w, dims("TX")));
    there.push_back(ToDevice(d, cpu, dims("TX")) * Diagonal(w.to(d), dims("TX")) *
                    ToDevice(cpu, d, dims("TX")));
  }
  const ConcatDims along{.idim = ND("T"), .odim = ND("T")};
  return {concat(there, along), concat(here, along)};
}

NamedLinop matrix_here(i64 rows, i64 columns) {
  return Dense(Random(5).normal({rows, columns}, DType::f64), dims("MN"), dims("N"), dims("M"));
}

// A matrix of `rows` by `columns`, cut along either of its dims over two devices.
NamedLinop cut_matrix(i64 rows, i64 columns, NamedDimension along, i64 tile) {
  const NamedLinop a = matrix_here(rows, columns);
  return create_batched_linop(
      a, {.batch_sizes = {{along, tile}}, .device_matrix = {"sim:0", "sim:1"}});
}

TEST(ShardedOperator, CgFindsTheSameSolution) {
  const Blocks b = blocks(40, 5, {sim0, sim1});
  const Array right = Random(9).normal({12, 40}, DType::f64);
  const SolveResult plain = cg(b.plain, right, {.rtol = 1e-12, .maxiter = 300}),
                    distribution = cg(b.distribution, right, {.rtol = 1e-12, .maxiter = 300});
  EXPECT_TRUE(distribution.converged) << distribution.reason;
  EXPECT_LT(relative(distribution.x, plain.x), 1e-9);
  EXPECT_EQ(distribution.x.device(), cpu);
}

TEST(ShardedOperator, ScalarsTravelAndVectorsStay) {
  i64 moved[2];
  for (const int size : {0, 1}) {
    const Blocks b = blocks(size == 0 ? 50 : 5000, 4, {sim0, sim1});
    const Array right = Random(9).normal({10, size == 0 ? 50 : 5000}, DType::f64);
    auto bytes_of = [&](i64 iterations) {
      const i64 before = problems::bytes_moved();
      (void)cg(b.distribution, right, {.rtol = 0, .maxiter = iterations});
      return problems::bytes_moved() - before;
    };
    moved[size] = (bytes_of(25) - bytes_of(5)) / 20;
  }
  EXPECT_EQ(moved[0], moved[1]);
  EXPECT_LT(moved[0], 1000);
}

TEST(ShardedOperator, SumsWithScalarsAndMultiplesStayDistribution) {
  const Blocks b = blocks(30, 4, {sim0, sim1});
  const Array right = Random(3).normal({10, 30}, DType::f64);
  auto regular = [](const NamedLinop& a) { return Value(2.0) * a + Value(0.1) * Identity(); };
  auto distribution = [&](const NamedLinop& a) {
    return ShardedOperator(a, right.shape(), right.shape(), cpu).distribution();
  };
  EXPECT_TRUE(distribution(regular(b.distribution)));
  EXPECT_TRUE(distribution(b.distribution.N()));
  EXPECT_FALSE(distribution(b.plain));
  const SolveOptions o{.rtol = 1e-12, .maxiter = 300};
  EXPECT_LT(relative(cg(regular(b.distribution), right, o).x, cg(regular(b.plain), right, o).x),
            1e-9);
  EXPECT_LT(relative(cg(b.distribution.N(), right, o).x, cg(b.plain.N(), right, o).x), 1e-9);
}

// What stands beside a distributed operator is cut alike where it can be; else vectors stay whole.
TEST(ShardedOperator, OperatorsBesideADistributionOne) {
  const Blocks b = blocks(30, 4, {sim0, sim1});
  const Array right = Random(3).normal({10, 30}, DType::f64);
  const Array weight = Random(4).uniform({10, 30}, DType::f64, cpu, 1, 2);
  const VectorSpace side = ShardedOperator(b.distribution, right.shape(), right.shape(), cpu).in;
  const NamedLinop pointwise = Diagonal(weight, dims("TX")),
                   other_names = Diagonal(weight, dims("AB")), batchwise = Identity(),
                   along_x = FiniteDifference("X", dims("TX")),
                   mixing = FiniteDifference("T", dims("TX")),
                   total = Dense(ones({10}, DType::f64), dims("T"), dims("TX"), dims("X"));
  auto beside = [&](const NamedLinop& a) {
    return ShardedOperator::beside(side, a, a.output_shape(right.shape())).has_value();
  };
  for (const NamedLinop* a : {&pointwise, &other_names, &batchwise, &along_x, &b.distribution})
    EXPECT_TRUE(beside(*a)) << a->str();
  for (const NamedLinop* a : {&mixing, &total}) EXPECT_FALSE(beside(*a)) << a->str();

  const NamedLinop smooth = mixing.N() + Value(1.0) * NamedLinop(Identity());
  EXPECT_FALSE(SquareShards(b.distribution, smooth, right.shape(), cpu).a.distribution());
  const SolveOptions o{.rtol = 1e-12, .maxiter = 300};
  const Array expected = cg(b.plain, right, o).x;
  for (const NamedLinop* m : std::initializer_list<const NamedLinop*>{&pointwise, &smooth})
    EXPECT_LT(relative(cg(b.distribution, right, o, {.preconditioner = *m}).x, expected), 1e-9)
        << m->str();
}

TEST(ShardedOperator, TilesOnTheBaseCount) {
  const NamedLinop plain = matrix_here(40, 25);
  const NamedLinop a = create_batched_linop(
      plain, {.batch_sizes = {{"M", 13}}, .device_matrix = {"cpu", "sim:0"}, .base_device = cpu});
  EXPECT_TRUE(ShardedOperator(a, {25}, {40}, cpu).out.distribution());
  const Array right = Random(7).normal({40}, DType::f64);
  const SolveOptions o{.rtol = 1e-12, .maxiter = 200};
  EXPECT_LT(relative(lsqr(a, right, o).x, lsqr(plain, right, o).x), 1e-8);
}

TEST(ShardedOperator, CallbacksAndCheckpointsSeeTheWhole) {
  const Blocks b = blocks(20, 4, {sim0, sim1});
  const Array right = Random(3).normal({10, 20}, DType::f64);
  const std::string path = scratch_folder() + "/shards.npz";
  std::filesystem::remove(path);
  SolveOptions o{.rtol = 1e-12, .maxiter = 300};
  const SolveResult once = cg(b.distribution, right, o);
  i64 calls = 0;
  o.callback = [&](const Iteration& it) {
    EXPECT_EQ(it.x.shape(), right.shape());
    ++calls;
    return it.number < 7;
  };
  o.checkpoint = {.path = path, .every = 1};
  (void)cg(b.distribution, right, o);
  EXPECT_EQ(calls, 7);
  o.callback = {};
  const SolveResult resumed = cg(b.distribution, right, o);
  EXPECT_EQ(resumed.iterations, once.iterations);
  EXPECT_EQ(relative(resumed.x, once.x), 0);
  std::filesystem::remove(path);
}

TEST(ShardedOperator, ConvergedAtOnceAndFirstGuesses) {
  const Blocks b = blocks(20, 4, {sim0, sim1});
  const Array x = Random(3).normal({10, 20}, DType::f64), right = b.plain(x);
  const SolveResult r = cg(b.distribution, right, {.rtol = 1e-10, .maxiter = 50, .x0 = x});
  EXPECT_EQ(r.iterations, 0);
  EXPECT_LT(relative(r.x, x), 1e-12);
}

TEST(ShardedOperator, LeastSquaresInTilesOfEitherSide) {
  const NamedLinop plain = matrix_here(40, 25);
  const Array right = Random(7).normal({40}, DType::f64);
  const SolveOptions o{.rtol = 1e-12, .maxiter = 200};
  const Array expected = lsqr(plain, right, o).x;
  for (const auto& [along, tile] : {std::pair<NamedDimension, i64>("M", 13), {"N", 7}}) {
    const NamedLinop a = cut_matrix(40, 25, along, tile);
    const ShardedOperator s(a, {25}, {40}, cpu);
    EXPECT_EQ(s.in.distribution(), along == ND("N"));
    EXPECT_EQ(s.out.distribution(), along == ND("M"));
    EXPECT_LT(relative(lsqr(a, right, o).x, expected), 1e-8);
    EXPECT_LT(relative(lsmr(a, right, o).x, expected), 1e-8);
    SolveOptions warm = o;
    warm.x0 = Random(8).normal({25}, DType::f64);
    EXPECT_LT(relative(lsqr(a, right, warm).x, expected), 1e-8);
  }
}

// Tiles of the output: what travels does not grow with the data.
TEST(ShardedOperator, DataOfLeastSquaresStay) {
  i64 moved[2];
  for (const int size : {0, 1}) {
    const i64 rows = size == 0 ? 60 : 6000;
    const NamedLinop a = cut_matrix(rows, 20, "M", rows / 3);
    const Array right = Random(9).normal({rows}, DType::f64);
    auto bytes_of = [&](i64 iterations) {
      const i64 before = problems::bytes_moved();
      (void)lsqr(a, right, {.rtol = 0, .maxiter = iterations});
      return problems::bytes_moved() - before;
    };
    moved[size] = (bytes_of(15) - bytes_of(5)) / 10;
  }
  EXPECT_EQ(moved[0], moved[1]);
}

}  // namespace
}  // namespace tessera
