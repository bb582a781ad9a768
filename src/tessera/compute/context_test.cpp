// SPDX-License-Identifier: Apache-2.0
// The choice of a device on invented machines: pure functions, then the context around them.
#include "tessera/compute/context.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/support.hpp"
#include "tessera/array/array.hpp"
#include "tessera/base/warn.hpp"
#include "tessera/compute/calibrate.hpp"
#include "tessera/compute/disk_rate.hpp"
#include "tessera/device/sim/faults.hpp"

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

std::vector<Residency> operands(i64 n, std::vector<Device> at) {
  return {{bytes(n), at}, {bytes(n), at}};
}

Choice choose(const Workload& problem, std::span<const Residency> args, i64 result_bytes,
              const Candidates& machine, const Rules& rules = {}) {
  return AutoSolver{machine, rules}.select_device(problem, args, result_bytes);
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
  c.add(1000, 1e-3);  // so 100 cannot take two
  EXPECT_DOUBLE_EQ(c.seconds(100), 1e-3);
  EXPECT_DOUBLE_EQ(c.seconds(1), 1e-5);
  c.add(10, 1);
  EXPECT_DOUBLE_EQ(c.seconds(10), 1e-3);
  EXPECT_THROW(c.add(1, 0), ArgumentError);
  EXPECT_THROW(c.add(-1, 1), ArgumentError);
  EXPECT_THROW((void)Curve().seconds(1), ArgumentError);
}

TEST(CostModel, TextAndBack) {
  CostModel m = costs();
  m.set_memory_rate(cpu, 2e10);
  m.add_move(cpu, gpu, 1e6, 1e-3);
  const CostModel again = CostModel::parse(m.text());
  EXPECT_EQ(again.text(), m.text());
  EXPECT_NEAR(*again.seconds(gpu, product(300)), *m.seconds(gpu, product(300)), 1e-9);
  EXPECT_FALSE(again.seconds(gpu, {Operation::svd, DType::f32, 9, 9}));
  for (const char* bad :
       {"", "tessera costs 5\n", "tessera costs 6\ncpu matmul float32 1\n",
        "tessera costs 6\ncpu matmul float32 1 nan\n", "tessera costs 6\ncpu dance float32 1 1\n",
        "tessera costs 6\nmoon matmul float32 1 1\n", "tessera costs 6\ncpu to moon 1 1\n",
        "tessera costs 6\ncpu to sim:0 1\n", "tessera costs 6\ncpu matmul float32 1 1"})
    EXPECT_THROW((void)CostModel::parse(bad), Error) << bad;
}

TEST(CostModel, MemoryIsAFloorAndShortTypesHaveAStandIn) {
  CostModel m = costs();
  m.set_memory_rate(cpu, 1);
  const Workload thin{Operation::matmul, DType::f32, 1 << 21, 4, 4};
  EXPECT_DOUBLE_EQ(*m.seconds(cpu, thin), touched_bytes(thin));
  EXPECT_LT(*m.seconds(cpu, product(8)), 1);  // in a cache: the memory has no say
  EXPECT_EQ(*costs().seconds(cpu, product(64, DType::f16)), *costs().seconds(cpu, product(64)));
  EXPECT_NEAR(*costs().double_rate(cpu), 0.5, 0.01);
  CostModel disturbed = costs();
  disturbed.add(cpu, product(1024, DType::f64), 100 * work(product(1024)) / 5e9);
  EXPECT_NEAR(*disturbed.double_rate(cpu), 0.5, 0.01);
  Workload many = product(8);
  many.batch = 1000;
  const double one = *costs().seconds(cpu, product(8));
  EXPECT_LE(*costs().seconds(cpu, many), 1000 * one);
  EXPECT_GE(*costs().seconds(cpu, many), one);
}

TEST(CostModel, StacksOfFactorizationsTakeTurnsOnAccelerators) {
  const auto stack_of = [](Operation op, i64 n, i64 batch) {
    return Workload{op, DType::f64, n, op == Operation::solve ? 1 : n, 1, batch};
  };
  CostModel m;
  for (const Operation op : {Operation::solve, Operation::cholesky, Operation::svd, Operation::eig})
    for (const Device d : {cpu, gpu}) {
      m.add(d, stack_of(op, 33, 1), 1e-4);
      m.add(d, stack_of(op, 6400, 1), 1e-3);
    }
  const auto stack = [&](Device d, Operation op, i64 n) {
    return *m.seconds(d, stack_of(op, n, 100));
  };
  EXPECT_GT(stack(gpu, Operation::solve, 65), 1e-2);
  EXPECT_LT(stack(cpu, Operation::solve, 65), 1e-3);
  EXPECT_LT(stack(gpu, Operation::solve, 64), 1e-3);  // a block for each
  EXPECT_LT(stack(gpu, Operation::svd, 64), 1e-3);
  EXPECT_DOUBLE_EQ(stack(gpu, Operation::cholesky, 33), 1e-2);
  EXPECT_LT(stack(gpu, Operation::cholesky, 32), 1e-3);  // a warp
  EXPECT_DOUBLE_EQ(stack(gpu, Operation::eig, 8), 1e-2);
}

TEST(CostModel, KnowsRoutes) {
  CostModel m;
  EXPECT_FALSE(m.move_seconds(cpu, gpu, 1e6));
  m.add_move(cpu, gpu, 1e3, 1e-6);
  m.add_move(cpu, gpu, 1e6, 1e-3);
  EXPECT_DOUBLE_EQ(*m.move_seconds(cpu, gpu, 0), 1e-6);
  EXPECT_NEAR(*m.move_seconds(cpu, gpu, 2e6), 2e-3, 1e-12);
  EXPECT_FALSE(m.move_seconds(gpu, cpu, 1e6));
}

TEST(AutoSolver, WeighsTravelAgainstSpeed) {
  const Rig rig;
  EXPECT_EQ(rig.pick(8, {cpu}), cpu);
  EXPECT_EQ(rig.pick(4096, {cpu}), gpu);
  EXPECT_EQ(rig.pick(48, {cpu}), cpu);       // 31 µs here, 42 with the travel
  EXPECT_EQ(rig.pick(48, {cpu, gpu}), gpu);  // a copy is there already
  EXPECT_EQ(rig.pick(8, {gpu}), gpu);        // 20 µs there, two transfers of 10 µs to leave
}

TEST(AutoSolver, DataStayWhereMovingThemGainsTooLittle) {
  // 100 µs on the host; there `share` of that, 10 µs of which bring the operand.
  const auto chosen = [](double share, std::vector<Device> at) {
    CostModel m;
    m.add(cpu, product(64), 1e-4);
    m.add(gpu, product(64), share * 1e-4 - 1e-5);
    m.add_move(cpu, gpu, 1, 1e-5);
    const Topology net = links();
    const std::vector<Residency> args{{1, std::move(at)}};
    return choose(product(64), args, bytes(64), {m, net, {{cpu, {}, ""}, {gpu, {}, ""}}});
  };
  EXPECT_EQ(chosen(0.94, {cpu}).device, gpu);
  EXPECT_FALSE(chosen(0.94, {cpu}).stays);
  const Choice kept = chosen(0.96, {cpu});
  EXPECT_EQ(kept.device, cpu);
  EXPECT_TRUE(kept.stays);
  EXPECT_NE(kept.str().find("data stay where they are"), std::string::npos) << kept.str();
  EXPECT_EQ(chosen(1.08, {cpu, gpu}).device, gpu);  // nothing would move: the quicker one
  EXPECT_FALSE(chosen(1.08, {cpu, gpu}).stays);
}

TEST(AutoSolver, HonoursRules) {
  const Rig rig;
  EXPECT_EQ(rig.pick(8, {cpu}, {.forced = gpu}), gpu);
  EXPECT_EQ(rig.pick(4096, {cpu}, {.gpu_threshold_elements = 4096 * 4096 + 1}), cpu);
  EXPECT_EQ(rig.pick(4096, {cpu}, {.gpu_threshold_elements = 4096 * 4096}), gpu);
  EXPECT_EQ(rig.pick(4096, {gpu}, {.gpu_threshold_elements = 1 << 30}), gpu);  // it is there
  EXPECT_THROW(rig.pick(8, {cpu}, {.forced = Device{Kind::sim, 3}}), DeviceError);
}

TEST(AutoSolver, BringsNoWorkOfAnotherPrecision) {
  const Rig rig;
  const Rules only_single{.precision = PrecisionMode::force_float32},
      only_double{.precision = PrecisionMode::force_float64};
  EXPECT_EQ(rig.pick(4096, {cpu}, only_single), gpu);
  EXPECT_EQ(rig.pick(4096, {cpu}, only_double), cpu);
  const auto longer = [&](std::vector<Device> at, const Rules& rules) {
    return choose(product(4096, DType::f64), operands(4096, std::move(at)), bytes(4096),
                  rig.machine, rules);
  };
  const Choice kept = longer({cpu}, only_single);
  EXPECT_EQ(kept.device, cpu);
  EXPECT_NE(kept.str().find("sim:0: is kept for float32, and no float64 is converted"),
            std::string::npos)
      << kept.str();
  EXPECT_EQ(longer({cpu}, only_double).device, gpu);
  EXPECT_EQ(longer({gpu}, only_single).device, gpu);
}

TEST(AutoSolver, PinnedMemoryTravelsFaster) {
  Rig rig;
  rig.model.add_move(cpu, gpu, 1e6, 1);  // a second, against a millisecond over the link
  std::vector<Residency> args = operands(4096, {cpu});
  EXPECT_EQ(rig.pick(4096, {cpu}), cpu);
  for (Residency& x : args) x.pinned = true;
  EXPECT_EQ(choose(product(4096), args, bytes(4096), rig.machine).device, gpu);
}

TEST(AutoSolver, DataStayWhereCostsAreNotKnown) {
  const Rig rig;
  const Workload unknown{Operation::eig, DType::f32, 64, 64};
  const auto where = [&](std::vector<Residency> args) {
    return choose(unknown, args, 1, rig.machine).device;
  };
  EXPECT_EQ(where({{100, {cpu}}}), cpu);
  EXPECT_EQ(where({{100, {gpu}}}), gpu);
  EXPECT_EQ(where({{100, {gpu}}, {50, {cpu}}}), gpu);
  EXPECT_EQ(where({{50, {gpu}}, {100, {cpu}}}), cpu);
  EXPECT_EQ(where({{50, {gpu}}, {50, {cpu}}}), cpu);
  EXPECT_EQ(where({}), cpu);
  EXPECT_EQ(choose(unknown, {}, 1, rig.machine, {.forced = gpu}).device, gpu);
  CostModel half;
  half.add(cpu, unknown, 1e-3);
  const Candidates machine{half, rig.net, rig.machine.offers};
  const std::vector<Residency> there{{100, {gpu}}}, mixed{{100, {gpu}}, {1, {cpu}}};
  EXPECT_EQ(choose(unknown, there, 1, machine).device, gpu);
  EXPECT_EQ(choose(unknown, mixed, 1, machine).device, cpu);
}

TEST(AutoSolver, FindsTheDevicesThatDataAreBoundTo) {
  const Device other{Kind::sim, 1}, host[] = {cpu}, both[] = {cpu, gpu};
  const std::vector<Residency> args{{1, {gpu, cpu}}, {1, {gpu}}, {1, {other, gpu}}};
  EXPECT_EQ(bound_to(args, both), std::vector<Device>{});
  EXPECT_EQ(bound_to(args, host), (std::vector<Device>{gpu, other}));
  EXPECT_EQ(bound_to({}, host), std::vector<Device>{});
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
  ASSERT_EQ(c.considered.size(), 2u);
  EXPECT_EQ(c.transferred_bytes, 2 * bytes(4096));
  const std::string text = c.str();
  EXPECT_TRUE(text.starts_with("sim:0: ")) << text;
  EXPECT_NE(text.find("128.0 MiB"), std::string::npos) << text;
  EXPECT_NE(text.find("\ncpu: "), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("all operands are there")) << text;
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

TEST(ComputeContext, ExplainsFunctionsByName) {
  const ComputeContext c({gpu}, costs(), links());
  EXPECT_EQ(c.devices(), (std::vector<Device>{cpu, gpu}));
  EXPECT_EQ(c.device(), "AutoSolver (cpu + sim:0)");
  const std::vector<OperandInfo> large(2,
                                       OperandInfo({4096, 4096}, DType::f32, {bytes(4096), {cpu}}));
  EXPECT_EQ(c.choose("matmul", large).device, gpu);
  const std::string text = c.explain("matmul", large);
  EXPECT_TRUE(text.starts_with("sim:0: ")) << text;
  EXPECT_NE(text.find("to bring 128.0 MiB"), std::string::npos) << text;
  EXPECT_NE(text.find("\ncpu: "), std::string::npos) << text;
  EXPECT_THROW(c.explain("dance", large), ArgumentError);
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

// A failure of queued work sticks to its stream; only who waits for it can go elsewhere in time.
TEST(ComputeContext, WithoutAsyncQueuedWorkFailsInTime) {
  const auto args = operands(4096, {cpu});
  for (const bool async : {true, false}) {
    ComputeContext c({gpu}, costs(), links(), {.enable_async = async});
    c.on_warning([](const std::string&) {});
    std::vector<Device> tried;
    c.run(product(4096), args, bytes(4096), [&](Device d) {
      tried.push_back(d);
      const Array x = Array::empty({64}, DType::f32, d);
      if (d == gpu) sim::fail_task_after(0, 0);
      x.fill(Value(1.0));
    });
    EXPECT_EQ(tried, async ? std::vector<Device>{gpu} : (std::vector<Device>{gpu, cpu}));
    sim::restore(0);
  }
}

TEST(ComputeContext, PassesOverWhatCannotBeDone) {
  ComputeContext c({gpu}, costs(), links());
  const auto args = operands(4096, {cpu});
  std::vector<Device> tried;
  const auto body = [&](Device d) {
    tried.push_back(d);
    if (d == gpu) throw NotAvailable("no such kernel");
  };
  set_warning_hook([](WarningKind, const std::string&) {});
  for (int i = 0; i < 2; ++i) c.run(product(4096), args, bytes(4096), body);
  set_warning_hook(nullptr);
  EXPECT_EQ(tried, (std::vector<Device>{gpu, cpu, gpu, cpu}));  // the device itself is well
  EXPECT_TRUE(was_warned(WarningKind::device, "sim:0 matmul"));
  c.force(gpu);
  EXPECT_THROW(c.run(product(4096), args, bytes(4096), body), NotAvailable);
}

TEST(ComputeContext, LeavesDataOnDevicesThatAreNotEnabled) {
  ComputeContext none({}, costs(), links());
  std::vector<Device> ran;
  const auto note = [&](Device d) { ran.push_back(d); };
  none.run(product(8), operands(8, {gpu}), bytes(8), note);
  none.run(product(8), operands(8, {gpu, cpu}), bytes(8), note);
  none.run(product(8), std::vector<Residency>{{1, {cpu}}, {1, {gpu}}}, bytes(8), note);
  EXPECT_EQ(ran, (std::vector<Device>{gpu, cpu, gpu}));
  const Choice c = none.choose(product(8), operands(8, {gpu}), bytes(8));
  EXPECT_EQ(c.device, gpu);
  EXPECT_EQ(c.str(), "sim:0: not measured, all operands are there");
  int tries = 0;
  EXPECT_THROW(none.run(product(8), operands(8, {gpu}), bytes(8),
                        [&](Device) {
                          ++tries;
                          throw DeviceError("lost");
                        }),
               DeviceError);
  EXPECT_EQ(tries, 1);
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
  EXPECT_TRUE(m.seconds(cpu, {Operation::eig, DType::f64, 32, 32}));
  EXPECT_TRUE(m.seconds(cpu, {Operation::bit_matmul, DType::b1, 32, 32, 32}));
  EXPECT_FALSE(m.move_seconds(cpu, gpu, 1));
}

TEST(Calibrate, MeasuresOnlyWhatIsNotKnown) {
  CostModel known;
  known.add(cpu, product(64), 7);
  const Device both[] = {cpu, gpu};
  const CostModel m = calibrate(both, 0.1, known);
  EXPECT_DOUBLE_EQ(*m.seconds(cpu, product(64)), 7);
  EXPECT_FALSE(m.seconds(cpu, {Operation::solve, DType::f64, 64, 1}));
  EXPECT_TRUE(m.seconds(gpu, {Operation::solve, DType::f64, 64, 1}));
}

TEST(Calibrate, MeasuresOnlyWhatTheFileLacks) {
  const std::string path = scratch_folder() + "/costs.txt";
  std::filesystem::remove(path);
  const Device host[] = {cpu}, both[] = {cpu, gpu};
  const CostModel first = cached_costs(path, host, 0.1);
  EXPECT_EQ(cached_costs(path, host, 0.1).text(), first.text());
  const CostModel second = cached_costs(path, both, 0.1);
  EXPECT_EQ(*second.seconds(cpu, product(100)),
            *cached_costs(path, host, 0.1).seconds(cpu, product(100)));
  EXPECT_TRUE(second.knows(gpu));
  EXPECT_TRUE(second.move_seconds(cpu, gpu, 1e6) && second.move_seconds(gpu, cpu, 1e6));
  std::ofstream(path) << "damaged";
  EXPECT_TRUE(cached_costs(path, host, 0.1).knows(cpu));
  std::filesystem::remove(path);
}

TEST(Calibrate, KeepsTheRatesOfDisksBesideThoseOfDevices) {
  const std::string folder = scratch_folder(), path = folder + "/costs.txt";
  std::filesystem::remove(path);
  const auto rate = cached_disk_rate(path, folder);
  ASSERT_TRUE(rate);
  EXPECT_GT(rate->read, 0);
  EXPECT_GT(rate->written, 0);
  EXPECT_GT(rate->latency, 0);
  const Device host[] = {cpu};
  const CostModel costs = cached_costs(path, host, 0.1);
  const auto again = cached_disk_rate(path, folder);
  ASSERT_TRUE(again);
  EXPECT_NEAR(again->read, rate->read, 1e-3 * rate->read);  // read, not measured
  EXPECT_NEAR(again->latency, rate->latency, 1e-3 * rate->latency);
  EXPECT_EQ(cached_costs(path, host, 0.1).text(), costs.text());
  EXPECT_FALSE(cached_disk_rate(path, folder + "/none"));
  std::ofstream(path, std::ios::app) << "disk 1 2 nothing";  // damaged: measured again
  EXPECT_TRUE(cached_costs(path, host, 0.1).knows(cpu));
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    EXPECT_EQ(entry.path().string().find("speed"), std::string::npos) << entry.path();
  std::filesystem::remove(path);
}

TEST(DiskRate, AddsWhatIsReadWrittenAndAwaited) {
  const DiskRate rate{.read = 100, .written = 50, .latency = 0.16};
  EXPECT_DOUBLE_EQ(rate.seconds(200, 100, 0), 4);
  EXPECT_DOUBLE_EQ(rate.seconds(0, 0, 100), 1);
}

}  // namespace
}  // namespace tessera
