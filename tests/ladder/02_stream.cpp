// SPDX-License-Identifier: Apache-2.0
// Rung 2: streams keep the order of fills and transfers.
#include "ladder/ladder.hpp"

namespace tessera::ladder {
namespace {

TEST(Ladder02Stream, KeepsOrder) {
  const Stream stream(test_device());
  EXPECT_EQ(stream.device(), test_device());
  const Storage memory = Storage::allocate(stream, 4096);
  std::vector<unsigned char> seen(4096, 1);
  for (int byte : {7, 200, 33}) stream.fill(memory.data(), byte, 4096);
  stream.copy(seen.data(), cpu, memory.data(), test_device(), 4096);
  stream.sync();
  for (unsigned char v : seen) ASSERT_EQ(v, 33);
}

TEST(Ladder02Stream, HomeIsOneAndTheSame) {
  EXPECT_EQ(Stream::home(test_device()).id(), Stream::home(test_device()).id());
  EXPECT_NE(Stream(test_device()).id(), Stream::home(test_device()).id());
}

TEST(Ladder02Stream, ManyComeAndGo) {
  for (int i = 0; i < 64; ++i) {
    const Stream stream(test_device());
    const Storage memory = Storage::allocate(stream, 256);
    stream.fill(memory.data(), i, 256);
    stream.sync();
  }
}

}  // namespace
}  // namespace tessera::ladder
