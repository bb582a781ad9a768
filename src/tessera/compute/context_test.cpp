// SPDX-License-Identifier: Apache-2.0
// The choice of a device on invented machines: pure functions, then the context around them.
#include "tessera/compute/context.hpp"

#include <gtest/gtest.h>

#include "tessera/compute/calibrate.hpp"

namespace tessera {
namespace {

const Device gpu{Kind::sim, 0};

Workload product(i64 n, DType t = DType::f32) { return {Operation::matmul, t, n, n, n}; }
i64 bytes(i64 n) { return 4 * n * n; }

// A host of 10 GFLOP/s and an accelerator of 1 TFLOP/s that takes 20 µs to start, 10 GB/s apart.
CostModel costs() {
  CostModel m;
  for (const i64 n : {8, 64, 512, 4096}) {
    const double flops = work(product(n));
    m.add(cpu, product(n), 1e-6 + flops / 1e10);
    m.add(gpu, product(n), 2e-5 + flops / 1e12);
    m.add(cpu, product(n, DType::f64), 1e-6 + flops / 5e9);
    m.add(gpu, product(n, DType::f64), 2e-5 + flops / 2e10);
  }
  return m;
}

Topology links() {
  Topology t;
  for (const Device a : {cpu, gpu})
    for (const Device b : {cpu, gpu}) t.links.push_back({a, b, a == b ? 1e11 : 1e10, 1e-5, true});
  return t;
}

std::vector<Held> operands(i64 n, std::vector<Device> at) {
  return {{bytes(n), at}, {bytes(n), at}};
}

struct Rig {
  CostModel model = costs();
  Topology net = links();
  Candidates machine{model, net, {{cpu, {}, ""}, {gpu, {}, ""}}};
  Device pick(i64 n, std::vector<Device> at, const Rules& rules = {}) const {
    return choose(product(n), operands(n, std::move(at)), bytes(n), machine, rules).device;
  }
};

TEST(CostModel, ReadsBetweenAndBeyondItsPoints) {
  Curve c;
  c.add(100, 1e-3);
  c.add(1, 1e-5);
  EXPECT_DOUBLE_EQ(c.seconds(0.1), 1e-5);
  EXPECT_NEAR(c.seconds(10), 1e-4, 1e-12);
  EXPECT_DOUBLE_EQ(c.seconds(1000), 1e-2);
  c.add(100, 2e-3);
  EXPECT_DOUBLE_EQ(c.seconds(100), 2e-3);
  EXPECT_THROW(c.add(1, 0), ArgumentError);
  EXPECT_THROW(c.add(-1, 1), ArgumentError);
  EXPECT_THROW((void)Curve().seconds(1), ArgumentError);
}

TEST(CostModel, TextAndBack) {
  CostModel m = costs();
  m.set_memory_rate(cpu, 2e10);
  const CostModel again = CostModel::parse(m.text());
  EXPECT_EQ(again.text(), m.text());
  EXPECT_NEAR(*again.seconds(gpu, product(300)), *m.seconds(gpu, product(300)), 1e-9);
  EXPECT_FALSE(again.seconds(gpu, {Operation::svd, DType::f32, 9, 9}));
  for (const char* bad :
       {"", "tessera costs 2\n", "tessera costs 1\ncpu matmul float32 1\n",
        "tessera costs 1\ncpu matmul float32 1 nan\n", "tessera costs 1\ncpu dance float32 1 1\n",
        "tessera costs 1\nmoon matmul float32 1 1\n", "tessera costs 1\ncpu matmul float32 1 1"})
    EXPECT_THROW((void)CostModel::parse(bad), Error) << bad;
}

TEST(CostModel, MemoryIsAFloorAndShortTypesHaveAStandIn) {
  CostModel m = costs();
  m.set_memory_rate(cpu, 1);
  EXPECT_DOUBLE_EQ(*m.seconds(cpu, product(8)), 3 * 64 * 4);
  EXPECT_EQ(*costs().seconds(cpu, product(64, DType::f16)), *costs().seconds(cpu, product(64)));
  EXPECT_NEAR(*costs().double_rate(cpu), 0.5, 0.01);
  Workload many = product(8);
  many.batch = 1000;
  const double one = *costs().seconds(cpu, product(8));
  EXPECT_LE(*costs().seconds(cpu, many), 1000 * one);
  EXPECT_GE(*costs().seconds(cpu, many), one);
}

TEST(AutoSolver, WeighsTravelAgainstSpeed) {
  const Rig rig;
  EXPECT_EQ(rig.pick(8, {cpu}), cpu);
  EXPECT_EQ(rig.pick(4096, {cpu}), gpu);
  EXPECT_EQ(rig.pick(48, {cpu}), cpu);       // 31 µs here, 42 with the travel
  EXPECT_EQ(rig.pick(48, {cpu, gpu}), gpu);  // a copy is there already
  EXPECT_EQ(rig.pick(8, {gpu}), gpu);        // 20 µs there, two transfers of 10 µs to leave
}

TEST(AutoSolver, HonoursRules) {
  const Rig rig;
  EXPECT_EQ(rig.pick(8, {cpu}, {.forced = gpu}), gpu);
  EXPECT_EQ(rig.pick(4096, {cpu}, {.gpu_threshold_elements = 4096 * 4096 + 1}), cpu);
  EXPECT_EQ(rig.pick(4096, {cpu}, {.gpu_threshold_elements = 4096 * 4096}), gpu);
  EXPECT_THROW(rig.pick(8, {cpu}, {.forced = Device{Kind::sim, 3}}), DeviceError);
}

TEST(AutoSolver, LooksAtFreeMemoryAndSaysWhatIsMissing) {
  Rig rig;
  rig.machine.offers[1].free_bytes = 3 * bytes(4096) - 1;
  EXPECT_EQ(rig.pick(4096, {cpu}), cpu);
  EXPECT_EQ(rig.pick(4096, {gpu}), gpu);  // the operands are there; the result fits
  rig.machine.offers[0].free_bytes = 10;
  try {
    rig.pick(4096, {cpu});
    FAIL();
  } catch (const OutOfMemory& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("matmul: no device has room"), text.npos) << text;
    EXPECT_NE(text.find("192.0 MiB"), text.npos) << text;
  }
}

TEST(AutoSolver, GivesAReasonForEachDevice) {
  const Rig rig;
  const Choice c = choose(product(4096), operands(4096, {cpu}), bytes(4096), rig.machine);
  ASSERT_EQ(c.reasons.size(), 2u);
  EXPECT_EQ(c.transferred_bytes, 2 * bytes(4096));
  EXPECT_NE(c.reasons[0].find("sim:0: "), std::string::npos) << c.reasons[0];
  EXPECT_NE(c.reasons[0].find("128.0 MiB"), std::string::npos) << c.reasons[0];
  EXPECT_NE(c.reasons[1].find("cpu: "), std::string::npos) << c.reasons[1];
  EXPECT_NE(c.reasons[1].find("all operands are there"), std::string::npos) << c.reasons[1];
}

TEST(Breaker, ClosesForLongerEachTimeAndForgets) {
  Breaker b;
  const Breaker::Time now{};
  using std::chrono::seconds;
  EXPECT_EQ(b.why_closed(gpu, now), "");
  b.failed(gpu, "lost", now);
  EXPECT_EQ(b.why_closed(gpu, now), "failed before (lost); tried again in 30 s");
  EXPECT_EQ(b.why_closed(gpu, now + seconds(30)), "");
  b.failed(gpu, "lost", now + seconds(30));
  EXPECT_NE(b.why_closed(gpu, now + seconds(89)), "");
  EXPECT_EQ(b.why_closed(gpu, now + seconds(90)), "");
  b.worked(gpu);
  b.failed(gpu, "lost", now);
  EXPECT_EQ(b.why_closed(gpu, now + seconds(30)), "");
  EXPECT_EQ(b.why_closed(cpu, now), "");
}

TEST(ComputeContext, FallsBackWithAWarning) {
  ComputeContext c({gpu}, costs(), links());
  std::vector<std::string> warnings;
  c.on_warning([&](const std::string& text) { warnings.push_back(text); });
  const auto args = operands(4096, {cpu});
  std::vector<Device> tried;
  c.run(product(4096), args, bytes(4096), [&](Device d) {
    tried.push_back(d);
    if (d == gpu) throw DeviceError("the device is lost");
  });
  EXPECT_EQ(tried, (std::vector<Device>{gpu, cpu}));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("the device is lost"), std::string::npos);
  EXPECT_EQ(c.choose(product(4096), args, bytes(4096)).device, cpu);
  EXPECT_THROW(c.run(product(4096), args, bytes(4096), [](Device) { throw OutOfMemory("full"); }),
               OutOfMemory);
  EXPECT_THROW(c.run(product(8), args, 1, [](Device) { throw ShapeError("a mistake"); }),
               ShapeError);
}

TEST(ComputeContext, PrefersThePrecisionThatWasMeasured) {
  const ComputeContext c({gpu}, costs(), links());
  EXPECT_EQ(c.preferred_precision(cpu), DType::f64);
  EXPECT_EQ(c.preferred_precision(gpu), DType::f32);  // a fiftieth of the rate
  EXPECT_EQ(c.device(), "AutoSolver (cpu + sim:0)");
  ComputeContext mine({gpu}, costs(), links());
  mine.disable_gpu();
  EXPECT_FALSE(mine.is_gpu_active());
  EXPECT_EQ(mine.choose(product(4096), operands(4096, {cpu}), bytes(4096)).device, cpu);
  mine.set_gpu_threshold_elements(5);
  EXPECT_THROW(mine.set_gpu_threshold_elements(-1), ArgumentError);
  EXPECT_THROW(mine.enable_gpu({.device_id = 77}), Error);
}

TEST(Calibrate, MeasuresWhatItPromises) {
  const Device host[] = {cpu};
  const CostModel m = calibrate(host, 0.3);
  EXPECT_TRUE(m.knows(cpu));
  const auto small = m.seconds(cpu, product(8)), large = m.seconds(cpu, product(4096));
  ASSERT_TRUE(small && large);
  EXPECT_GT(*large, *small);
  EXPECT_TRUE(m.seconds(cpu, {Operation::eigh, DType::c128, 32, 32}));
}

}  // namespace
}  // namespace tessera
