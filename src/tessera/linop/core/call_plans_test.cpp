// SPDX-License-Identifier: Apache-2.0
// How often an operator is recorded, and when its calls become graphs.
#include <gtest/gtest.h>

#include <thread>

#include "support/distances.hpp"
#include "support/support.hpp"
#include "tessera/base/config.hpp"
#include "tessera/base/trace.hpp"
#include "tessera/device/sim/faults.hpp"
#include "tessera/tessera.hpp"

namespace tessera {
namespace {

template <class F>
i64 plans_made(F&& f) {
  const i64 before = counter(Counter::plans);
  f();
  return counter(Counter::plans) - before;
}

// Transforms with diagonals between them: nothing for the rules of rewriting.
NamedLinop chain_of(i64 parts, Device device) {
  const auto grid = [](i64 i) { return Dims{NamedDimension(cat("D", i))}; };
  const auto transform = [&](i64 i) {
    return FFT(1, {NamedDimension::ellipses()}, {{grid(i), grid(i + 1)}});
  };
  NamedLinop a = transform(0);
  for (i64 i = 1; i < parts; ++i) {
    const Array w = Random(static_cast<std::uint64_t>(i)).normal({12}, DType::c128).to(device);
    a = transform(i) * Diagonal(w, grid(i)) * a;
  }
  return a;
}

TEST(CallPlans, AnOperatorIsRecordedOncePerKindOfInput) {
  const NamedLinop A = chain_of(4, cpu);
  const Array x = Random(1).normal({12}, DType::c128), y = Array::empty({12}, DType::c128);
  const Array first = A(x);
  EXPECT_EQ(plans_made([&] {
              for (int i = 0; i < 3; ++i) EXPECT_EQ(distance(A(x), first), 0);
              A(x, y);  // such an output is what A(x) makes
            }),
            0);
  EXPECT_EQ(distance(y, first), 0);
  (void)A.H()(x), (void)A.N()(x);
  EXPECT_EQ(plans_made([&] { (void)A.H()(x), (void)A.N()(x), (void)A(x); }), 0);
  EXPECT_EQ(plans_made([&] { (void)A(x.astype(DType::c64)); }), 1);
  EXPECT_EQ(plans_made([&] { (void)A(x.real()); }), 1);
  EXPECT_EQ(plans_made([&] { (void)A(x.astype(DType::c64)), (void)A(x); }), 0);
}

TEST(CallPlans, AnOutputOfTheCallersGoesBeforeTheOwn) {
  const NamedLinop A = chain_of(2, cpu);
  const Array x = Random(1).normal({12}, DType::c128), y = empty_dense({12}, DType::c128);
  A(x, y);
  EXPECT_LE(plans_made([&] { EXPECT_EQ(distance(A(x), y), 0); }), config().noncontiguous ? 1 : 0);
  const Array narrow = Array::empty({12}, DType::c64);
  A(x, narrow);
  EXPECT_EQ(A(x).dtype(), DType::c128);  // not that of an output somebody gave
}

TEST(CallPlans, OtherSettingsAreOtherPlans) {
  const NamedLinop A = chain_of(3, cpu);
  const Array x = Random(1).normal({12}, DType::c128), first = A(x);
  {
    const Using<bool> apart(config().reuse_in_place, false);
    EXPECT_EQ(plans_made([&] { EXPECT_EQ(distance(A(x), first), 0); }), 1);
    EXPECT_EQ(plans_made([&] { (void)A(x); }), 0);
  }
  EXPECT_EQ(plans_made([&] { (void)A(x); }), 0);
}

TEST(CallPlans, AnOutputThatDoesNotFitIsRefusedTheSecondTimeToo) {
  const NamedLinop A = chain_of(2, cpu);
  const Array x = Random(1).normal({12}, DType::c128);
  for (int i = 0; i < 2; ++i) {
    EXPECT_THROW(A(x, Array::empty({11}, DType::c128)), ShapeError);
    EXPECT_THROW((void)A(ones({11}, DType::c128)), DimError);
    (void)A(x);
  }
}

TEST(CallPlans, CallsFromSeveralThreadsShareAPlan) {
  const NamedLinop A = chain_of(4, cpu);
  const Array x = Random(1).normal({12}, DType::c128), expected = A(x);
  EXPECT_EQ(plans_made([&] {
              std::vector<std::thread> all;
              for (int t = 0; t < 4; ++t)
                all.emplace_back([&] {
                  for (int i = 0; i < 50; ++i) EXPECT_EQ(distance(A(x), expected), 0);
                });
              for (std::thread& t : all) t.join();
            }),
            0);
}

// --- graphs

template <class F>
i64 graphs_launched(F&& f) {
  const i64 before = counter(Counter::graph_launches);
  f();
  return counter(Counter::graph_launches) - before;
}

const Device d{Kind::sim, 3};

TEST(CallPlans, CallsOnTheSameArraysBecomeGraphs) {
  const Using<i64> after(config().graph_after, 3);
  const NamedLinop A = chain_of(4, d);
  const Array x = Random(1).normal({12}, DType::c128).to(d), expected = A(x);
  const Array y = empty_dense({12}, DType::c128, d);
  EXPECT_EQ(graphs_launched([&] {
              for (int i = 0; i < 3; ++i) A(x, y);
            }),
            0);
  y.fill(Value(0));
  EXPECT_GT(graphs_launched([&] { A(x, y); }), 0);
  EXPECT_EQ(distance(y, expected), 0);
  x.fill(Value(0));  // the same memory with other numbers
  EXPECT_GT(graphs_launched([&] { A(x, y); }), 0);
  EXPECT_EQ(norm(y).to(cpu).item().as<double>(), 0);
}

TEST(CallPlans, ResultsThatTakeTurnsBecomeGraphsToo) {
  const Using<i64> after(config().graph_after, 3);
  const NamedLinop A = chain_of(4, d);
  const Array x = Random(1).normal({12}, DType::c128).to(d), expected = A(x);
  EXPECT_GT(graphs_launched([&] {
              Array y;  // the one before is freed after the next is made
              for (int i = 0; i < 20; ++i) {
                y = A(x);
                EXPECT_EQ(distance(y, expected), 0);
              }
            }),
            0);
}

TEST(CallPlans, ArraysThatChangeFromCallToCallDoNot) {
  const Using<i64> after(config().graph_after, 3);
  const NamedLinop A = chain_of(4, d);
  std::vector<Array> inputs, outputs;
  for (int i = 0; i < 40; ++i) {
    inputs.push_back(full({12}, Value(i), DType::c128, d));
    outputs.push_back(empty_dense({12}, DType::c128, d));
  }
  EXPECT_EQ(graphs_launched([&] {
              for (int round = 0; round < 5; ++round)
                for (std::size_t i = 0; i < inputs.size(); ++i) A(inputs[i], outputs[i]);
            }),
            0);
}

TEST(CallPlans, GraphsThatPushEachOtherOutBecomeRare) {
  const Using<i64> after(config().graph_after, 1);
  const NamedLinop A = chain_of(4, d);
  std::vector<Array> inputs;
  const Array y = empty_dense({12}, DType::c128, d), one = ones({12}, DType::c128, d);
  const Array expected = A(one);
  for (int i = 0; i < 12; ++i) inputs.push_back(ops::multiply(one, Value(i)).contiguous());
  i64 eager = 0;  // inputs that had no graph in any of the last ten rounds' calls
  for (int round = 0; round < 30; ++round)
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const i64 launched = graphs_launched([&] {
        for (int again = 0; again < 3; ++again) A(inputs[i], y);
      });
      if (round >= 20 && launched == 0) ++eager;
      EXPECT_LT(distance(y, ops::multiply(expected, Value(static_cast<double>(i)))), 1e-9);
    }
  EXPECT_GE(eager, 10 * 4 - 4);  // eight of twelve sets have graphs and keep them
}

TEST(CallPlans, GraphsCanBeSwitchedOff) {
  const Using<i64> never(config().graph_after, 0);
  const NamedLinop A = chain_of(4, d);
  const Array x = ones({12}, DType::c128, d), y = empty_dense({12}, DType::c128, d);
  EXPECT_EQ(graphs_launched([&] {
              for (int i = 0; i < 10; ++i) A(x, y);
            }),
            0);
  const Using<i64> early(config().graph_after, 1);
  EXPECT_GT(graphs_launched([&] {
              for (int i = 0; i < 3; ++i) A(x, y);
            }),
            0);
}

// Nobody asked for graphs: where they cannot be made the steps are done one by one, and that is all.
TEST(CallPlans, WhatCannotBeCapturedIsDoneStepByStep) {
  const Using<i64> after(config().graph_after, 1);
  const Array x = Random(1).normal({12}, DType::c128).to(d);
  for (const i64 captured : {0, 1, 3}) {  // before it fails: at once, and in the middle
    const NamedLinop A = chain_of(4, d);
    const Array expected = A(x), y = empty_dense({12}, DType::c128, d);
    sim::fail_capture_after(d.index, captured);
    for (int i = 0; i < 4; ++i) {
      y.fill(Value(0));
      EXPECT_EQ(graphs_launched([&] { A(x, y); }), 0) << captured;
      EXPECT_EQ(distance(y, expected), 0) << captured << " call " << i;
    }
    sim::restore(d.index);
    EXPECT_EQ(graphs_launched([&] {  // it is not tried again and again
                for (int i = 0; i < 4; ++i) A(x, y);
              }),
              0);
    EXPECT_EQ(distance(y, expected), 0);
    const NamedLinop other = A.copy();
    EXPECT_GT(graphs_launched([&] {
                for (int i = 0; i < 4; ++i) other(x, y);
              }),
              0);
  }
}

// Some segments are graphs before another one fails: what was replayed is not done again.
TEST(CallPlans, SegmentsBeforeTheOneThatCannotBeCapturedStay) {
  const Using<i64> after(config().graph_after, 1);
  const Device there{Kind::sim, 4};
  const NamedLinop far = chain_of(4, there).rename({{"D0", "D4"}, {"D4", "D8"}});
  const NamedLinop A = ToDevice(there, d) * far * ToDevice(d, there) * chain_of(4, d);
  const Array x = Random(1).normal({12}, DType::c128).to(d), expected = A(x),
              y = empty_dense({12}, DType::c128, d);
  sim::fail_capture_after(there.index, 1);
  const i64 launched = graphs_launched([&] {
    for (int i = 0; i < 4; ++i) {
      y.fill(Value(0));
      A(x, y);
      EXPECT_EQ(distance(y, expected), 0) << "call " << i;
    }
  });
  sim::restore(there.index);
  EXPECT_EQ(launched, 1);  // the first segment, once
}

// Who asks for graphs hears why there are none, and gets them when there can be some.
TEST(CallPlans, ACaptureThatWasAskedForAndFailsIsAnError) {
  const NamedLinop A = chain_of(4, d);
  const Array x = Random(1).normal({12}, DType::c128).to(d), expected = A(x),
              y = full({12}, Value(0), DType::c128, d).contiguous();
  tessera::Run run = A.plan({.shape = {12}, .dtype = DType::c128, .device = d}).instance();
  run.capture();
  sim::fail_capture_after(d.index, 2);
  EXPECT_THROW(run(x, y), DeviceError);
  sim::restore(d.index);
  EXPECT_GT(graphs_launched([&] { run(x, y); }), 0);
  EXPECT_EQ(distance(y, expected), 0);
}

TEST(CallPlans, WhoAsksAfterAnUnaskedCaptureFailedGetsGraphs) {
  const Using<i64> after(config().graph_after, 1);
  const NamedLinop A = chain_of(4, d);
  const Array x = Random(1).normal({12}, DType::c128).to(d), expected = A(x),
              y = full({12}, Value(0), DType::c128, d).contiguous();
  tessera::Run run = A.plan({.shape = {12}, .dtype = DType::c128, .device = d}).instance();
  run.capture_when_repeated();
  sim::fail_capture_after(d.index, 1);
  for (int i = 0; i < 4; ++i) run(x, y);
  EXPECT_FALSE(run.captured());
  run.capture();
  EXPECT_THROW(run(x, y), DeviceError);
  sim::restore(d.index);
  y.fill(Value(0));
  EXPECT_GT(graphs_launched([&] { run(x, y); }), 0);
  EXPECT_TRUE(run.captured());
  EXPECT_EQ(distance(y, expected), 0);
}

TEST(CallPlans, AFailureInAGraphIsToldAndTheNextCallIsRight) {
  const Using<i64> after(config().graph_after, 1);
  const NamedLinop A = chain_of(4, d);
  const Array x = Random(1).normal({12}, DType::c128).to(d), expected = A(x).to(cpu);
  const Array y = empty_dense({12}, DType::c128, d);
  for (int i = 0; i < 3; ++i) A(x, y);
  sim::fail_task_after(d.index, 1);
  EXPECT_THROW(
      {
        A(x, y);
        (void)y.to(cpu);
      },
      Error);
  sim::restore(d.index);
  EXPECT_EQ(distance(A(x).to(cpu), expected), 0);
}

}  // namespace
}  // namespace tessera
