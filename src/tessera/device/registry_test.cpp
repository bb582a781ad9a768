// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/registry.hpp"

#include <gtest/gtest.h>

#include "tessera/base/config.hpp"
#include "tessera/base/error.hpp"
#include "tessera/device/threads.hpp"

namespace tessera {
namespace {

TEST(Device, ParsesAndPrints) {
  EXPECT_EQ(Device::parse("cpu"), cpu);
  EXPECT_EQ(Device::parse("cpu:0"), cpu);
  EXPECT_EQ(Device::parse("cuda"), (Device{Kind::cuda, 0}));
  EXPECT_EQ(Device::parse("cuda:12"), (Device{Kind::cuda, 12}));
  EXPECT_EQ(Device::parse("sim:3").str(), "sim:3");
  EXPECT_EQ(cpu.str(), "cpu");
  EXPECT_EQ((Device{Kind::cuda, 0}).str(), "cuda:0");
  for (const char* bad : {"", "gpu", "cuda:", "cuda:x", "cuda:1x", "cuda:-1", "CPU", "cpu ",
                          "sim:99999999999", ":1", "sim:1:2", "cuda: 1"}) {
    try {
      (void)Device::parse(bad);
      ADD_FAILURE() << bad;
    } catch (const DeviceError& e) {
      EXPECT_NE(std::string(e.what()).find(cat("'", bad, "'")), std::string::npos) << e.what();
    }
  }
}

TEST(Registry, CpuFirstThenSimDevices) {
  const std::vector<Device> all = devices();
  ASSERT_GE(all.size(), 1u);
  EXPECT_EQ(all[0], cpu);
  EXPECT_EQ(std::count_if(all.begin(), all.end(), [](Device d) { return d.kind == Kind::sim; }),
            compute_device(Kind::sim).count());
  EXPECT_EQ(why_unavailable(Kind::cpu), "");
  EXPECT_EQ(why_unavailable(Kind::sim), "");
  for (Device d : all) {
    const DeviceInfo info = compute_device(d).info(d.index);
    EXPECT_FALSE(info.name.empty());
    EXPECT_GT(info.memory_total, 0);
    EXPECT_GE(info.memory_free, 0);
  }
}

TEST(Registry, AbsentDevicesAreSentences) {
  try {
    (void)compute_device(Device{Kind::sim, 77});
    ADD_FAILURE();
  } catch (const DeviceError& e) {
    EXPECT_NE(std::string(e.what()).find("sim:77"), std::string::npos);
  }
  EXPECT_THROW(compute_device(Device{Kind::cpu, -1}), DeviceError);
  const std::string why = why_unavailable(Kind::cuda);
  if (why.empty()) {
    EXPECT_GT(compute_device(Kind::cuda).count(), 0);
  } else {
    EXPECT_EQ(why.rfind("cuda: ", 0), 0u) << why;
    EXPECT_THROW(compute_device(Kind::cuda), NotAvailable);
  }
}

}  // namespace
}  // namespace tessera
