// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tessera/split/batch_spec.hpp"
#include "tessera/tessera.hpp"

namespace tessera {
namespace {

const RankDevice a = "sim:0", b = "sim:1", c = "sim:2";

std::string spread(const DeviceMatrix& m, const Shape& grid) {
  const DeviceMatrix r = m.broadcast_to(grid);
  EXPECT_EQ(r.shape, grid);
  EXPECT_EQ(static_cast<i64>(r.places.size()), count_of(grid));
  return r.str();
}

TEST(DeviceMatrix, IsRepeatedAndCutOff) {  // acceptance case 128
  EXPECT_EQ(spread({a, b, c}, {4}), "[sim:0, sim:1, sim:2, sim:0]");
  EXPECT_EQ(spread({a, b, c}, {2}), "[sim:0, sim:1]");
  EXPECT_EQ(spread({a, b}, {2, 5}),
            "[[sim:0, sim:1, sim:0, sim:1, sim:0], [sim:0, sim:1, sim:0, sim:1, sim:0]]");
  EXPECT_EQ(spread({a}, {3}), "[sim:0, sim:0, sim:0]");
  EXPECT_EQ(spread(DeviceMatrix({2, 1}, {a, b}), {2, 2}), "[[sim:0, sim:0], [sim:1, sim:1]]");
  EXPECT_EQ(spread(DeviceMatrix({2, 2}, {a, b, c, a}), {3, 1}), "[[sim:0], [sim:2], [sim:0]]");
}

TEST(DeviceMatrix, NeverExceedsTheGrid) {
  EXPECT_EQ(spread({a, b}, {1}), "[sim:0]");
  EXPECT_EQ(spread({a, b}, {4, 1}), "[[sim:0], [sim:1], [sim:0], [sim:1]]");
  EXPECT_EQ(spread({a, b, c}, {3, 1}), "[[sim:0], [sim:1], [sim:2]]");
  EXPECT_EQ(spread({a, b, c}, {2, 1, 1}), "[[[sim:0]], [[sim:1]]]");
  EXPECT_EQ(spread({a, b}, {1, 1}), "[[sim:0]]");
  EXPECT_EQ(spread({a, b}, {}), "sim:0");
  EXPECT_EQ(spread(DeviceMatrix({2, 2}, {a, b, c, a}), {4}), "[sim:0, sim:1, sim:0, sim:1]");
  EXPECT_THROW((void)DeviceMatrix().broadcast_to({2}), ArgumentError);
  EXPECT_THROW((void)DeviceMatrix({2, 2}, {a}), ArgumentError);
}

TEST(BatchSpec, MatrixFollowsTheGridOfTheOperator) {
  const NamedLinop d = Diagonal(ones({7, 3}, DType::f32), dims("XY"));
  const BatchSpec spec{.batch_sizes = {{"X", 2}, {"Y", 3}}, .device_matrix = {a, b}};
  EXPECT_EQ(spec.broadcast_device_matrix(d).str(), "[[sim:0], [sim:1], [sim:0], [sim:1]]");
  const BatchSpec none{.batch_sizes = {{"X", 4}}};
  EXPECT_EQ(none.broadcast_device_matrix(d).str(), "[cpu, cpu]");
  EXPECT_EQ(
      (BatchSpec{.batch_sizes = {{"X", 4}}, .base_device = a}.broadcast_device_matrix(d).str()),
      "[sim:0, sim:0]");
  EXPECT_THROW((void)(BatchSpec{.batch_sizes = {{"Q", 4}}}.broadcast_device_matrix(d)), DimError);
}

TEST(BatchSpec, ResolvingLeavesItAsItWas) {  // acceptance case 127
  const NamedLinop d = Diagonal(ones({7}, DType::f32), dims("X"));
  const BatchSpec spec{.batch_sizes = {{"X", 4}}}, before = spec;
  const BatchSpec on_cpu = spec.resolve(d, cpu), on_sim = spec.resolve(d, a);
  EXPECT_EQ(spec, before);
  EXPECT_NE(on_cpu, on_sim);
  EXPECT_EQ(on_sim.device_matrix.str(), "[sim:0, sim:0]");
  EXPECT_EQ(on_sim.base_device->str(), "sim:0");
  EXPECT_EQ(spec.str(), "BatchSpec({X: 4})");
  EXPECT_EQ(on_sim.str(), "BatchSpec({X: 4}, device_matrix=[sim:0, sim:0], base_device=sim:0)");
}

TEST(RankDevice, NamesARankAndADevice) {
  EXPECT_EQ(RankDevice::parse("rank2/cuda:1"), RankDevice(2, Device::parse("cuda:1")));
  EXPECT_EQ(RankDevice::parse("rank0/sim:1"), b);
  EXPECT_EQ(RankDevice::parse("rank2/cuda:1").str(), "rank2/cuda:1");
  EXPECT_EQ(RankDevice(cpu).str(), "cpu");
  EXPECT_EQ(b.local("test"), Device::parse("sim:1"));
  for (const char* text : {"rank/cpu", "rank1", "rank-1/cpu", "rank1x/cpu", "rank1/", "tpu:0", ""})
    EXPECT_THROW((void)RankDevice::parse(text), DeviceError) << text;
}

TEST(RankDevice, OfAnotherRankIsNotHere) {
  try {
    (void)RankDevice::parse("rank1/cpu").local("somebody");
    ADD_FAILURE() << "no error";
  } catch (const CommError& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("somebody"), std::string::npos);
    EXPECT_NE(text.find("rank1/cpu"), std::string::npos);
  }
}

}  // namespace
}  // namespace tessera
