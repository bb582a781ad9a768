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

TEST(Tags, AnOperationOfSeveralKernelsHasOneTag) {
  tag_launch("cpu", "add", DType::f64);
  EXPECT_EQ(last_tag(Channel::kernel), "cpu.add.f64");
  {
    const TagScope mean("cpu", "mean", DType::c64);
    tag_launch("cpu", "sum", DType::c64);
    const TagScope inner("cpu", "divide", DType::c64);
    EXPECT_EQ(last_tag(Channel::kernel), "cpu.mean.c64");
    tag_kernel("cpu", "matmul", "bit_x_i32");  // it says itself what it is
    EXPECT_EQ(last_tag(Channel::kernel), "cpu.matmul.bit_x_i32");
    std::thread([] {
      tag_launch("cpu", "copy", DType::b1);
      EXPECT_EQ(last_tag(Channel::kernel), "cpu.copy.bit");
    }).join();
  }
  tag_launch("cpu", "sum", DType::i8);
  EXPECT_EQ(last_tag(Channel::kernel), "cpu.sum.i8");
}

}  // namespace
}  // namespace tessera
