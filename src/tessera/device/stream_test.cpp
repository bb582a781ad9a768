// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/stream.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "support/devices.hpp"
#include "support/support.hpp"
#include "support/text.hpp"
#include "tessera/base/config.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/trace.hpp"
#include "tessera/device/registry.hpp"
#include "tessera/device/sim/faults.hpp"
#include "tessera/device/storage.hpp"

namespace tessera {
namespace {

// A task from a lambda.
template <class F>
Task task(F f) {
  return {[](const void* state, const Launch& launch) { (*static_cast<const F*>(state))(launch); },
          std::make_shared<const F>(std::move(f))};
}

void pause_us(int us) { std::this_thread::sleep_for(std::chrono::microseconds(us)); }

class SimTest : public testing::Test {
 protected:
  void TearDown() override {
    for (int i = 0; i < 8; ++i) sim::restore(i);
  }
};

TEST(CpuStream, RunsInlineAndThrowsAtOnce) {
  Stream s(cpu);
  int ran = 0;
  s.launch(task([&ran](const Launch&) { ++ran; }), {});
  EXPECT_EQ(ran, 1);
  const Event e = s.record();
  EXPECT_TRUE(e.done());
  s.wait(e);
  EXPECT_THROW(s.launch(task([](const Launch&) { throw ShapeError("x"); }), {}), ShapeError);
  EXPECT_NO_THROW(s.sync());
  EXPECT_FALSE(compute_device(Kind::cpu).capturable());
  EXPECT_THROW(compute_device(Kind::cpu).begin_capture(0, s.native()), DeviceError);
}

TEST(CpuStream, CopiesAndFillsLargeBlocksInParallel) {
  Using<i64> threads(config().num_threads, 3);
  const i64 n = (7 << 20) + 13;
  std::vector<unsigned char> a(static_cast<std::size_t>(n)), b(static_cast<std::size_t>(n), 0);
  for (i64 i = 0; i < n; ++i)
    a[static_cast<std::size_t>(i)] = static_cast<unsigned char>(i * 7 % 253);
  Stream s(cpu);
  s.copy(b.data(), cpu, a.data(), cpu, n);
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size()), 0);
  s.fill(b.data(), 0x5A, n);
  EXPECT_EQ(std::count(b.begin(), b.end(), 0x5A), n);
}

TEST(Streams, HomeIsOneAndIdsDiffer) {
  EXPECT_EQ(Stream::home(sim_at(0)), Stream::home(sim_at(0)));
  EXPECT_FALSE(Stream::home(sim_at(0)) == Stream::home(sim_at(1)));
  Stream a(sim_at(0)), b(sim_at(0));
  EXPECT_NE(a.id(), b.id());
  EXPECT_EQ(a.device(), sim_at(0));
  EXPECT_THROW(Stream::home(sim_at(63)), DeviceError);
  EXPECT_THROW(Stream::home(Device{Kind::sim, 999}), DeviceError);
  EXPECT_THROW(Stream(Device{Kind::cpu, 1}), DeviceError);
}

TEST_F(SimTest, WorkOfAStreamIsInOrderAndAsynchronous) {
  Using<i64> delays(config().sim_delay_us, 30);
  Stream s(sim_at(0));
  std::vector<int> order;  // touched by the worker only, then read after sync
  std::atomic<bool> go{false};
  s.launch(task([&](const Launch&) {
             while (!go.load()) std::this_thread::yield();
           }),
           {});
  for (int i = 0; i < 200; ++i)
    s.launch(task([&order, i](const Launch&) { order.push_back(i); }), {});
  EXPECT_FALSE(s.record().done());  // nothing ran yet: launches do not wait
  go.store(true);
  s.sync();
  ASSERT_EQ(order.size(), 200u);
  for (int i = 0; i < 200; ++i) ASSERT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST_F(SimTest, TracesTellStreamsApart) {
  const Device d = Device::parse("sim:2");
  const Stream first(d), second(d);
  const Storage there = Storage::allocate(d, 64);
  there.wait();
  std::vector<std::byte> here(64);
  const std::string path = scratch_folder() + "/streams.json";
  {
    TraceFile trace(path);
    first.copy(there.data(), d, here.data(), cpu, 64);
    first.sync();
    second.copy(here.data(), cpu, there.data(), d, 64);
    second.sync();
  }
  std::vector<std::string> tracks, names;
  const nlohmann::json written = nlohmann::json::parse(std::ifstream(path));
  for (const auto& e : written.at("traceEvents")) {
    if (e.at("ph") == "M") tracks.push_back(e.at("args").at("name"));
    if (e.at("ph") != "X") continue;
    names.push_back(e.at("name"));
    EXPECT_EQ(e.at("args").at("bytes"), 64);
  }
  EXPECT_EQ(tracks, (std::vector<std::string>{cat("sim:2 stream ", first.id()),
                                              cat("sim:2 stream ", second.id())}));
  EXPECT_EQ(names, (std::vector<std::string>{"copy cpu -> sim:2", "copy sim:2 -> cpu"}));
}

TEST_F(SimTest, AFullRingBlocksAndLosesNothing) {
  Stream s(sim_at(0));
  i64 sum = 0;
  for (int i = 0; i < 3000; ++i) s.launch(task([&sum](const Launch&) { ++sum; }), {});
  s.sync();
  EXPECT_EQ(sum, 3000);
}

TEST_F(SimTest, TwoThreadsShareAStream) {
  Stream s(sim_at(0));
  i64 sum = 0;  // no lock: the stream is the order
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) s.launch(task([&sum](const Launch&) { ++sum; }), {});
    });
  for (auto& t : threads) t.join();
  s.sync();
  EXPECT_EQ(sum, 1500);
}

TEST_F(SimTest, LaunchCarriesStreamDeviceAndReadablePointers) {
  Stream s(sim_at(3));
  Storage m = Storage::allocate(s, 64);
  Launch launch;
  launch.operand[2] = m.data();
  launch.workspace = static_cast<char*>(m.data()) + 8;
  s.launch(task([&](const Launch& l) {
             EXPECT_EQ(l.device_index, 3);
             EXPECT_EQ(l.stream, s.native());
             EXPECT_EQ(l.operand[0], nullptr);
             std::memset(l.operand[2], 1, 8);
             std::memset(l.workspace, 2, 8);
           }),
           launch);
  unsigned char back[16] = {};
  s.copy(back, cpu, m.data(), sim_at(3), 16);
  s.sync();
  EXPECT_EQ(back[0], 1);
  EXPECT_EQ(back[15], 2);
}

TEST_F(SimTest, HostCannotReadDeviceMemory) {
  Storage m = Storage::allocate(sim_at(0), 64);
  m.wait();
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  volatile unsigned char sink = 0;
  EXPECT_DEATH(sink = *static_cast<unsigned char*>(m.data()), "");
  (void)sink;
}

// A relay over streams of several devices: each adds one to what the stream before left.
TEST_F(SimTest, EventsOrderStreamsAcrossDevices) {
  Using<i64> delays(config().sim_delay_us, 40);
  std::vector<Stream> streams;
  for (int i = 0; i < 5; ++i) streams.emplace_back(sim_at(i % 3));
  i64 value = 0;  // unprotected: only the events keep ThreadSanitizer quiet
  Event last;
  for (int round = 0; round < 60; ++round) {
    const Stream& s = streams[static_cast<std::size_t>(round * 7 % 5)];
    s.wait(last);
    s.launch(task([&value, round](const Launch&) {
               EXPECT_EQ(value, round);
               ++value;
             }),
             {});
    last = s.record();
  }
  last.wait();
  EXPECT_TRUE(last.done());
  EXPECT_EQ(value, 60);
}

TEST_F(SimTest, HostStreamWaitsForADevice) {
  Using<i64> delays(config().sim_delay_us, 500);
  Stream s(sim_at(1)), host(cpu);
  i64 value = 0;
  s.launch(task([&](const Launch&) {
             pause_us(2000);
             value = 5;
           }),
           {});
  host.wait(s.record());
  i64 seen = 0;
  host.launch(task([&](const Launch&) { seen = value; }), {});
  EXPECT_EQ(seen, 5);
}

TEST_F(SimTest, CopiesBetweenHostAndDevicesCountBytes) {
  Using<i64> delays(config().sim_delay_us, 20);
  const i64 n = 100003;
  std::vector<unsigned char> a(n), b(n, 0);
  for (i64 i = 0; i < n; ++i) a[static_cast<std::size_t>(i)] = static_cast<unsigned char>(i % 251);
  Stream s(sim_at(0)), t(sim_at(1));
  Storage x = Storage::allocate(s, n), y = Storage::allocate(t, n);
  reset_counters();
  s.copy(x.data(), sim_at(0), a.data(), cpu, n);
  t.wait(s.record());
  t.copy(y.data(), sim_at(1), x.data(), sim_at(0), n);
  x.record_stream(t);
  t.copy(b.data(), cpu, y.data(), sim_at(1), n);
  t.sync();
  EXPECT_EQ(a, b);
  EXPECT_EQ(counter(Counter::copies), 3);
  EXPECT_EQ(counter(Counter::bytes_host_to_device), n);
  EXPECT_EQ(counter(Counter::bytes_device_to_device), n);
  EXPECT_EQ(counter(Counter::bytes_device_to_host), n);
  const auto wrong =
      thrown_text<DeviceError>([&] { s.copy(b.data(), cpu, y.data(), sim_at(1), n); });
  EXPECT_NE(wrong.find("sim:1"), wrong.npos) << wrong;
}

TEST_F(SimTest, FailureSticksAndIsRethrownByAll) {
  Stream s(sim_at(0));
  Storage m = Storage::allocate(s, 100);
  s.launch(task([](const Launch&) { throw IndexError("index 7 is out of bounds"); }), {});
  bool later_ran = false;
  s.launch(task([&](const Launch&) { later_ran = true; }), {});
  const Event e = s.record();
  EXPECT_THROW(e.wait(), IndexError);
  EXPECT_TRUE(e.done());
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(thrown_text<IndexError>([&] { s.sync(); }), "index 7 is out of bounds");
  EXPECT_THROW(m.wait(), IndexError);
  EXPECT_FALSE(later_ran);  // nothing runs on what a failure left
}

TEST_F(SimTest, FailureTravelsWithEvents) {
  Stream a(sim_at(0)), b(sim_at(1)), c(sim_at(1));
  a.launch(task([](const Launch&) { throw ShapeError("first"); }), {});
  b.wait(a.record());
  bool ran = false;
  b.launch(task([&](const Launch&) { ran = true; }), {});
  c.wait(b.record());
  EXPECT_THROW(c.sync(), ShapeError);
  EXPECT_THROW(b.sync(), ShapeError);
  EXPECT_FALSE(ran);
  EXPECT_THROW(Stream(cpu).wait(b.record()), ShapeError);
}

TEST_F(SimTest, FailedStreamDoesNotSpoilItsDevice) {
  {
    Stream bad(sim_at(2));
    bad.launch(task([](const Launch&) { throw ShapeError("gone with its stream"); }), {});
  }
  Stream good(sim_at(2));
  bool ran = false;
  good.launch(task([&](const Launch&) { ran = true; }), {});
  EXPECT_NO_THROW(good.sync());
  EXPECT_TRUE(ran);
}

TEST_F(SimTest, InjectedTaskFailure) {
  Stream s(sim_at(2));
  std::atomic<int> ran{0};
  sim::fail_task_after(2, 3);
  for (int i = 0; i < 6; ++i) s.launch(task([&](const Launch&) { ++ran; }), {});
  const std::string text = thrown_text<DeviceError>([&] { s.sync(); });
  EXPECT_NE(text.find("sim:2"), text.npos) << text;
  EXPECT_EQ(ran.load(), 3);
  sim::restore(2);
  s.launch(task([&](const Launch&) { ++ran; }), {});
  s.sync();
  EXPECT_EQ(ran.load(), 4);
}

TEST_F(SimTest, LostDeviceFailsEverythingAndHangsNothing) {
  Stream s(sim_at(6)), other(sim_at(7));
  Storage m = Storage::allocate(s, 1000), n = Storage::allocate(s, 50);
  std::atomic<bool> go{false};
  bool ran = false;
  s.launch(task([&](const Launch&) {
             while (!go.load()) std::this_thread::yield();
           }),
           {});
  s.launch(task([&](const Launch&) { ran = true; }), {});
  other.wait(s.record());
  sim::lose_device(6);
  go.store(true);
  EXPECT_THROW(other.sync(), DeviceError);  // it waited for the lost one
  EXPECT_FALSE(ran);
  char byte = 0;
  EXPECT_THROW(s.sync(), DeviceError);
  EXPECT_THROW((void)s.record(), DeviceError);
  EXPECT_THROW(s.launch(task([](const Launch&) {}), {}), DeviceError);
  EXPECT_THROW(s.fill(m.data(), 0, 10), DeviceError);
  EXPECT_THROW(s.copy(&byte, cpu, m.data(), sim_at(6), 1), DeviceError);
  EXPECT_THROW(other.copy(m.data(), sim_at(6), m.data(), sim_at(7), 1), DeviceError);
  EXPECT_THROW(m.wait(), DeviceError);
  EXPECT_THROW(Storage::allocate(sim_at(6), 100000), DeviceError);
  EXPECT_THROW(Storage::allocate(s, 40), DeviceError);
  EXPECT_THROW(Stream{sim_at(6)}, DeviceError);
  n = Storage();  // memory can still be let go
  sim::restore(6);
  sim::restore(7);
  s.launch(task([&](const Launch&) { ran = true; }), {});
  EXPECT_NO_THROW(s.sync());
  EXPECT_TRUE(ran);
  EXPECT_NO_THROW(Storage::allocate(sim_at(6), 100000));
}

TEST_F(SimTest, CaptureKeepsAndReplays) {
  ComputeDevice& d = compute_device(Kind::sim);
  ASSERT_TRUE(d.capturable());
  Stream s(sim_at(0));
  Storage m = Storage::allocate(s, 8);
  s.fill(m.data(), 0, 8);
  Launch launch;
  launch.operand[0] = m.data();
  d.begin_capture(0, s.native());
  s.launch(task([](const Launch& l) { *static_cast<i64*>(l.operand[0]) += 3; }), launch);
  s.launch(task([](const Launch& l) { *static_cast<i64*>(l.operand[0]) *= 2; }), launch);
  EXPECT_THROW(s.sync(), PlanError);
  EXPECT_THROW((void)s.record(), PlanError);
  EXPECT_THROW(d.begin_capture(0, s.native()), PlanError);
  void* graph = d.end_capture(0, s.native());
  EXPECT_THROW(d.end_capture(0, s.native()), PlanError);
  i64 value = -1;
  const auto read = [&] {
    s.copy(&value, cpu, m.data(), sim_at(0), 8);
    s.sync();
    return value;
  };
  EXPECT_EQ(read(), 0);  // captured, not run
  d.launch_graph(0, s.native(), graph);
  EXPECT_EQ(read(), 6);
  for (int i = 0; i < 3; ++i) d.launch_graph(0, s.native(), graph);
  d.drop_graph(0, graph);  // queued replays keep what they need
  EXPECT_EQ(read(), ((6 + 3) * 2 + 3) * 2 * 2 + 6);
}

TEST_F(SimTest, AWorkerMayLetGoOfStreamsAndMemory) {
  // The state of a task owns memory and a stream; the worker drops it while its own ring is full.
  for (int round = 0; round < 20; ++round) {
    Stream s(sim_at(0));
    std::atomic<bool> go{false};
    s.launch(task([&go](const Launch&) {
               while (!go.load()) std::this_thread::yield();
             }),
             {});
    {
      std::vector<Storage> held;
      for (int i = 0; i < 4; ++i) {
        held.push_back(i % 2 ? Storage::allocate(sim_at(0), 500) : Storage::allocate(cpu, 8));
        held.back().record_stream(s);
      }
      s.launch(task([held, inner = Stream(sim_at(0)), s](const Launch&) {}), {});
    }
    for (int i = 0; i < 254; ++i) s.launch(task([](const Launch&) {}), {});
    go.store(true);
    s.sync();
  }
}

// Workers of streams that are gone serve new ones, which know nothing of what failed before.
TEST_F(SimTest, ANewStreamHasNothingOfAnOldOne) {
  for (int i = 0; i < 20; ++i) {
    int seen = 0;
    const Stream fresh(sim_at(0)), beside(sim_at(0));
    EXPECT_FALSE(fresh.failed() || beside.failed());
    fresh.launch(task([&](const Launch&) { ++seen; }), {});
    fresh.sync();
    EXPECT_EQ(seen, 1);
    beside.launch(task([](const Launch&) { throw DeviceError("asked for"); }), {});
    if (i % 2) {
      EXPECT_THROW(beside.sync(), DeviceError);
    }
    if (i % 3) fresh.launch(task([&](const Launch&) { throw DeviceError("asked for"); }), {});
  }
}

TEST_F(SimTest, RepeatedEventMeansTheNewestRecord) {
  Using<i64> delays(config().sim_delay_us, 20);
  Stream a(sim_at(0)), b(sim_at(1));
  RepeatedEvent start(sim_at(0)), finish(sim_at(1));
  EXPECT_EQ(start.records(), 0);
  b.wait(Event());
  start.wait(b);  // nothing to wait for
  start.sync();
  i64 value = 0, seen = -1;
  for (int round = 1; round <= 50; ++round) {
    finish.wait(a);
    a.launch(task([&value, round](const Launch&) { value = round; }), {});
    start.record(a);
    start.wait(b);
    b.launch(task([&, round](const Launch&) {
               seen = value;
               EXPECT_EQ(seen, round);
             }),
             {});
    finish.record(b);
  }
  finish.sync();
  EXPECT_EQ(seen, 50);
  EXPECT_EQ(start.records(), 50);
  EXPECT_THROW(start.record(b), DeviceError);
  RepeatedEvent host(cpu);
  host.record(Stream(cpu));
  host.wait(a);
  host.sync();
  EXPECT_EQ(host.records(), 1);
}

TEST_F(SimTest, RepeatedEventOfAnyDevice) {
  RepeatedEvent start, other;
  EXPECT_FALSE(start.device());
  EXPECT_EQ(RepeatedEvent(sim_at(1)).device(), sim_at(1));
  EXPECT_TRUE(start == RepeatedEvent(start));
  EXPECT_FALSE(start == other);
  start.sync();
  Stream waiter(sim_at(3));
  start.wait(waiter);
  i64 value = 0, seen = -1;
  for (int round = 1; round <= 30; ++round) {
    const Stream s(round % 3 ? sim_at(round % 3) : cpu);
    std::atomic<bool> go{false};
    s.launch(task([&, round](const Launch&) {
               while (round % 3 && !go.load()) std::this_thread::yield();
               value = round;
             }),
             {});
    start.record(s);
    start.wait(waiter);
    waiter.launch(task([&](const Launch&) { seen = value; }), {});
    if (round % 10 == 1) pause_us(500);  // time to go wrong in
    go.store(true);
    start.sync();
    waiter.sync();
    EXPECT_EQ(seen, round);
  }
  EXPECT_EQ(start.records(), 30);
}

// A later record on a fast stream must not let through a wait for an earlier one on a slow stream.
TEST_F(SimTest, RepeatedEventIsNotOvertaken) {
  Stream slow(sim_at(0)), fast(sim_at(0)), waiter(sim_at(1));
  RepeatedEvent event(sim_at(0));
  std::atomic<bool> go{false};
  int value = 0, seen = -1;
  slow.launch(task([&](const Launch&) {
                while (!go.load()) std::this_thread::yield();
                value = 1;
              }),
              {});
  event.record(slow);
  event.wait(waiter);
  waiter.launch(task([&](const Launch&) { seen = value; }), {});
  event.record(fast);
  fast.sync();
  pause_us(2000);
  go.store(true);
  waiter.sync();
  EXPECT_EQ(seen, 1);
}

TEST_F(SimTest, RepeatedEventFromManyThreads) {
  Stream a(sim_at(0));
  RepeatedEvent event(sim_at(0));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      Stream mine(sim_at(t));
      for (int i = 0; i < 100; ++i) {
        event.record(a);
        event.wait(mine);
      }
      mine.sync();
    });
  for (auto& t : threads) t.join();
  event.sync();
  EXPECT_EQ(event.records(), 400);
}

// Random programs over streams and events against the order in which the host wrote them.
TEST_F(SimTest, RandomProgramsAgreeWithTheirOrder) {
  Using<i64> delays(config().sim_delay_us, 15);
  std::uint64_t state = 12345;
  const auto next = [&](int n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int>((state >> 33) % static_cast<unsigned>(n));
  };
  for (int program = 0; program < 10; ++program) {
    constexpr int cells = 4;
    std::vector<Stream> streams;
    for (int i = 0; i < 4; ++i) streams.emplace_back(sim_at(i));
    i64 expected[cells] = {1, 2, 3, 4}, actual[cells] = {1, 2, 3, 4};
    Event written[cells], read[cells];
    for (int step = 0; step < 80; ++step) {
      const Stream& s = streams[static_cast<std::size_t>(next(4))];
      const int from = next(cells), to = next(cells), factor = next(5) + 1;
      expected[to] = (expected[to] + factor * expected[from]) % 1000003;
      for (const Event* e : {&written[from], &written[to], &read[to]}) s.wait(*e);
      s.launch(task([&actual, from, to, factor](const Launch&) {
                 actual[to] = (actual[to] + factor * actual[from]) % 1000003;
               }),
               {});
      s.wait(read[from]);  // so that one event stands for all readers
      read[from] = s.record();
      written[to] = read[to] = s.record();
    }
    for (const Stream& s : streams) s.sync();
    for (int i = 0; i < cells; ++i) ASSERT_EQ(actual[i], expected[i]) << program;
  }
}

}  // namespace
}  // namespace tessera
