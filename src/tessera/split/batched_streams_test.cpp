// SPDX-License-Identifier: Apache-2.0
// Streams that a spec names: every step of the base device, and every transfer, is on them.
#include <gtest/gtest.h>

#include "support/devices.hpp"
#include "support/distances.hpp"
#include "tessera/tessera.hpp"

namespace tessera {
namespace {

struct Streams {
  Stream base{sim_at(0)}, transfer{sim_at(0)};
  Array w = Random(1).normal({6, 4}, DType::f64, cpu);
  NamedLinop whole = Dense(w, dims("MN"), dims("N"), dims("M"));
  BatchSpec spec{
      .batch_sizes = {{"N", 2}, {"M", 2}},
      .device_matrix = {RankDevice(sim_at(1)), RankDevice(sim_at(0)), RankDevice(sim_at(2))},
      .base_device = sim_at(0),
      .base_stream = base,
      .transfer_stream = transfer};
  NamedLinop batched = create_batched_linop(whole, spec);
};

TEST(BatchedStreams, ComputeAndTransferWhereTheCallerSays) {
  const Streams s;
  for (const NamedLinop& a : {s.batched, s.batched.H(), s.batched.N()}) {
    const i64 n = a.size(a.ishape()[0]).value();
    const Plan plan = a.plan({.shape = {n}, .dtype = DType::f64, .device = sim_at(0)});
    int transfers = 0, here = 0, there = 0;
    for (const Step& step : plan.steps()) {
      const bool moves = step.kind == Step::Kind::transfer;
      const bool base = !moves && step.device == sim_at(0);
      transfers += moves;
      here += base;
      there += !moves && !base;
      if (moves) {
        EXPECT_EQ(step.stream, s.transfer) << step.label;
      } else if (base) {
        EXPECT_EQ(step.stream, s.base) << step.label;
      } else {
        EXPECT_FALSE(step.stream) << step.label;
      }
    }
    EXPECT_GT(transfers, 0);
    EXPECT_GT(here, 0);
    EXPECT_GT(there, 0);
  }
  const Array x = Random(2).normal({4}, DType::f64, cpu);
  EXPECT_LT(distance(s.batched(x.to(sim_at(0))).to(cpu), s.whole(x)), 1e-13);
}

TEST(BatchedStreams, OfOtherDevicesAreRefused) {
  const Streams s;
  BatchSpec wrong = s.spec;
  wrong.base_stream = Stream(sim_at(1));
  EXPECT_THROW((void)create_batched_linop(s.whole, wrong), DeviceError);
  wrong = s.spec;
  wrong.transfer_stream = Stream(sim_at(5));
  EXPECT_THROW((void)create_batched_linop(s.whole, wrong), DeviceError);
  wrong.base_device = cpu;  // nothing moves between the host and devices on a stream of the host
  wrong.base_stream = wrong.transfer_stream = Stream(cpu);
  EXPECT_THROW((void)create_batched_linop(s.whole, wrong), DeviceError);
  wrong.device_matrix = {RankDevice(cpu)};
  const Array x = Random(3).normal({4}, DType::f64, cpu);
  EXPECT_LT(distance(create_batched_linop(s.whole, wrong)(x), s.whole(x)), 1e-13);
  wrong = s.spec;
  wrong.transfer_stream = Stream(sim_at(2));
  const Plan plan = create_batched_linop(s.whole, wrong)
                        .plan({.shape = {4}, .dtype = DType::f64, .device = sim_at(0)});
  for (const Step& step : plan.steps())
    if (step.kind == Step::Kind::transfer) {
      EXPECT_EQ(step.stream.has_value(), step.label.find("sim:2") != std::string::npos)
          << step.label;
    }
}

}  // namespace
}  // namespace tessera
