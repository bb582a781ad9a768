// SPDX-License-Identifier: Apache-2.0
// Steps over vectors, one by one and joined to passes: the same numbers, in any order of anything,
// with foreign steps between them.
#include "tessera/solve/core/vectors.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "support/problems.hpp"
#include "tessera/base/config.hpp"
#include "tessera/plan/plan.hpp"
#include "tessera/solve/core/scalar_program.hpp"

namespace tessera {
namespace {

using namespace problems;

// Vectors that are arrays of their own, rows of one array, and some that overlap.
struct Vectors {
  std::vector<Array> memory, vectors;
  Vectors(i64 n, DType dtype, Device device, std::uint64_t seed) {
    const auto drawn = [&](const Shape& shape) {
      const Array a = empty_dense(shape, dtype, device);
      a.copy_from(Random(seed++).normal(shape, dtype, device));
      memory.push_back(a);
      return a;
    };
    for (int i = 0; i < 3; ++i) vectors.push_back(drawn({n}));
    const Array rows = drawn({3, n}), longer = drawn({n + 1});
    for (i64 i = 0; i < 3; ++i) vectors.push_back(rows.select(0, i));
    vectors.push_back(longer.slice(0, 0, n));
    vectors.push_back(longer.slice(0, 1, n + 1));
  }
};

struct Recording {
  Recorder& r;
  ScalarProgram& scalars;
  const std::vector<Array>& v;
  std::mt19937 random;

  int below(int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }
  const Array& any() { return v[static_cast<std::size_t>(below(static_cast<int>(v.size())))]; }
  // One whose numbers are those of y or lie elsewhere: a step does not read a part of what it writes.
  const Array& beside(const Array& y) {
    for (;;)
      if (const Array& a = any(); a.data() == y.data() || !may_share_memory(a, y)) return a;
  }
  DeviceScalar cell(int i) { return scalars.cell(cat("cell ", i)); }
  vec::Factor factor() {
    if (below(2) == 0) return vec::Factor(0.25 * below(5) - 0.5);
    return vec::Factor(scalars.factor(r, cell(below(3))));
  }
  void program() {
    const DeviceScalar a = cell(below(6)), b = cell(below(6));
    scalars.store(cell(below(3)), a / (magnitude(a) + magnitude(b) + 1.0));
    if (below(2) == 0) scalars.store(cell(below(3)), choose(0.0 < magnitude(b), 0.5, 0.25));
    scalars.record(r);
  }
  void step() {
    const Array &y = any(), &a = beside(y), &b = beside(y);
    switch (below(12)) {
      case 0: return vec::copy(r, a, y);
      case 1: return vec::fill(r, 0.5, y);
      case 2: return vec::scale(r, factor(), a, y);
      case 3: return vec::add(r, a, b, y);
      case 4: return vec::subtract(r, a, b, y);
      case 5: return vec::multiply_add(r, a, factor(), b, y);
      case 6: return vec::add_scaled(r, a, factor(), y);
      case 7: return vec::select(r, scalars.factor(r, cell(below(3))), a, b, y);
      case 8: return vec::dot(r, a, b, scalars.target(r, cell(3 + below(3)), 1));
      case 9: return vec::norm2(r, a, scalars.target(r, cell(3 + below(3)), 1));
      case 10: return program();
      default: return record::scale(r, Value(0.5), r.constant(a), r.constant(a));
    }
  }

 private:
  DeviceScalar choose(DeviceScalar c, double a, double b) {
    return tessera::choose(c, scalars.constant(a), b);
  }
};

struct Found {
  std::vector<Array> memory;
  std::vector<double> cells;
  std::size_t steps;
};

Found run(i64 n, DType dtype, Device device, std::uint32_t seed, bool joined) {
  const Using<bool> how(config().join_sweeps, joined);
  const Vectors v(n, dtype, device, seed);
  ScalarProgram scalars(device, dtype);
  for (int i = 0; i < 6; ++i) scalars.cell(cat("cell ", i), 0.3 * i);
  Recorder r;
  Recording recording{r, scalars, v.vectors, std::mt19937(seed)};
  for (int i = 0; i < 40; ++i) recording.step();
  const Plan plan(std::move(r), "vectors");
  Run run = plan.instance(Stream::home(device));
  scalars.upload();
  scalars.send();
  for (int times = 0; times < 2; ++times) run(std::span<const Array>{}, std::span<const Array>{});
  scalars.fetch();
  Found f{{}, scalars.cells(), plan.steps().size()};
  for (const Array& a : v.memory) f.memory.push_back(a.to(cpu).contiguous());
  return f;
}

TEST(JoinedVectors, GiveWhatSingleStepsGive) {
  std::vector<Device> devices{test_device()};
  if (devices.front().kind == Kind::cpu) devices.push_back(Device::parse("sim:0"));
  std::size_t single = 0, joined = 0;
  for (const Device device : devices)
    for (const DType dtype : {DType::f32, DType::f64, DType::c64})
      for (const i64 n : {1, 5, 300, 4099})
        for (std::uint32_t seed = 0; seed < 6; ++seed) {
          SCOPED_TRACE(cat(device, " ", name(dtype), " ", n, " seed ", seed));
          const Found one = run(n, dtype, device, seed, false),
                      all = run(n, dtype, device, seed, true);
          single += one.steps;
          joined += all.steps;
          for (std::size_t i = 0; i < one.memory.size(); ++i) {
            const double most = real_of(dtype) == DType::f32 ? 1e-3 : 1e-10;
            EXPECT_TRUE(
                same_bits(all.memory[i], one.memory[i]) ||
                (device.kind == Kind::cuda && relative(all.memory[i], one.memory[i]) < most))
                << "memory " << i;
          }
          if (device.kind != Kind::cuda) {
            EXPECT_EQ(all.cells, one.cells);
          }
        }
  EXPECT_LT(joined, 3 * single / 4);
}

// What an iteration of conjugate gradients does beside its operator is three launches.
TEST(JoinedVectors, AnIterationIsThreePasses) {
  const Device d = test_device();
  ScalarProgram scalars(d, DType::c64);
  const auto vector = [&] { return vec::Vector(vec::zeros({64}, DType::c64, d)); };
  const vec::Vector x = vector(), r = vector(), p = vector(), Ap = vector();
  const DeviceScalar alpha = scalars.cell("alpha"), rr = scalars.cell("rr"),
                     curvature = scalars.cell("curvature"), beta = scalars.cell("beta");
  Recorder rec;
  vec::dot(rec, p, Ap, scalars.target(rec, curvature, 1));
  scalars.store(alpha, rr / curvature);
  scalars.record(rec);
  vec::add_scaled(rec, p, scalars.factor(rec, alpha), x);
  vec::add_scaled(rec, Ap, scalars.factor(rec, alpha), r);
  vec::norm2(rec, r, scalars.target(rec, rr, 1));
  scalars.store(beta, rr / curvature);
  scalars.record(rec);
  vec::multiply_add(rec, p, scalars.factor(rec, beta), r, p);
  const Plan plan(std::move(rec), "iteration");
  ASSERT_EQ(plan.steps().size(), 3u) << plan.explain();
  EXPECT_NE(plan.steps()[1].label.find("multiply_add + multiply_add + sum_abs2 + scalars"),
            std::string::npos)
      << plan.steps()[1].label;
  // What a pass reads and writes goes into it as well: x, r, p, Ap and the cells.
  const std::string drawn = plan.explain(ExplainFormat::dot);
  std::size_t edges = 0;
  for (std::size_t at = 0; (at = drawn.find("-> s1 [", at)) != std::string::npos; ++at) ++edges;
  EXPECT_EQ(edges, 5u) << drawn;
  EXPECT_NE(drawn.find("s0 -> s1 ["), std::string::npos) << drawn;
}

// Steps of which one has to end before the other begins stay two.
TEST(JoinedVectors, WhatHasToWaitIsNotJoined) {
  const Device d = test_device();
  const auto vector = [&](i64 n, DType t) { return vec::zeros({n}, t, d); };
  const Array a = vector(9, DType::f64), b = vector(9, DType::f64), c = vector(9, DType::f64),
              single = vector(9, DType::f32), longer = vector(10, DType::f64);
  ScalarProgram scalars(d, DType::f64);
  const DeviceScalar sum = scalars.cell("sum"), other = scalars.cell("other");
  using Steps = std::function<void(Recorder&)>;
  const auto to = [&](Recorder& r, DeviceScalar s) { return scalars.target(r, s, 1); };
  const auto program = [&](Recorder& r) {
    scalars.store(other, sum + 1.0);
    scalars.record(r);
  };
  struct Case {
    const char* what;
    std::size_t expected;
    Steps first, second;
  };
  const Case cases[] = {
      {"one after the other", 1, [&](Recorder& r) { vec::copy(r, a, b); },
       [&](Recorder& r) { vec::add(r, a, b, c); }},
      {"a sum and the program over it", 1, [&](Recorder& r) { vec::dot(r, a, b, to(r, sum)); },
       program},
      {"a factor that is a sum", 2, [&](Recorder& r) { vec::dot(r, a, b, to(r, sum)); },
       [&](Recorder& r) { vec::scale(r, scalars.factor(r, sum), a, c); }},
      {"two sums in one cell", 2, [&](Recorder& r) { vec::dot(r, a, b, to(r, sum)); },
       [&](Recorder& r) { vec::norm2(r, a, to(r, sum)); }},
      {"after a program", 2, program, [&](Recorder& r) { vec::copy(r, a, c); }},
      {"another length", 2, [&](Recorder& r) { vec::fill(r, 1, a); },
       [&](Recorder& r) { vec::fill(r, 1, longer); }},
      {"another dtype", 2, [&](Recorder& r) { vec::fill(r, 1, a); },
       [&](Recorder& r) { vec::fill(r, 1, single); }},
      {"memory that overlaps", 2, [&](Recorder& r) { vec::fill(r, 1, longer.slice(0, 0, 9)); },
       [&](Recorder& r) { vec::copy(r, longer.slice(0, 1, 10), a); }},
      {"parts side by side", 1, [&](Recorder& r) { vec::fill(r, 1, longer.slice(0, 0, 5)); },
       [&](Recorder& r) { vec::copy(r, longer.slice(0, 5, 10), a.slice(0, 0, 5)); }},
  };
  for (const Case& k : cases) {
    Recorder r;
    k.first(r);
    k.second(r);
    // What follows is a step of its own, and tells the plan what the cells are.
    record::scale(r, Value(0.5), r.constant(b), r.constant(b));
    program(r);
    EXPECT_EQ(Plan(std::move(r), "steps").steps().size(), k.expected + 2) << k.what;
  }
}

// Cells travel through page-locked memory where the budget has room for them, and without it.
TEST(ScalarProgram, TravelsWithoutPinnedMemory) {
  Device d = test_device();
  if (d.kind == Kind::cpu) d = Device::parse("sim:0");
  for (const i64 budget : {i64{0}, i64{1}}) {
    const Using<i64> most(config().pinned_budget, budget);
    if (budget == 1) {
      EXPECT_THROW((void)Storage::pinned(d.kind, 1 << 20), OutOfMemory);
    }
    ScalarProgram scalars(d, DType::f32);
    const DeviceScalar a = scalars.cell("a", 3), b = scalars.cell("b");
    Recorder r;
    scalars.store(b, root(a + 1.0));
    scalars.record(r);
    tessera::Run run = Plan(std::move(r), "root").instance(Stream::home(d));
    for (const double v : {3.0, 8.0, 15.0}) {
      scalars.set(a, v);
      scalars.upload();
      scalars.send();
      run(std::span<const Array>{}, std::span<const Array>{});
    }
    scalars.fetch();
    EXPECT_EQ(scalars.value(b), 4);
  }
}

}  // namespace
}  // namespace tessera
