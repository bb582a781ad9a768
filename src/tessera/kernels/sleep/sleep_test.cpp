// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/sleep/sleep.hpp"

#include <gtest/gtest.h>

#include <chrono>

#include "support/support.hpp"
#include "tessera/kernels/eager.hpp"

namespace tessera {
namespace {

TEST(Sleep, TheStreamIsBusyAtLeastThatLong) {
  std::vector<Device> places{test_device()};
  if (test_device() == cpu) places.push_back(Device::parse("sim:0"));
  for (Device d : places) {
    const Prepared p = kernels_of(d).sleep.prepare(SleepSpec{0.02}, d);
    Stream::home(d).sync();
    const auto start = std::chrono::steady_clock::now();
    Stream::home(d).launch(p.task, {});
    Stream::home(d).sync();
    // Never shorter, whatever the load of the machine.
    EXPECT_GE(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
              0.0199);
  }
}

}  // namespace
}  // namespace tessera
