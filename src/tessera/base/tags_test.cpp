// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/tags.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace tessera {
namespace {

TEST(Tags, ChannelsAreApart) {
  clear_tag(Channel::kernel);
  clear_tag(Channel::io);
  EXPECT_EQ(last_tag(Channel::kernel), "");
  tag_kernel("cpu", "matmul", "bitbit_popcount");
  EXPECT_EQ(last_tag(Channel::io), "");
  tag_io("prefetch");
  EXPECT_EQ(last_tag(Channel::kernel), "cpu.matmul.bitbit_popcount");
  EXPECT_EQ(last_tag(Channel::io), "io.prefetch");
  tag_kernel("cuda", "add");
  EXPECT_EQ(last_tag(Channel::kernel), "cuda.add");
  clear_tag(Channel::kernel);
  EXPECT_EQ(last_tag(Channel::kernel), "");
  EXPECT_EQ(last_tag(Channel::io), "io.prefetch");
}

TEST(Tags, ThreadsAreApart) {
  tag_kernel("cpu", "add", "f64");
  std::thread([] {
    EXPECT_EQ(last_tag(Channel::kernel), "");
    tag_kernel("cpu", "subtract", "f32");
  }).join();
  EXPECT_EQ(last_tag(Channel::kernel), "cpu.add.f64");
}

}  // namespace
}  // namespace tessera
