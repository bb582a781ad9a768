// SPDX-License-Identifier: Apache-2.0
#include "tessera/compute/choose.hpp"

#include <gtest/gtest.h>

#include "tessera/base/error.hpp"
#include "tessera/compute/machine.hpp"

namespace tessera {
namespace {

const Device other{Kind::cuda, 0};

TEST(Choose, TheDeviceThatIsDoneFirst) {
  EXPECT_EQ(choose("A", {{cpu, 1.0}, {other, 0.1, 0.2, 100}}).device, other);
  EXPECT_EQ(choose("A", {{cpu, 1.0}, {other, 0.1, 2.0, 100}}).device, cpu);
  EXPECT_EQ(choose("A", {{cpu, 1.0}, {other, 1.0}}).device, cpu);  // of equal ones the first
}

TEST(Choose, DataStayWhereMovingThemGainsLittle) {
  const Choice c = choose("A", {{cpu, 1.0}, {other, 0.5, 0.48, 100}});
  EXPECT_EQ(c.device, cpu);
  EXPECT_TRUE(c.stays);
  EXPECT_EQ(c.considered.size(), 2U);
}

TEST(Choose, WhereNothingFitsTheErrorSaysWhatEachLacks) {
  std::vector<Considered> all{{cpu, 1.0}, {other, 0.1}};
  for (Considered& c : all) {
    c.refused = "needs 2 GiB, has 1 GiB";
    c.lacks_memory = true;
  }
  EXPECT_THROW((void)choose("A", all), OutOfMemory);
  all[0].refused.clear();
  EXPECT_EQ(choose("A", all).device, cpu);
  all[0].refused = all[1].refused = "is closed";
  all[0].lacks_memory = all[1].lacks_memory = false;
  EXPECT_THROW((void)choose("A", all), DeviceError);
}

TEST(Machine, StepsTakeWhatTheirMemoryOrArithmeticTakes) {
  Machine m;
  m.links.links.push_back({cpu, cpu, 1e6, 1e-3, true});
  EXPECT_DOUBLE_EQ(m.seconds(cpu, {.flops = 0, .bytes = 1000}), 2e-3);
  EXPECT_DOUBLE_EQ(m.seconds(cpu, {.flops = 1e6, .bytes = 1000, .steps = 2}), 2e-3 + 0.1);
}

}  // namespace
}  // namespace tessera
