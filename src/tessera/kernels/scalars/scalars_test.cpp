// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/scalars/scalars.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "support/arrays.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/eager.hpp"

namespace tessera {
namespace {

// Runs a program on the test device over cells that hold 0, 1, 2, …; the cells and their mirror.
struct Outcome {
  std::vector<double> cell;
  std::vector<float> mirror;
};
Outcome run(const std::vector<ScalarStep>& code, DType mirror, double first = 0) {
  const Array cells(Storage::allocate(cpu, max_cells * 12), Layout::contiguous({max_cells * 12}),
                    DType::u8);
  auto* p = static_cast<double*>(cells.host_data());
  for (int i = 0; i < max_cells; ++i) p[i] = i == 0 ? first : i;
  std::memset(p + max_cells, 0, max_cells * 4);
  const Array there = cells.to(test_device()).copy();
  const ScalarsSpec spec{code, mirror};
  launch_now(&KernelTable::scalars, "scalars", spec, test_device(), {&there});
  const Array back = there.to(cpu);
  Outcome o{std::vector<double>(max_cells), std::vector<float>(max_cells)};
  std::memcpy(o.cell.data(), back.host_data(), max_cells * 8);
  std::memcpy(o.mirror.data(), static_cast<double*>(back.host_data()) + max_cells, max_cells * 4);
  return o;
}

TEST(Scalars, EveryOperation) {
  using enum ScalarOp;
  const std::uint8_t t = 200;
  struct Case {
    ScalarOp op;
    std::uint8_t a, b, c;
    double expected;
  };
  const Case cases[] = {{copy, 7, 0, 0, 7},      {add, 3, 4, 0, 7},        {subtract, 3, 5, 0, -2},
                        {multiply, 3, 5, 0, 15}, {divide, 3, 4, 0, 0.75},  {sqrt, 9, 0, 0, 3},
                        {hypot, 3, 4, 0, 5},     {absolute, 6, 0, 0, 6},   {maximum, 3, 4, 0, 4},
                        {minimum, 3, 4, 0, 3},   {copysign, 3, 4, 0, 3},   {less, 3, 4, 0, 1},
                        {less, 4, 4, 0, 0},      {less_equal, 4, 4, 0, 1}, {finite, 4, 0, 0, 1},
                        {where, 1, 5, 6, 5},     {where, 0, 5, 6, 6}};
  for (const Case& k : cases) {
    const Outcome o = run({{k.op, t, k.a, k.b, k.c}}, DType::f64);
    EXPECT_EQ(o.cell[t], k.expected) << static_cast<int>(k.op);
  }
}

TEST(Scalars, NotANumberIsNeverLessAndNeverFinite) {
  using enum ScalarOp;
  const double nan = std::nan("");
  EXPECT_EQ(run({{less, 9, 0, 1, 0}}, DType::f64, nan).cell[9], 0);
  EXPECT_EQ(run({{less_equal, 9, 1, 0, 0}}, DType::f64, nan).cell[9], 0);
  EXPECT_EQ(run({{finite, 9, 0, 0, 0}}, DType::f64, nan).cell[9], 0);
  EXPECT_EQ(run({{finite, 9, 0, 0, 0}}, DType::f64, HUGE_VAL).cell[9], 0);
  EXPECT_EQ(run({{maximum, 9, 0, 5, 0}}, DType::f64, nan).cell[9], 5);
}

TEST(Scalars, StepsSeeTheOnesBefore) {
  using enum ScalarOp;
  const Outcome o =
      run({{add, 10, 2, 3, 0}, {multiply, 11, 10, 10, 0}, {copy, 2, 11, 0, 0}}, DType::f64);
  EXPECT_EQ(o.cell[11], 25);
  EXPECT_EQ(o.cell[2], 25);
  EXPECT_EQ(o.cell[3], 3);
}

TEST(Scalars, PutComputesItsTarget) {
  const Outcome o = run({{ScalarOp::put, 100, 5, 7, 0}}, DType::f64);
  EXPECT_EQ(o.cell[105], 7);
  EXPECT_EQ(o.cell[100], 100);
}

TEST(Scalars, MirrorsWhatItWrites) {
  const Outcome o = run({{ScalarOp::divide, 60, 1, 3, 0}}, DType::f32);
  EXPECT_EQ(o.mirror[60], static_cast<float>(1.0 / 3.0));
  EXPECT_EQ(o.mirror[61], 0.0f);
  EXPECT_EQ(run({{ScalarOp::divide, 60, 1, 3, 0}}, DType::f64).mirror[60], 0.0f);
}

TEST(Scalars, RefusesProgramsThatAreTooLong) {
  const ScalarsSpec spec{std::vector<ScalarStep>(max_scalar_code + 1), DType::f64};
  EXPECT_THROW(check_scalars(spec), ArgumentError);
  EXPECT_THROW(check_scalars({{}, DType::c64}), DTypeError);
}

}  // namespace
}  // namespace tessera
