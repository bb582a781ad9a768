// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/streamer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "support/devices.hpp"
#include "tessera/base/config.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/trace.hpp"
#include "tessera/device/memory.hpp"
#include "tessera/device/sim/faults.hpp"
#include "tessera/device/storage.hpp"

namespace tessera {
namespace {

class StreamedCopies : public testing::Test {
 protected:
  void TearDown() override {
    set_stream_buffer_size(0);
    sim::restore(0);
  }
};

std::vector<unsigned char> numbered_bytes(i64 bytes) {
  std::vector<unsigned char> all(static_cast<std::size_t>(bytes));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<unsigned char>(i * 7 + i / 251);
  return all;
}

// Copies in and out again; how many copies of the device that took each way, 0: it was not done.
struct Trip {
  i64 there = 0, back = 0;
  bool same = false;
};
Trip trip(i64 bytes) {
  const Stream home = Stream::home(sim0);
  const std::vector<unsigned char> from = numbered_bytes(bytes);
  std::vector<unsigned char> to(from.size(), 0xFF);
  const Storage there = Storage::allocate(sim0, bytes);
  Trip t;
  i64 before = counter(Counter::copies);
  if (!stream_copy(home, there.data(), sim0, from.data(), cpu, bytes)) return t;
  t.there = counter(Counter::copies) - before;
  before = counter(Counter::copies);
  if (!stream_copy(home, to.data(), cpu, there.data(), sim0, bytes)) return t;
  t.back = counter(Counter::copies) - before;
  t.same = to == from;
  return t;
}

TEST_F(StreamedCopies, BuffersSetTheSizeOfThePieces) {
  constexpr i64 mib = i64{1} << 20;
  for (const i64 size : {mib / 2, mib, 3 * mib}) {
    set_stream_buffer_size(size);
    for (const i64 bytes : {7 * mib, 12 * mib + 12345}) {
      const i64 piece = std::min(size, (bytes / 4 + 4095) / 4096 * 4096),
                pieces = (bytes + piece - 1) / piece;
      const Trip t = trip(bytes);
      EXPECT_TRUE(t.same) << size << " " << bytes;
      EXPECT_EQ(t.there, pieces) << size << " " << bytes;
      EXPECT_EQ(t.back, pieces) << size << " " << bytes;
    }
  }
}

TEST_F(StreamedCopies, PinsTwoPiecesAndGivesThemBack) {
  set_stream_buffer_size(i64{1} << 20);
  const i64 before = pinned_stats().in_use;
  EXPECT_TRUE(trip(i64{9} << 20).same);
  EXPECT_EQ(pinned_stats().in_use, before);
  EXPECT_GE(pinned_stats().peak, before + (i64{2} << 20));
}

TEST_F(StreamedCopies, DoesNothingWithoutBuffersForShortDataOrWithoutPinnedMemory) {
  EXPECT_EQ(trip(i64{4} << 20).there, 0);  // none are set
  set_stream_buffer_size(i64{1} << 20);
  EXPECT_EQ(trip(1000).there, 0);
  const Using<i64> none(config().pinned_budget, pinned_stats().in_use + 1);
  EXPECT_EQ(trip(i64{4} << 20).there, 0);
}

TEST_F(StreamedCopies, SmallBuffersHoldAPage) {
  set_stream_buffer_size(3);
  const Trip t = trip(i64{1} << 20);
  EXPECT_TRUE(t.same);
  EXPECT_EQ(t.there, 256);
}

TEST_F(StreamedCopies, FailuresAreTheCallers) {
  set_stream_buffer_size(i64{1} << 20);
  const std::vector<unsigned char> from = numbered_bytes(i64{9} << 20);
  const Storage there = Storage::allocate(sim0, i64{9} << 20);
  const Stream home = Stream::home(sim0);
  sim::lose_device(0);
  EXPECT_THROW((void)stream_copy(home, there.data(), sim0, from.data(), cpu, i64{9} << 20),
               DeviceError);
}

}  // namespace
}  // namespace tessera
