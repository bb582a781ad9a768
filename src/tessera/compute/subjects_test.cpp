// SPDX-License-Identifier: Apache-2.0
// Shapes of products and sizes in doubt, on invented machines.
#include "tessera/compute/subjects.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/devices.hpp"
#include "tessera/compute/auto_solver.hpp"

namespace tessera {
namespace {

Workload product_of(i64 m, i64 n, i64 k, DType dtype = DType::f32) {
  return {Operation::matmul, dtype, m, n, k};
}

// A host that multiplies tall matrices at a third of the rate of square ones, beside a device that
// takes 20 µs to begin and does not care; 10 GB/s and 10 µs apart.
CostModel machine() {
  CostModel m;
  for (const i64 n : measured_sizes) {
    const Workload square = sized({Operation::matmul, DType::f32}, n),
                   tall = sized({Operation::matmul, DType::f32, Pattern::tall}, n);
    m.add(cpu, square, 1e-6 + work(square) / 3e11);
    m.add(cpu, tall, 1e-6 + work(tall) / 1e11);
    for (const Workload& p : {square, tall}) m.add(sim0, p, 2e-5 + work(p) / 1e13);
  }
  for (const double bytes : {1e3, 1e5, 1e7, 1e9}) {
    m.add_move(cpu, sim0, bytes, 1e-5 + bytes / 1e10);
    m.add_move(sim0, cpu, bytes, 1e-5 + bytes / 1e10);
  }
  return m;
}

TEST(Tallness, GrowsWithTheLongestSideOverTheShortest) {
  EXPECT_EQ(tallness(product_of(150, 150, 150)), 0);
  EXPECT_DOUBLE_EQ(tallness(product_of(2400, 150, 150)), 1);
  EXPECT_DOUBLE_EQ(tallness(product_of(150, 2400, 150)), 1);
  EXPECT_NEAR(tallness(product_of(150, 150, 600)), 0.5, 1e-12);
  EXPECT_EQ(tallness(product_of(1 << 20, 1, 1)), 1);
  EXPECT_EQ(tallness(product_of(0, 0, 0)), 0);
  EXPECT_EQ(tallness({Operation::bit_matmul, DType::b1, 160, 10, 10}), 0);
}

TEST(CostModel, TallProductsAreForecastFromTallOnes) {
  const CostModel m = machine();
  const Workload tall = product_of(2400, 150, 150), square = product_of(378, 378, 378);
  EXPECT_NEAR(*m.seconds(cpu, tall) * 1e11 / work(tall), 1, 0.02);
  EXPECT_NEAR(*m.seconds(cpu, square) * 3e11 / work(square), 1, 0.05);
  const Workload wide = product_of(150, 2400, 150);  // the transposed product
  EXPECT_DOUBLE_EQ(*m.seconds(cpu, wide), *m.seconds(cpu, tall));
  const Workload half = product_of(600, 150, 150);  // between them: 3 to the power of a half
  EXPECT_NEAR(*m.seconds(cpu, half) * 3e11 / work(half), std::sqrt(3), 0.1);
  Workload stack = tall;  // each of them is tall
  stack.batch = 4;
  EXPECT_NEAR(*m.seconds(cpu, stack), 4 * *m.seconds(cpu, tall), 0.02 * *m.seconds(cpu, stack));
}

TEST(CostModel, WithoutTallMeasurementsProductsCountAsSquare) {
  CostModel m;
  for (const i64 n : measured_sizes)
    m.add(cpu, product_of(n, n, n), work(product_of(n, n, n)) / 1e9);
  const Workload tall = product_of(2400, 150, 150);
  EXPECT_NEAR(*m.seconds(cpu, tall), work(tall) / 1e9, 1e-9);
}

TEST(CostModel, TextKeepsTallProductsApart) {
  const CostModel m = machine(), again = CostModel::parse(m.text());
  EXPECT_EQ(again.text(), m.text());
  EXPECT_NE(m.text().find("cpu matmul tall float32 "), std::string::npos);
  for (const Workload& p : {product_of(2400, 150, 150), product_of(150, 150, 150)})
    EXPECT_NEAR(*again.seconds(cpu, p) / *m.seconds(cpu, p), 1, 1e-4);
  EXPECT_THROW((void)CostModel::parse("tessera costs 6\ncpu solve tall float32 1 1\n"), Error);
  EXPECT_THROW((void)CostModel::parse("tessera costs 6\ncpu matmul tall 1 1\n"), Error);
}

// A host that gives each matrix of a stack to a thread of its own, at more than twice the rate of
// one product over all threads; a device and a way to it that 32 products of 150 x 150 reach in
// 490 µs, less than one product of as much work takes on the host and more than the stack does.
CostModel machine_of_stacks(bool measured) {
  CostModel m;
  for (const i64 n : measured_sizes) {
    const Workload square = sized({Operation::matmul, DType::f32}, n),
                   stack = sized({Operation::matmul, DType::f32, Pattern::stack}, n);
    m.add(cpu, square, 5e-6 + work(square) / 4e11);
    m.add(sim0, square, 2e-5 + work(square) / 1e13);
    if (!measured || n > largest_size({Operation::matmul, DType::f32, Pattern::stack})) continue;
    m.add(cpu, stack, 1e-5 + work(stack) / 9.5e11);
    m.add(sim0, stack, 2e-5 + work(stack) / 1e13);
  }
  for (const double bytes : {1e3, 1e5, 1e6, 3e6, 1e7}) {
    m.add_move(cpu, sim0, bytes, 1e-5 + bytes / 1.4e10);
    m.add_move(sim0, cpu, bytes, 1e-5 + bytes / 1.4e10);
  }
  return m;
}

Workload stack_of(i64 batch, i64 n) { return {Operation::matmul, DType::f32, n, n, n, batch}; }

TEST(CostModel, StacksOfProductsAreForecastFromStacks) {
  const CostModel m = machine_of_stacks(true);
  const Workload stack = stack_of(stack_length, 150);
  EXPECT_NEAR(*m.seconds(cpu, stack) * 9.5e11 / work(stack), 1, 0.1);
  double before = *m.seconds(cpu, stack_of(1, 150));
  for (const i64 batch : {2, 8, 31, 32, 33, 64, 1000}) {  // no step where measured ones begin
    const double now = *m.seconds(cpu, stack_of(batch, 150));
    EXPECT_GT(now, before) << batch;
    EXPECT_LE(now, static_cast<double>(batch) * *m.seconds(cpu, stack_of(1, 150))) << batch;
    before = now;
  }
  EXPECT_NEAR(*m.seconds(cpu, stack_of(33, 150)) / *m.seconds(cpu, stack_of(31, 150)), 1, 0.1);
  Workload tall = stack_of(stack_length, 150);  // without a curve of tall ones: as square
  tall.m = 2400;
  EXPECT_NEAR(*m.seconds(cpu, tall) * 9.5e11 / work(tall), 1, 0.2);
  const CostModel again = CostModel::parse(m.text());
  EXPECT_EQ(again.text(), m.text());
  EXPECT_NE(m.text().find("cpu matmul stack float32 "), std::string::npos);
}

TEST(AutoSolver, StacksStayWhereTheirOwnRateIsBetter) {
  const auto chosen = [](bool measured) {
    const CostModel m = machine_of_stacks(measured);
    Topology net;
    const i64 bytes = stack_length * 150 * 150 * 4;
    const std::vector<Residency> operands{{bytes, {cpu}}, {bytes, {cpu}}};
    const AutoSolver solver{{m, net, {{cpu, {}, ""}, {sim0, {}, ""}}}};
    return solver.select_device(stack_of(stack_length, 150), operands, bytes).device;
  };
  EXPECT_EQ(chosen(true), cpu);
  EXPECT_EQ(chosen(false), sim0);  // what the products of one matrix foretell
}

TEST(CostModel, ComplexNumbersStandBehindRealOnesOfAsManyBytes) {
  CostModel m;
  m.add(cpu, {Operation::elementwise, DType::f64, 1000}, 3e-6);
  m.add(cpu, {Operation::matvec, DType::f64, 10, 1, 10}, 3e-6);
  EXPECT_DOUBLE_EQ(*m.seconds(cpu, {Operation::elementwise, DType::c64, 1000}), 3e-6);
  EXPECT_FALSE(m.seconds(cpu, {Operation::matvec, DType::c64, 10, 1, 10}));
}

TEST(CostModel, StepsTakeAsLongAsTheShortestElementwiseOperation) {
  CostModel m;
  Workload solve{Operation::solve, DType::f64, 10, 1};
  m.add(cpu, solve, 3e-6);
  solve.steps = 12;
  EXPECT_DOUBLE_EQ(*m.seconds(cpu, solve), 3e-6);  // of which nothing is known
  m.add(cpu, {Operation::elementwise, DType::f64, 64}, 5e-7);
  m.add(cpu, {Operation::elementwise, DType::f64, 1 << 20}, 5e-4);
  EXPECT_DOUBLE_EQ(*m.seconds(cpu, solve), 3e-6 + 12 * 5e-7);
  m.add(cpu, {Operation::elementwise, DType::f32, 64}, 4e-7);  // a call is one in any dtype
  EXPECT_DOUBLE_EQ(*m.seconds(cpu, solve), 3e-6 + 12 * 4e-7);
}

// A host that factors at 1 Gflop/s and takes 2 µs to begin; a right-hand side takes as long as 100
// rows, whatever the size of the matrix.
TEST(CostModel, RightHandSidesAreForecastFromSeveral) {
  const auto time_of = [](i64 n, i64 columns) {
    return 2e-6 + 2.0 / 3 * double(n * n * n) * 1e-9 + double(columns) * 1e-7;
  };
  const auto system = [](i64 n, i64 columns) {
    return Workload{Operation::solve, DType::f64, n, columns};
  };
  CostModel m;
  for (const i64 n : measured_sizes) m.add(cpu, system(n, 1), time_of(n, 1));
  const double before = *m.seconds(cpu, system(64, 50));  // as a larger matrix of as much work
  EXPECT_GT(before, 2 * time_of(64, 50));
  for (const i64 n : measured_sizes)
    m.add(cpu, system(n, system_columns), time_of(n, system_columns));
  for (const i64 n : {8, 64, 1024})
    for (const i64 columns : {1, 2, 31, 32, 50, 1000})
      EXPECT_NEAR(*m.seconds(cpu, system(n, columns)) / time_of(n, columns), 1, 1e-6)
          << n << " " << columns;
  EXPECT_LT(*m.seconds(cpu, system(4, 50)), 0.6 * time_of(8, 50));  // smaller than any measured
  EXPECT_EQ(*m.seconds(cpu, system(4, 1)), time_of(8, 1));
  Workload triangle = system(64, 50);  // has a curve of its own work
  triangle.triangular = true;
  EXPECT_LT(*m.seconds(cpu, triangle), before);
  const CostModel again = CostModel::parse(m.text());
  EXPECT_EQ(again.text(), m.text());
  EXPECT_NE(m.text().find("cpu solve columns float64 "), std::string::npos);
  EXPECT_THROW((void)CostModel::parse("tessera costs 6\ncpu matmul columns float32 1 1\n"), Error);
}

TEST(Subjects, EveryDtypeThatIsAskedForIsMeasuredOrStoodInFor) {
  const std::vector<Subject> all = all_subjects();
  for (int i = 0; i < operation_count; ++i) {
    const auto op = static_cast<Operation>(i);
    for (const DType t :
         {DType::f16, DType::f32, DType::f64, DType::c64, DType::c128, DType::i32}) {
      const auto measured = [&](const Subject& s) {
        return s.op == op && s.pattern == Pattern::plain &&
               (s.dtype == t || s.dtype == stand_in(op, t));
      };
      EXPECT_TRUE(std::any_of(all.begin(), all.end(), measured)) << name(op) << " " << name(t);
    }
  }
}

TEST(Subjects, OperandsAreWhatIsReadOnly) {
  EXPECT_EQ(operand_bytes(product_of(3, 4, 5)), 4 * (15 + 20));
  EXPECT_EQ(operand_bytes({Operation::elementwise, DType::f64, 10}), 2 * 80);
  EXPECT_EQ(operand_bytes({Operation::solve, DType::f32, 10, 2}), 4 * (100 + 20));
  EXPECT_EQ(operand_bytes({Operation::svd, DType::f32, 10, 10}), 400);
}

TEST(Subjects, DoubtsLieWhereDevicesAreNearEachOther) {
  const CostModel m = machine();
  const Device both[] = {cpu, sim0}, host[] = {cpu};
  EXPECT_TRUE(doubts(m, host).empty());
  const std::vector<UncertainSize> found = doubts(m, both);
  ASSERT_FALSE(found.empty());
  EXPECT_TRUE(std::any_of(found.begin(), found.end(),
                          [](const UncertainSize& d) { return tallness(d.problem) == 1; }));
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Workload& p = found[i].problem;
    EXPECT_EQ(p.op, Operation::matmul);  // nothing else is known of this machine
    EXPECT_EQ(std::count(measured_sizes.begin(), measured_sizes.end(), p.n), 0);
    EXPECT_LT(found[i].distance, std::log(2.0));
    EXPECT_TRUE(i == 0 || found[i - 1].distance <= found[i].distance);
    const double here = *m.seconds(cpu, p), there = *m.seconds(sim0, p),
                 move = *m.move_seconds(cpu, sim0, operand_bytes(p));
    EXPECT_TRUE(here / (there + move) < 2 || (here + move) / there < 2);
  }
}

}  // namespace
}  // namespace tessera
