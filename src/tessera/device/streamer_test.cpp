// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/streamer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>
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
    set_stream_buffer_size(default_stream_buffer);
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

TEST_F(StreamedCopies, PinsBuffersForEachWayAndGivesThemBack) {
  set_stream_buffer_size(i64{1} << 20);
  const i64 before = pinned_stats().in_use, both = 2 * i64{Staging::buffers} << 20;
  EXPECT_TRUE(trip(i64{9} << 20).same);
  EXPECT_EQ(pinned_stats().in_use, before);
  EXPECT_GE(pinned_stats().peak, before + both);
  const auto held = Staging::of(sim0);
  EXPECT_EQ(Staging::of(sim0), held);
  EXPECT_TRUE(trip(i64{9} << 20).same);
  EXPECT_EQ(pinned_stats().in_use, before + both);
}

TEST_F(StreamedCopies, PartsCoverRowsOnce) {
  for (const i64 rows : {1, 2, 7})
    for (const i64 bytes : {1, 5, 64})
      for (const i64 most : {1, 4, 5, 13, 64, 1000}) {
        std::vector<int> seen(static_cast<std::size_t>(rows * bytes), 0);
        const RowParts parts(rows, bytes, most);
        for (i64 k = 0; k < parts.count(); ++k) {
          const RowParts::Part p = parts[k];
          EXPECT_LE(p.rows * p.bytes, most);
          for (i64 r = p.row; r < p.row + p.rows; ++r)
            for (i64 b = p.first; b < p.first + p.bytes; ++b)
              ++seen[static_cast<std::size_t>(r * bytes + b)];
        }
        EXPECT_EQ(seen, std::vector<int>(seen.size(), 1)) << rows << " " << bytes << " " << most;
      }
}

// Rows with gaps on either side, there and back, by buffers smaller and larger than a row.
TEST_F(StreamedCopies, RowsWithGapsKeepTheirPlaces) {
  for (const i64 row : {100, 5000, 70000})
    for (const i64 host_gap : {0, 13})
      for (const i64 gap : {0, 64}) {
        const i64 rows = 200000 / row + 3, pitch = row + host_gap, there_pitch = row + gap;
        const std::vector<unsigned char> from = numbered_bytes(rows * pitch);
        std::vector<unsigned char> to(from.size(), 0xFF);
        const Stream stream(sim0);
        const Storage there = Storage::allocate(stream, rows * there_pitch);
        Staging ring(sim0, 4096);
        Copy c{.to = there.data(),
               .to_device = sim0,
               .from = from.data(),
               .from_device = cpu,
               .row_bytes = row,
               .rows = rows,
               .to_pitch = there_pitch,
               .from_pitch = pitch};
        ring.copy(stream, c);
        std::swap(c.to_device, c.from_device);
        std::swap(c.to_pitch, c.from_pitch);
        c.from = there.data();
        c.to = to.data();
        ring.copy(stream, c);
        for (i64 i = 0; i < rows * pitch; ++i) {
          const auto at = static_cast<std::size_t>(i);
          ASSERT_EQ(to[at], i % pitch < row ? from[at] : 0xFF) << row << " " << i;
        }
      }
}

TEST_F(StreamedCopies, ThreadsShareARing) {
  set_stream_buffer_size(4096);
  const auto held = Staging::of(sim0);
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const Stream stream(sim0);
      const std::vector<unsigned char> from(std::size_t{50000}, static_cast<unsigned char>(t));
      std::vector<unsigned char> to(from.size(), 0xFF);
      const Storage there = Storage::allocate(stream, 50000);
      held->copy(stream, {.to = there.data(),
                          .to_device = sim0,
                          .from = from.data(),
                          .from_device = cpu,
                          .row_bytes = 50000});
      held->copy(stream, {.to = to.data(),
                          .to_device = cpu,
                          .from = there.data(),
                          .from_device = sim0,
                          .row_bytes = 50000});
      right += to == from;
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(right, 4);
}

TEST_F(StreamedCopies, DoesNothingWithoutBuffersForShortDataOrWithoutPinnedMemory) {
  set_stream_buffer_size(0);
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
