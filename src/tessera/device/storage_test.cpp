// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/storage.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

#include "support/devices.hpp"
#include "support/support.hpp"
#include "support/text.hpp"
#include "tessera/base/config.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/trace.hpp"
#include "tessera/device/host_limits.hpp"
#include "tessera/device/memory.hpp"
#include "tessera/device/pool.hpp"
#include "tessera/device/registry.hpp"
#include "tessera/device/sim/faults.hpp"

namespace tessera {
namespace {

std::vector<unsigned char> read_back(const Storage& s) {
  std::vector<unsigned char> bytes(static_cast<std::size_t>(s.bytes()), 0x11);
  const Stream stream = Stream::home(s.device());
  stream.copy(bytes.data(), cpu, s.data(), s.device(), s.bytes());
  stream.sync();
  return bytes;
}

TEST(SizeClasses, HoldWhatTheySayAndWasteLittle) {
  for (i64 bytes : {i64{1}, i64{63}, i64{64}, i64{65}, i64{512}, i64{513}, i64{1000}, i64{1} << 20,
                    (i64{1} << 20) + 1, (i64{3} << 30) + 5, (i64{1} << 59) + 1}) {
    const int above = class_above(bytes), below = class_below(bytes);
    EXPECT_GE(class_bytes(above), bytes);
    if (above > 0) {
      EXPECT_LT(class_bytes(above - 1), bytes);
    }
    if (bytes >= 64) {
      EXPECT_LE(class_bytes(below), bytes);
    }
    if (bytes > 512) {
      EXPECT_LE(static_cast<double>(class_bytes(above)), 1.125 * static_cast<double>(bytes) + 64);
    }
  }
  for (int c = 0; c < 400; ++c) {
    EXPECT_EQ(class_above(class_bytes(c)), c);
    EXPECT_EQ(class_below(class_bytes(c)), c);
    EXPECT_LT(class_bytes(c), class_bytes(c + 1));
  }
}

TEST(Storage, AlignedPoisonedAndWritable) {
  for (Device d : {cpu, sim0})
    for (i64 bytes : {1, 8, 64, 65, 512, 513, 4096, 100000, (2 << 20) + 3}) {
      Storage s = Storage::allocate(d, bytes);
      EXPECT_EQ(s.bytes(), bytes);
      EXPECT_EQ(s.device(), d);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(s.data()) % (bytes > 64 || d != cpu ? 64 : 16),
                0u);
      if (d == cpu && bytes >= 2 << 20) {
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(s.data()) % (2 << 20), 0u);
      }
      const auto fresh = read_back(s);
      EXPECT_TRUE(std::all_of(fresh.begin(), fresh.end(), [](auto b) { return b == 0xFF; }));
      Stream::home(d).fill(s.data(), 3, bytes);
      EXPECT_EQ(read_back(s).back(), 3);
    }
}

TEST(Storage, NoPoisonWithoutTheSetting) {
  Using<bool> off(config().poison, false);
  void* first = nullptr;
  {
    Storage s = Storage::allocate(cpu, 10000);
    first = s.data();
    std::memset(s.data(), 5, 10000);
  }
  Storage again = Storage::allocate(cpu, 10000);
  ASSERT_EQ(again.data(), first);  // the cached block
  EXPECT_EQ(static_cast<unsigned char*>(again.data())[9999], 5);
}

TEST(Storage, ZeroBytesAndSharing) {
  for (Device d : {cpu, sim0}) {
    Storage s = Storage::allocate(d, 0);
    EXPECT_TRUE(s);
    EXPECT_EQ(s.bytes(), 0);
    Storage t = s;
    EXPECT_EQ(t, s);
    EXPECT_EQ(s.use_count(), 2);
  }
  EXPECT_FALSE(Storage());
  EXPECT_THROW(Storage::allocate(cpu, -1), ArgumentError);
  EXPECT_THROW(Storage::allocate(sim0, -1), ArgumentError);
  EXPECT_THROW(Storage::allocate(cpu, i64{1} << 61), OutOfMemory);
  EXPECT_THROW(Storage::allocate(Device{Kind::sim, 99}, 8), DeviceError);
}

TEST(Memory, StatsFollowStorages) {
  for (Device d : {cpu, sim1}) {
    const MemoryStats before = memory_stats(d);
    reset_peak(d);
    {
      Storage a = Storage::allocate(d, 1000), b = Storage::allocate(d, 24);
      EXPECT_EQ(memory_stats(d).in_use, before.in_use + 1024);
      EXPECT_GE(memory_stats(d).reserved, 1000);
    }
    EXPECT_EQ(memory_stats(d).in_use, before.in_use);
    EXPECT_EQ(memory_stats(d).peak, before.in_use + 1024);
    reset_peak(d);
    EXPECT_EQ(memory_stats(d).peak, before.in_use);
    trim_pool(d);
    EXPECT_LE(memory_stats(d).reserved, before.reserved);
  }
}

TEST(Memory, SecondRequestIsAPoolHit) {
  { Storage warm = Storage::allocate(sim0, 5000); }
  const i64 raw = counter(Counter::allocations), asked = counter(Counter::pool_requests);
  for (int i = 0; i < 10; ++i) Storage s = Storage::allocate(sim0, 5000 - i);
  EXPECT_EQ(counter(Counter::allocations), raw);
  EXPECT_EQ(counter(Counter::pool_requests), asked + 10);
}

TEST(Memory, HostKeepsNoMoreThanIsInUseOrALittle) {
  constexpr i64 large = i64{40} << 20;
  trim_pool(cpu);
  const i64 held = memory_stats(cpu).reserved;
  {
    const Storage a = Storage::allocate(cpu, large), b = Storage::allocate(cpu, large);
    EXPECT_GE(memory_stats(cpu).reserved, held + 2 * large);
    { const Storage c = Storage::allocate(cpu, large); }
    const i64 before = counter(Counter::allocations);
    { const Storage again = Storage::allocate(cpu, large); }  // as much is in use: it was kept
    EXPECT_EQ(counter(Counter::allocations), before);
  }
  EXPECT_LE(memory_stats(cpu).reserved, held + idle_bytes);
  { const Storage small = Storage::allocate(cpu, 4 << 20); }
  EXPECT_GE(memory_stats(cpu).reserved, held + (4 << 20));  // a little is kept
  trim_pool(cpu);
}

TEST(Memory, HostKeepsTheSizesThatAreAskedForAgain) {
  trim_pool(cpu);
  for (i64 mib = 1; mib <= 12; ++mib) {
    const Storage other = Storage::allocate(cpu, mib << 20);
  }
  { const Storage first = Storage::allocate(cpu, i64{20} << 20); }
  const i64 before = counter(Counter::allocations);
  for (int turn = 0; turn < 5; ++turn) {
    const Storage large = Storage::allocate(cpu, i64{20} << 20);
    const Storage small = Storage::allocate(cpu, i64{5} << 20);
  }
  EXPECT_LE(counter(Counter::allocations), before + 1);  // of the small one, if it had gone
  trim_pool(cpu);
}

TEST(Memory, BudgetIsASentenceAndNothingIsLost) {
  const Device d = sim1;
  trim_pool(d);
  const i64 held = memory_stats(d).in_use;
  set_memory_budget(d, held + (1 << 20));
  {
    Storage a = Storage::allocate(d, 700 << 10);
    const std::string text =
        thrown_text<OutOfMemory>([&] { Storage b = Storage::allocate(d, 500 << 10); });
    EXPECT_TRUE(has(text, "sim:1") && has(text, "500.0 KiB") && has(text, "1.00 MiB") &&
                has(text, "700.0 KiB"))
        << text;
    Storage c =
        Storage::allocate(d, 324 << 10);  // exactly what is left, though its class is larger
    EXPECT_EQ(memory_stats(d).in_use, held + (1 << 20));
    EXPECT_LE(memory_stats(d).reserved, held + (1 << 20));
  }
  // Cached blocks of other sizes must make room.
  Storage all = Storage::allocate(d, 1 << 20);
  EXPECT_LE(memory_stats(d).reserved, held + (1 << 20));
  set_memory_budget(d, 0);
  EXPECT_THROW(set_memory_budget(d, -5), ArgumentError);
}

TEST(Memory, BudgetOfTheHostHoldsForTinyStoragesToo) {
  const i64 held = memory_stats(cpu).in_use;
  set_memory_budget(cpu, held + 100);
  Storage a = Storage::allocate(cpu, 64);
  EXPECT_THROW(Storage::allocate(cpu, 64), OutOfMemory);
  EXPECT_NO_THROW(Storage::allocate(cpu, 36));
  set_memory_budget(cpu, 1);  // less than is held: what takes nothing is granted all the same
  EXPECT_NO_THROW(Storage::allocate(cpu, 0));
  EXPECT_THROW(Storage::allocate(cpu, 1), OutOfMemory);
  set_memory_budget(cpu, 0);
  EXPECT_NO_THROW(Storage::allocate(cpu, 64));
}

TEST(Memory, ConfiguredBudgetHoldsWhereNoneWasSet) {
  const Device d{Kind::sim, 5};
  Using<i64> budget(config().device_budget, 4096);
  EXPECT_EQ(memory_stats(d).budget, 4096);
  EXPECT_THROW(Storage::allocate(d, 5000), OutOfMemory);
  EXPECT_NO_THROW(Storage::allocate(d, 4096));
}

TEST(Memory, DeviceThatIsFull) {
  const Device d{Kind::sim, 4};
  Using<i64> memory(config().sim_memory, 1 << 20);
  Storage a = Storage::allocate(d, 600 << 10);
  const std::string text =
      thrown_text<OutOfMemory>([&] { Storage b = Storage::allocate(d, 600 << 10); });
  EXPECT_TRUE(has(text, "sim:4") && has(text, "600.0 KiB") && has(text, "1.00 MiB")) << text;
  EXPECT_EQ(memory_stats(d).in_use, 600 << 10);
  a = Storage();
  Storage c = Storage::allocate(d, 900 << 10);  // the cached block had to go back first
  EXPECT_EQ(c.bytes(), 900 << 10);
}

TEST(Memory, InjectedFailureReachesTheCallerOnce) {
  const Device d{Kind::sim, 4};
  trim_pool(d);
  sim::fail_allocation_after(4, 1);
  Storage a = Storage::allocate(d, 100);
  EXPECT_THROW(Storage::allocate(d, 100000), OutOfMemory);
  sim::restore(4);
  EXPECT_NO_THROW(Storage::allocate(d, 100000));
  EXPECT_EQ(memory_stats(d).in_use, 100);
}

TEST(Memory, PinnedHasItsOwnBudget) {
  const i64 host = memory_stats(cpu).in_use, pinned = pinned_stats().in_use;
  EXPECT_GT(pinned_stats().budget, 0);
  Storage s = Storage::pinned(Kind::sim, 10000);
  EXPECT_TRUE(s.is_pinned());
  EXPECT_EQ(s.device(), cpu);
  EXPECT_EQ(memory_stats(cpu).in_use, host);
  EXPECT_EQ(pinned_stats().in_use, pinned + 10000);
  Using<i64> small(config().pinned_budget, pinned + 12000);
  const std::string text =
      thrown_text<OutOfMemory>([&] { Storage t = Storage::pinned(Kind::cpu, 4000); });
  EXPECT_TRUE(has(text, "pinned")) << text;
  if (!why_unavailable(Kind::cuda).empty()) {
    EXPECT_THROW(Storage::pinned(Kind::cuda, 10), NotAvailable);
  }
}

TEST(Memory, MoreThanTheMachineHasIsRefusedBeforeAnythingIsTouched) {
  const i64 more = 2 * host_memory_total(), held = memory_stats(cpu).in_use;
  Using<i64> sim_memory(config().sim_memory, i64{1} << 50);
  Using<i64> pinned_budget(config().pinned_budget, i64{1} << 50);
  const auto text = [](auto&& f) { return thrown_text<OutOfMemory>(f); };
  for (const i64 bytes : {more, i64{1} << 45}) {
    const std::string host = text([&] { (void)Storage::allocate(cpu, bytes); });
    EXPECT_TRUE(has(host, bytes_text(bytes)) && has(host, "are left")) << host;
    EXPECT_TRUE(has(text([&] { (void)zeroed_storage(bytes); }), "are left"));
    EXPECT_TRUE(has(text([&] { (void)Storage::allocate(sim0, bytes); }), "sim:0"));
    EXPECT_TRUE(has(text([&] { (void)Storage::pinned(Kind::cpu, bytes); }), "are left"));
    EXPECT_TRUE(has(text([&] { (void)Storage::pinned(Kind::sim, bytes); }), "are left"));
  }
  EXPECT_EQ(memory_stats(cpu).in_use, held);
}

TEST(Memory, PromisesThatNobodyHasTouchedCountToo) {
  Using<bool> poison(config().poison, false);  // which touches
  const i64 chunk = std::max(host_memory_available() / 3, large_request);
  std::vector<Storage> held;
  const auto take = [&] {
    for (int i = 0; i < 40; ++i) held.push_back(zeroed_storage(chunk));
  };
  EXPECT_THROW(take(), OutOfMemory);
  EXPECT_LT(held.size(), 20u);
  held.clear();
  trim_pool(cpu);
  EXPECT_NO_THROW(held.push_back(zeroed_storage(chunk)));  // promises that are over count no more
  held.clear();
  trim_pool(cpu);
}

i64 resident_bytes() {
  i64 pages = 0, all = 0;
  std::ifstream("/proc/self/statm") >> all >> pages;
  return pages * sysconf(_SC_PAGE_SIZE);
}

TEST(Memory, ZerosTouchNothingAndAreZeroAfterOthers) {
  Using<bool> poison(config().poison, false);
  const i64 bytes = large_request + 12345;
  for (int round = 0; round < 3; ++round) {
    {
      Storage dirty = Storage::allocate(cpu, bytes);
      std::memset(dirty.data(), 0xA5, static_cast<std::size_t>(bytes));
    }
    const i64 before = resident_bytes();
    Storage s = zeroed_storage(bytes);
    EXPECT_EQ(s.bytes(), bytes);
    EXPECT_LT(resident_bytes(), before + large_request / 4) << round;
    auto* p = static_cast<unsigned char*>(s.data());
    EXPECT_TRUE(std::all_of(p, p + bytes, [](unsigned char c) { return c == 0; })) << round;
    std::memset(p, 0x5A, static_cast<std::size_t>(bytes));
  }
  trim_pool(cpu);
  Using<bool> poisoned(config().poison, true);
  for (const i64 n : {i64{1}, i64{100000}, bytes}) {
    Storage s = zeroed_storage(n);
    auto* p = static_cast<unsigned char*>(s.data());
    EXPECT_TRUE(std::all_of(p, p + n, [](unsigned char c) { return c == 0; })) << n;
  }
}

TEST(Memory, NoAllocationTurnsARequestIntoAnError) {
  NoAllocation guard;
  EXPECT_THROW(Storage::allocate(cpu, 8), PlanError);
  EXPECT_THROW(Storage::allocate(cpu, 8000), PlanError);
  EXPECT_THROW(Storage::allocate(sim0, 8), PlanError);
  bool other_thread_may = false;
  std::thread([&] { other_thread_may = Storage::allocate(cpu, 8000).bytes() == 8000; }).join();
  EXPECT_TRUE(other_thread_may);
}

// A task that waits for the test before it reads: memory handed out too early would hold other
// bytes.
struct SlowRead {
  std::atomic<bool> go{false};
  std::atomic<int> seen{-1};
  Task task() {
    return {[](const void* state, const Launch& launch) {
              auto* self = const_cast<SlowRead*>(static_cast<const SlowRead*>(state));
              while (!self->go.load()) std::this_thread::yield();
              self->seen.store(static_cast<unsigned char*>(launch.operand[0])[0]);
            },
            std::shared_ptr<const void>(this, [](const void*) {})};
  }
};

class RecordStream : public testing::TestWithParam<i64> {};

TEST_P(RecordStream, MemoryIsNotHandedOutBeforeTheOtherStreamHasPassed) {
  const i64 bytes = GetParam();
  for (Device home : {cpu, sim0}) {
    SlowRead slow;
    Stream other(sim0);
    Launch launch;
    void* first = nullptr;
    {
      Storage s = Storage::allocate(home, bytes);
      first = s.data();
      Stream::home(home).fill(s.data(), 42, bytes);
      other.wait(Stream::home(home).record());
      launch.operand[0] = s.data();
      other.launch(slow.task(), launch);
      s.record_stream(other);
    }
    std::vector<Storage> more;
    for (int i = 0; i < 4; ++i) {
      more.push_back(Storage::allocate(home, bytes));
      EXPECT_NE(more.back().data(), first);
      Stream::home(home).fill(more.back().data(), i, bytes);
    }
    slow.go.store(true);
    other.sync();
    EXPECT_EQ(slow.seen.load(), 42) << home.str();
    more.clear();
  }
}

INSTANTIATE_TEST_SUITE_P(TinyAndPooled, RecordStream, testing::Values(8, 300, 7000, 3 << 20));

TEST(Storage, MemoryIsReusedAfterTheOtherStreamHasPassed) {
  Stream other(sim0);
  void* first = nullptr;
  {
    Storage s = Storage::allocate(sim0, 77777);
    first = s.data();
    s.record_stream(other);
  }
  other.sync();
  Stream::home(sim0).sync();
  Storage again = Storage::allocate(sim0, 77777);
  EXPECT_EQ(again.data(), first);
}

TEST(Storage, BlocksOfAStreamServeOthersOnlyAfterItEnded) {
  void* first = nullptr;
  {
    Stream own(sim1);
    {
      Storage s = Storage::allocate(own, 33333);
      first = s.data();
    }
    Storage elsewhere = Storage::allocate(sim1, 33333);
    EXPECT_NE(elsewhere.data(), first);
    Storage same = Storage::allocate(own, 33333);
    EXPECT_EQ(same.data(), first);
  }
  Storage a = Storage::allocate(sim1, 33333), b = Storage::allocate(sim1, 33333);
  EXPECT_TRUE(a.data() == first || b.data() == first);
}

TEST(Storage, WaitSeesWorkOfAllStreamsAndRethrows) {
  Stream other(sim0);
  SlowRead slow;
  slow.go.store(true);
  Storage s = Storage::allocate(cpu, 1000);
  Launch launch;
  std::memset(s.data(), 9, 1000);
  launch.operand[0] = s.data();
  other.launch(slow.task(), launch);
  s.record_stream(other);
  s.wait();
  EXPECT_EQ(slow.seen.load(), 9);
  const Task bad{[](const void*, const Launch&) { throw ShapeError("bad work"); }, nullptr};
  other.launch(bad, launch);
  EXPECT_THROW(s.wait(), ShapeError);
}

TEST(Storage, AdoptReleasesOnceAfterItsStreams) {
  int released = 0;
  std::vector<int> data(100, 7);
  {
    Storage s = Storage::adopt(
        cpu, data.data(), 400, [&] { ++released; }, false);
    Storage t = s;
    EXPECT_FALSE(s.writable());
    EXPECT_EQ(s.data(), data.data());
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
  SlowRead slow;
  Stream other(sim0);
  {
    Storage s = Storage::adopt(cpu, data.data(), 400, [&] { ++released; });
    Launch launch;
    launch.operand[0] = s.data();
    other.launch(slow.task(), launch);
    s.record_stream(other);
  }
  EXPECT_EQ(released, 1);  // still read
  slow.go.store(true);
  other.sync();
  other.sync();  // the event of the release is behind the work
  EXPECT_EQ(released, 2);
  EXPECT_THROW(Storage::adopt(cpu, nullptr, 5, {}), ArgumentError);
}

TEST(Storage, AdoptReleasesAfterTheHomeStream) {
  int released = 0;
  SlowRead slow;
  const Stream home = Stream::home(sim0);
  const Storage lent = Storage::allocate(sim0, 400);
  {
    const Storage s = Storage::adopt(sim0, lent.data(), 400, [&] { ++released; });
    Launch launch;
    launch.operand[0] = s.data();
    home.launch(slow.task(), launch);
  }
  EXPECT_EQ(released, 0);  // still read, though nobody said so
  slow.go.store(true);
  home.sync();
  home.sync();  // the event of the release is behind the work
  EXPECT_EQ(released, 1);
}

TEST(Storage, MapFileReadsWritesAndValidates) {
  const std::string path = scratch_folder() + "/mapped.bin";
  {
    std::ofstream file(path, std::ios::binary);
    for (int i = 0; i < 10000; ++i) file.put(static_cast<char>(i % 251));
  }
  {
    Storage s = Storage::map_file(path, 5001, 4999, false);
    EXPECT_FALSE(s.writable());
    for (i64 i = 0; i < 4999; ++i)
      ASSERT_EQ(static_cast<unsigned char*>(s.data())[i], (5001 + i) % 251);
    EXPECT_TRUE(s.prefetch(0, 4999) && s.prefetch(4998, 1));  // also off the pages' boundaries
    Storage w = Storage::map_file(path, 4097, 2, true);
    static_cast<unsigned char*>(w.data())[1] = 255;
  }
  std::ifstream file(path, std::ios::binary);
  file.seekg(4098);
  EXPECT_EQ(file.get(), 255);
  EXPECT_EQ(Storage::map_file(path, 10000, 0, false).bytes(), 0);
  EXPECT_FALSE(Storage::allocate(cpu, 100).prefetch(0, 100));
  EXPECT_TRUE(has(thrown_text<IoError>([&] { Storage::map_file(path, 9000, 1001, false); }),
                  "10000 bytes"));
  EXPECT_THROW(Storage::map_file(path, i64{1} << 62, i64{1} << 62, false), IoError);
  EXPECT_THROW(Storage::map_file(path, -1, 5, false), ArgumentError);
  EXPECT_THROW(Storage::map_file(path, 1, -5, false), ArgumentError);
  EXPECT_TRUE(has(thrown_text<IoError>([&] { Storage::map_file(path + ".no", 0, 1, false); }),
                  "mapped.bin.no"));
  EXPECT_THROW(Storage::map_file(scratch_folder(), 0, 1, false), IoError);
}

TEST(Storage, ManyThreadsAllocateAndFree) {
  Using<i64> delays(config().sim_delay_us, 50);
  const i64 before = memory_stats(cpu).in_use, before_sim = memory_stats(sim0).in_use;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      Stream mine(sim0);
      for (int i = 0; i < 200; ++i) {
        Storage a = Storage::allocate(cpu, 1 + (i * 37 + t) % 3000);
        std::memset(a.data(), t, static_cast<std::size_t>(a.bytes()));
        Storage b = Storage::allocate(i % 2 ? mine : Stream::home(sim0), 100 + i % 7 * 100);
        mine.wait(Stream::home(sim0).record());
        mine.copy(b.data(), sim0, a.data(), cpu, std::min(a.bytes(), b.bytes()));
        a.record_stream(mine);
        b.record_stream(mine);
        if (i % 50 == 0) trim_pool(sim0);
      }
      mine.sync();
    });
  for (auto& t : threads) t.join();
  Stream::home(sim0).sync();
  EXPECT_EQ(memory_stats(cpu).in_use, before);
  EXPECT_EQ(memory_stats(sim0).in_use, before_sim);
}

}  // namespace
}  // namespace tessera
