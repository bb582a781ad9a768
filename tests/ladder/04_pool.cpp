// SPDX-License-Identifier: Apache-2.0
// Rung 4: the pool over the device's memory gives, takes back, refuses and counts.
#include "ladder/ladder.hpp"
#include "tessera/device/memory.hpp"

namespace tessera::ladder {
namespace {

TEST(Ladder04Pool, CountsWhatIsHeld) {
  const Device d = test_device();
  const i64 before = memory_stats(d).in_use;
  {
    const Storage s = Storage::allocate(d, 1 << 20);
    EXPECT_GE(memory_stats(d).in_use, before + (1 << 20));
  }
  EXPECT_EQ(memory_stats(d).in_use, before);
}

TEST(Ladder04Pool, RefusesTheImpossibleWithASentence) {
  try {
    Storage::allocate(test_device(), i64{1} << 50);
    FAIL() << "a petabyte was given";
  } catch (const OutOfMemory& e) {
    EXPECT_GT(std::string(e.what()).size(), 20u) << e.what();
  }
  // and works on
  const Storage s = Storage::allocate(test_device(), 1024);
  EXPECT_NE(s.data(), nullptr);
}

TEST(Ladder04Pool, FreedMemoryIsNotHandedOutTooEarly) {
  const Device d = test_device();
  const Stream stream(d), other(d);
  constexpr i64 bytes = i64{8} << 20;
  for (int round = 1; round < 32; ++round) {
    const Storage result = Storage::allocate(other, bytes);
    {
      const Storage scratch = Storage::allocate(stream, bytes);
      stream.fill(scratch.data(), round, bytes);
      const Event filled = stream.record();
      other.wait(filled);
      scratch.record_stream(other);
      other.copy(result.data(), d, scratch.data(), d, bytes);
    }
    const Storage next =
        Storage::allocate(stream, bytes);  // may be the scratch again, but only in order
    stream.fill(next.data(), 255, bytes);
    unsigned char middle = 0;
    other.copy(&middle, cpu, static_cast<std::byte*>(result.data()) + bytes / 2, d, 1);
    other.sync();
    ASSERT_EQ(middle, round);
  }
}

TEST(Ladder04Pool, PinnedMemoryTransfers) {
  const Device d = test_device();
  const Storage pinned = Storage::pinned(d.kind, 1 << 16), there = Storage::allocate(d, 1 << 16);
  auto* p = static_cast<unsigned char*>(pinned.data());
  for (int i = 0; i < 1 << 16; ++i) p[i] = static_cast<unsigned char>(i * 7);
  const Stream home = Stream::home(d);
  home.copy(there.data(), d, p, cpu, 1 << 16);
  home.sync();
  std::fill(p, p + (1 << 16), 0);
  home.copy(p, cpu, there.data(), d, 1 << 16);
  home.sync();
  for (int i = 0; i < 1 << 16; ++i) ASSERT_EQ(p[i], static_cast<unsigned char>(i * 7));
}

}  // namespace
}  // namespace tessera::ladder
