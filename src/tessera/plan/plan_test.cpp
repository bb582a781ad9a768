// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/plan.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "support/devices.hpp"
#include "support/distances.hpp"
#include "tessera/base/config.hpp"
#include "tessera/base/trace.hpp"
#include "tessera/device/memory.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/reduce/reduce.hpp"

namespace tessera {
namespace {

// y = w^n x, as n steps.
Plan power_plan(const Array& w, int n) {
  Recorder r;
  const Layout l = Layout::contiguous(w.shape());
  View x = r.input(l, w.dtype(), w.device());
  const View y = r.output(l, w.dtype(), w.device());
  for (int i = 0; i < n; ++i) {
    const View to = i + 1 == n ? y : r.temporary(w.shape(), w.dtype(), w.device());
    record::multiply(r, r.constant(w), x, to);
    x = to;
  }
  return Plan(std::move(r), "power");
}

TEST(Plan, RunsStepsInOrder) {
  const Device d = test_device();
  const Array w = full({5, 3}, Value(2.0), DType::f32, d).contiguous(),
              x = ones({5, 3}, DType::f32, d).contiguous();
  const Array y = empty_dense({5, 3}, DType::f32, d);
  tessera::Run run = power_plan(w, 6).instance();
  run(x, y);
  EXPECT_EQ(distance(y, full({5, 3}, Value(64.0), DType::f32)), 0);
}

TEST(Plan, PartsOfAPlanThatEndsAreCopies) {
  const auto plan = [] { return power_plan(ones({100}, DType::f64, test_device()), 20); };
  std::size_t steps = 0;
  for (const Step& s : plan().steps()) steps += s.label.find("multiply") != std::string::npos;
  EXPECT_EQ(steps, 20u);
  for (const Slot& s : plan().slots()) EXPECT_NEAR(s.bytes, 800, 8);  // 808: inside more memory
  EXPECT_EQ(plan().name(), "power");
  EXPECT_EQ(plan().lanes().size(), 1u);
  const Plan kept = plan();
  EXPECT_EQ(&kept.steps(), &kept.steps());
}

// A constant has one slot however often it is used; what was sent to a device is sent again only in
// another shape, or once somebody has written to it.
TEST(Plan, WhatIsThereIsFound) {
  Recorder r;
  const View x = r.input(Layout::contiguous({6, 4}), DType::f32, cpu);
  const View y = r.output(Layout::contiguous({6, 4}), DType::f32, cpu);
  const Array w = empty_dense({6, 4}, DType::f32, cpu);
  EXPECT_EQ(r.constant(w).slot, r.constant(w.select(0, 3)).slot);
  EXPECT_NE(r.constant(w).slot, r.constant(w.copy()).slot);
  const View rows = sub_view(x, x.layout.slice(0, 0, 3)),
             half = sub_view(x, rows.layout.slice(0, 0, 2));
  const int first = r.resident(rows, sim0).slot, second = r.resident(half, sim0).slot,
            there = r.resident(rows, sim1).slot;
  EXPECT_NE(first, second);
  EXPECT_NE(first, there);
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(r.resident(rows, sim0).slot, first);
    EXPECT_EQ(r.resident(half, sim0).slot, second);
    EXPECT_EQ(r.resident(rows, sim1).slot, there);
  }
  const View mine = r.resident(half, sim0);
  record::scale(r, Value(2.0), mine, mine);
  EXPECT_NE(r.resident(half, sim0).slot, second);
  EXPECT_EQ(r.resident(rows, sim0).slot, first);
  record::copy(r, x, y);
  EXPECT_EQ(Plan(std::move(r)).transferred_bytes(), (3 + 2 + 3 + 2) * 4 * 4);
}

TEST(Plan, ElementWiseChainsNeedNoTemporary) {
  const Plan p = power_plan(ones({100}, DType::f64, test_device()), 20);
  EXPECT_EQ(p.workspace(test_device()), 0);  // every step writes straight into the output
  EXPECT_EQ(p.sum_of_temporaries(), 19 * 800);
  const Using off(config().reuse_in_place, false);
  EXPECT_EQ(power_plan(ones({100}, DType::f64, test_device()), 20).workspace(test_device()),
            1024 + 800);
}

TEST(Plan, TransformDiagonalTransformNeedsOneTemporary) {
  const Device d = test_device();
  const Array w = ones({8, 8}, DType::c64, d).contiguous();
  const i64 bytes = 8 * 8 * 8;
  Recorder r;
  const Layout l = Layout::contiguous({8, 8});
  const View x = r.input(l, DType::c64, d), y = r.output(l, DType::c64, d);
  const View a = r.temporary({8, 8}, DType::c64, d), b = r.temporary({8, 8}, DType::c64, d);
  record::fft(r, x, a, {0, 1}, -1, 0.125);
  record::multiply(r, r.constant(w), a, b);
  record::fft(r, b, y, {0, 1}, 1, 0.125);
  const Plan p(std::move(r), "filter");
  i64 work = 0;
  for (const Step& s : p.steps()) work = std::max(work, s.prepared.workspace);
  EXPECT_LE(p.workspace(d), bytes + (work ? arena_alignment + work : 0));
  const Array in = Random(1).normal({8, 8}, DType::c64, d).contiguous(),
              out = empty_dense({8, 8}, DType::c64, d);
  tessera::Run run = p.instance();
  run(in, out);
  EXPECT_LT(distance(in, out), 1e-5);
}

TEST(Plan, ARunAllocatesNothing) {
  const Device d = test_device();
  const Array w = Random(2).normal({33, 17}, DType::c64, d).contiguous(),
              x = Random(3).normal({33, 17}, DType::c64, d).contiguous();
  const Array y = empty_dense({33, 17}, DType::c64, d);
  tessera::Run run = power_plan(w, 5).instance();
  run(x, y);
  run.sync();
  const i64 before = counter(Counter::pool_requests);
  for (int i = 0; i < 10; ++i) run(x, y);
  run.sync();
  EXPECT_EQ(counter(Counter::pool_requests), before);
}

TEST(Plan, RefusesArraysThatWereNotPlanned) {
  const Device d = test_device();
  const Array w = ones({4}, DType::f32, d).contiguous();
  tessera::Run run = power_plan(w, 2).instance();
  const Array y = empty_dense({4}, DType::f32, d), x = ones({4}, DType::f32, d).contiguous();
  EXPECT_THROW(run(empty_dense({5}, DType::f32, d), y), ShapeError);
  EXPECT_THROW(run(empty_dense({4}, DType::f64, d), y), DTypeError);
  EXPECT_THROW(run(empty_dense({4}, DType::f32, Device::parse("sim:3")), y), DeviceError);
  EXPECT_THROW(run(empty_dense({4, 2}, DType::f32, d).select(1, 0), y), ShapeError);  // strides
  EXPECT_THROW(run(x, x), PlanError);
}

TEST(Plan, TransfersAreListedAndCounted) {
  const Device there = Device::parse("sim:1");
  Recorder r;
  const Layout l = Layout::contiguous({64});
  const View x = r.input(l, DType::f32, cpu), y = r.output(l, DType::f32, cpu);
  const View a = r.temporary({64}, DType::f32, there), b = r.temporary({64}, DType::f32, there);
  record::copy(r, x, a);
  record::scale(r, Value(3.0), a, b);
  record::copy(r, b, y);
  const Plan p(std::move(r), "there and back");
  EXPECT_EQ(p.transferred_bytes(), 2 * 256);
  EXPECT_EQ(p.lanes().size(), 3u);
  EXPECT_NE(p.explain().find("transfer cpu -> sim:1"), std::string::npos) << p.explain();
  const Array in = Random(4).normal({64}, DType::f32).contiguous(),
              out = empty_dense({64}, DType::f32, cpu);
  tessera::Run run = p.instance();
  for (int i = 0; i < 20; ++i) {
    in.host<float>()[0] = static_cast<float>(i);
    run(in, out);
    EXPECT_EQ(out.host<float>()[0], 3 * static_cast<float>(i));
  }
  EXPECT_LT(distance(out, ops::multiply(in, 3.0)), 1e-5);
}

TEST(Plan, LanesWaitForTheMemoryOfTheirArena) {
  const Device there = Device::parse("sim:1");
  const Using<i64> delay(config().sim_delay_us, 400);
  const Array in = Random(4).normal({64}, DType::f32).contiguous(),
              out = empty_dense({64}, DType::f32, cpu);
  for (int i = 0; i < 20; ++i) {
    Recorder r;
    const Layout l = Layout::contiguous({64});
    const View x = r.input(l, DType::f32, cpu), y = r.output(l, DType::f32, cpu);
    const View a = r.temporary({64}, DType::f32, there), b = r.temporary({64}, DType::f32, there);
    record::copy(r, x, a);
    record::scale(r, Value(3.0), a, b);
    record::copy(r, b, y);
    // A fresh arena is poisoned on the home stream, which the lanes of the run do not use.
    tessera::Run run = Plan(std::move(r), "fresh arena").instance();
    run(in, out);
    EXPECT_LT(distance(out, ops::multiply(in, 3.0)), 1e-5);
  }
}

TEST(Plan, TwoDevicesWithRandomDelaysKeepTheirOrder) {
  const Using slow(config().sim_delay_us, i64{50});
  const Device a = Device::parse("sim:0"), b = Device::parse("sim:1");
  Recorder r;
  const Layout l = Layout::contiguous({16});
  const View x = r.input(l, DType::f64, a), y = r.output(l, DType::f64, a);
  // Ping-pong: x doubled on a, moved to b, tripled, moved back, four times over.
  View at = x;
  for (int i = 0; i < 4; ++i) {
    const View doubled = r.temporary({16}, DType::f64, a), over = r.temporary({16}, DType::f64, b);
    const View tripled = r.temporary({16}, DType::f64, b),
               back = i == 3 ? y : r.temporary({16}, DType::f64, a);
    record::scale(r, Value(2.0), at, doubled);
    record::copy(r, doubled, over);
    record::scale(r, Value(3.0), over, tripled);
    record::copy(r, tripled, back);
    at = back;
  }
  const Plan p(std::move(r), "ping-pong");
  tessera::Run run = p.instance();
  for (int i = 0; i < 10; ++i) {
    const Array in = full({16}, Value(static_cast<double>(i)), DType::f64, a).contiguous(),
                out = empty_dense({16}, DType::f64, a);
    run(in, out);
    EXPECT_EQ(distance(out, full({16}, Value(1296.0 * i), DType::f64)), 0);
  }
}

TEST(Plan, CaptureReplaysOnNewAddressesToo) {
  const Device d = Device::parse("sim:2");
  const Array w = full({9}, Value(3.0), DType::f32, d).contiguous();
  tessera::Run run = power_plan(w, 4).instance();
  run.capture();
  EXPECT_TRUE(run.captured());
  for (int i = 0; i < 20; ++i) {  // more sets of addresses than are kept
    const Array x = full({9}, Value(static_cast<double>(i)), DType::f32, d).contiguous(),
                y = empty_dense({9}, DType::f32, d);
    run(x, y);
    run(x, y);
    EXPECT_EQ(distance(y, full({9}, Value(81.0 * i), DType::f32)), 0);
  }
}

TEST(Plan, ExplainsItselfInThreeFormats) {
  const Plan p = power_plan(ones({4}, DType::f32, test_device()), 3);
  EXPECT_NE(p.explain().find("plan 'power': 3 steps"), std::string::npos);
  const auto json = nlohmann::json::parse(p.explain(ExplainFormat::json));
  EXPECT_EQ(json["steps"].size(), 3u);
  EXPECT_NE(p.explain(ExplainFormat::dot).find("digraph"), std::string::npos);
}

TEST(Plan, OutOfBudgetNamesThePlan) {
  const Device d = Device::parse("sim:4");
  Recorder r;
  const Layout l = Layout::contiguous({1 << 16});
  const View x = r.input(l, DType::c64, d), y = r.output(l, DType::c64, d),
             t = r.temporary({1 << 16}, DType::c64, d);
  record::fft(r, x, t, {0}, -1, 1);
  record::fft(r, t, y, {0}, 1, 1);
  const Plan p(std::move(r), "too large");
  set_memory_budget(d, 100000);
  try {
    (void)p.instance();
    ADD_FAILURE() << "allocated beyond the budget";
  } catch (const OutOfMemory& e) {
    EXPECT_NE(std::string(e.what()).find("plan 'too large'"), std::string::npos) << e.what();
  }
  set_memory_budget(d, 0);
  EXPECT_NO_THROW((void)p.instance());
}

// Random lifetimes: no two temporaries that live together may share a byte.
TEST(Liveness, ArenasNeverOverlap) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<Slot> slots(40);
    for (Slot& s : slots) {
      s.bytes = static_cast<i64>(random() % 5000) + 1;
      s.first = static_cast<int>(random() % 30);
      s.last = s.first + static_cast<int>(random() % 8);
      s.device.index = static_cast<std::int16_t>(random() % 2);
    }
    const ArenaSizes sizes = place_in_arenas(slots);
    i64 peak[2] = {0, 0};
    for (const auto& [d, bytes] : sizes) peak[d.index] = bytes;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const Slot& a = slots[i];
      ASSERT_GE(a.offset, 0);
      ASSERT_EQ(a.offset % arena_alignment, 0);
      ASSERT_LE(a.offset + a.bytes, peak[a.device.index]);
      for (std::size_t j = 0; j < i; ++j) {
        const Slot& b = slots[j];
        const bool together = a.device == b.device && a.first <= b.last && b.first <= a.last;
        const bool apart = a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset;
        ASSERT_TRUE(!together || apart);
      }
    }
  }
}

}  // namespace
}  // namespace tessera
