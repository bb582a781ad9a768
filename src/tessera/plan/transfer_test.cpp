// SPDX-License-Identifier: Apache-2.0
// Transfers of plans: whose streams they use, how they are cut and laid out, and what failures
// leave behind.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "support/devices.hpp"
#include "support/distances.hpp"
#include "tessera/base/config.hpp"
#include "tessera/base/trace.hpp"
#include "tessera/device/registry.hpp"
#include "tessera/device/sim/faults.hpp"
#include "tessera/device/streamer.hpp"
#include "tessera/device/transfer_streams.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/reduce/reduce.hpp"
#include "tessera/plan/plan.hpp"
#include "tessera/plan/record_transfer.hpp"

namespace tessera {
namespace {

const Device sim2 = sim_at(2);

// The device of the tests, or a sim device where that is the host.
Device accelerator() { return test_device() == cpu ? sim0 : test_device(); }

class Transfers : public testing::Test {
 protected:
  void TearDown() override {
    for (int i = 0; i < 8; ++i) sim::restore(i);
    clear_transfer_streams();
  }
};

Array constant(double v, i64 n, Device d) {
  const Array a = empty_dense({n}, DType::f64, d);
  a.fill(Value(v));
  return a;
}

// A task that ends when it is let go.
Task until(const std::atomic<bool>& go) {
  return {[](const void* state, const Launch&) {
            while (!static_cast<const std::atomic<bool>*>(state)->load()) std::this_thread::yield();
          },
          std::shared_ptr<const void>(&go, [](const void*) {})};
}

// y = 3 x, computed on `there`.
Plan triple(i64 n, Device at, Device there) {
  Recorder r;
  const Layout l = Layout::contiguous({n});
  const View x = r.input(l, DType::f64, at), y = r.output(l, DType::f64, at);
  const View a = r.temporary({n}, DType::f64, there), b = r.temporary({n}, DType::f64, there);
  record::copy(r, x, a);
  record::scale(r, Value(3.0), a, b);
  record::copy(r, b, y);
  return Plan(std::move(r), "triple");
}

// y = x on another device.
Plan move(const Layout& from, Device a, const Layout& to, Device b, DType t = DType::f64) {
  Recorder r;
  const View x = r.input(from, t, a), y = r.output(to, t, b);
  record::copy(r, x, y);
  return Plan(std::move(r), "move");
}

TEST_F(Transfers, RunsShareTheStreamsOfThePairs) {
  const Plan p = triple(8, cpu, sim1);
  const Array x = constant(2, 8, cpu), y = empty_dense({8}, DType::f64, cpu);
  const Using log(config().log_device_transfers, true);
  for (int i = 0; i < 3; ++i) {
    tessera::Run run = p.instance();
    testing::internal::CaptureStderr();
    run(x, y);
    const std::string text = testing::internal::GetCapturedStderr();
    for (const Stream& s : {transfer_stream(cpu, sim1), transfer_stream(sim1, cpu)})
      EXPECT_NE(text.find(cat("on stream ", s.id(), " of sim:1")), std::string::npos) << text;
  }
}

// Both ways through a ring, rows with gaps too; pinned memory goes as it is, and no run allocates.
TEST_F(Transfers, HostMemoryThatIsNotPinnedGoesThroughARing) {
  for (const i64 buffer : {i64{4096}, i64{20000}, default_stream_buffer})
    for (const i64 gap : {0, 3})
      for (const bool pinned : {false, true}) {
        set_stream_buffer_size(buffer);
        const Shape shape{300, 40};
        const i64 bytes = 300 * 40 * 8;
        const Layout rows{shape, {40 + gap, 1}, 0};
        const auto room = [&] {
          return Array((pinned ? Array::pinned({300, 40 + gap}, DType::f64, accelerator().kind)
                               : empty_dense({300, 40 + gap}, DType::f64, cpu))
                           .storage(),
                       rows, DType::f64);
        };
        const Array x = room(), y = room();
        x.copy_from(arange(Value(0.0), Value(12000.0), Value(1.0), DType::f64).reshape(shape));
        const Array there = empty_dense(shape, DType::f64, accelerator());
        const Layout dense = Layout::contiguous(shape);
        tessera::Run up = move(rows, cpu, dense, accelerator()).instance(),
                     down = move(dense, accelerator(), rows, cpu).instance();
        for (int i = 0; i < 2; ++i) {
          y.fill(Value(-1.0));
          const i64 before = counter(Counter::copies), asked = counter(Counter::pool_requests);
          up(x, there);
          const i64 sent = counter(Counter::copies) - before;
          down(there, y);
          const i64 back = counter(Counter::copies) - before - sent;
          EXPECT_EQ(counter(Counter::pool_requests), asked);
          EXPECT_EQ(distance(y, x), 0) << buffer << " " << gap << " " << pinned;
          const bool whole = pinned || bytes < std::min(buffer, i64{1} << 20);
          for (const i64 copies : {sent, back}) EXPECT_TRUE(whole ? copies == 1 : copies >= 4);
        }
      }
  set_stream_buffer_size(default_stream_buffer);
}

TEST_F(Transfers, AFailedRunHurtsNoLaterOne) {
  const Plan p = triple(8, cpu, sim1);
  const Array x = constant(2, 8, cpu), y = empty_dense({8}, DType::f64, cpu);
  tessera::Run first = p.instance(), second = p.instance();
  first(x, y);
  sim::fail_task_after(1, 0);
  EXPECT_THROW(first(x, y), DeviceError);
  // Another run that holds the same transfer streams, the run itself, and a new one.
  tessera::Run third = p.instance();
  for (tessera::Run* run : {&second, &first, &third}) {
    y.fill(Value(0.0));
    (*run)(x, y);
    EXPECT_EQ(distance(y, constant(6, 8, cpu)), 0);
  }
  EXPECT_EQ(distance(x, constant(2, 8, cpu)), 0);
}

// Runs of several threads share the transfer streams while tasks fail now and then: a run throws,
// or its result is right.
TEST_F(Transfers, AFailureIsNeverAWrongResult) {
  const Using slow(config().sim_delay_us, i64{20});
  const Plan p = triple(16, cpu, sim1);
  std::atomic<int> wrong{0}, failed{0}, right{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      tessera::Run run = p.instance();
      for (int i = 0; i < 40; ++i) {
        const double v = 100 * t + i;
        const Array x = constant(v, 16, cpu), y = constant(-1, 16, cpu);
        if (i % 7 == t) sim::fail_task_after(1, t);
        try {
          run(x, y);
          ++(distance(y, constant(3 * v, 16, cpu)) == 0 ? right : wrong);
        } catch (const DeviceError&) {
          ++failed;
        }
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_GT(failed.load(), 0);
  EXPECT_GT(right.load(), 0);
  sim::fail_task_after(1, -1);
  tessera::Run after = p.instance();
  const Array x = constant(5, 16, cpu), y = empty_dense({16}, DType::f64, cpu);
  after(x, y);
  EXPECT_EQ(distance(y, constant(15, 16, cpu)), 0);
}

TEST_F(Transfers, ALostDeviceIsAnErrorAndNoHang) {
  const Plan p = triple(8, cpu, sim1);
  const Array x = constant(2, 8, cpu), y = empty_dense({8}, DType::f64, cpu);
  tessera::Run run = p.instance();
  run(x, y);
  sim::lose_device(1);
  EXPECT_THROW(run(x, y), DeviceError);
  EXPECT_THROW((void)p.instance(), DeviceError);
  const Plan elsewhere = triple(8, cpu, sim2);  // other devices go on
  tessera::Run other = elsewhere.instance();
  other(x, y);
  EXPECT_EQ(distance(y, constant(6, 8, cpu)), 0);
  sim::restore(1);
  y.fill(Value(0.0));
  run(x, y);
  EXPECT_EQ(distance(y, constant(6, 8, cpu)), 0);
}

// The input is written again as soon as the call returns, on the stream of its own device, while
// delays make transfers late: no run may see the next input, or miss its own.
TEST_F(Transfers, RepeatedRunsNeverOvertakeTheirInput) {
  const Using slow(config().sim_delay_us, i64{300});
  struct Way {
    Device from, to;
  };
  for (const Way way : {Way{sim0, sim1}, Way{sim0, cpu}, Way{cpu, sim1}, Way{sim1, sim0},
                        Way{accelerator(), cpu}, Way{cpu, accelerator()}}) {
    const i64 n = 33;
    tessera::Run run =
        move(Layout::contiguous({n}), way.from, Layout::contiguous({n}), way.to).instance();
    const Array x = empty_dense({n}, DType::f64, way.from);
    std::vector<Array> results;
    for (int i = 0; i < 12; ++i) {
      x.fill(Value(static_cast<double>(i)));
      results.push_back(empty_dense({n}, DType::f64, way.to));
      run(x, results.back());
      x.fill(Value(-1.0));
    }
    for (int i = 0; i < 12; ++i)
      ASSERT_EQ(distance(results[static_cast<std::size_t>(i)], constant(i, n, cpu)), 0)
          << way.from.str() << " to " << way.to.str() << ", run " << i;
  }
}

// The same with an input that dies right after the call: its memory is handed out again.
TEST_F(Transfers, AnInputMayDieAfterTheCall) {
  const Using slow(config().sim_delay_us, i64{200});
  const i64 n = 500;
  tessera::Run run = move(Layout::contiguous({n}), sim0, Layout::contiguous({n}), sim1).instance();
  std::vector<Array> results;
  for (int i = 0; i < 12; ++i) {
    results.push_back(empty_dense({n}, DType::f64, sim1));
    run(constant(i, n, sim0), results.back());
    (void)constant(-1, n, sim0);
  }
  for (int i = 0; i < 12; ++i)
    ASSERT_EQ(distance(results[static_cast<std::size_t>(i)], constant(i, n, cpu)), 0) << i;
}

TEST_F(Transfers, ThreadsShareTheStreamsWithoutHarm) {
  const Using slow(config().sim_delay_us, i64{60});
  const Plan p = triple(16, cpu, accelerator());
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      tessera::Run run = p.instance();
      for (int i = 0; i < 15; ++i) {
        const double v = 100 * t + i;
        const Array x = constant(v, 16, cpu), y = empty_dense({16}, DType::f64, cpu);
        run(x, y);
        if (!(distance(y, constant(3 * v, 16, cpu)) == 0)) ++wrong;
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong.load(), 0);
}

// What comes before the run on its own stream comes before the transfers of every part.
TEST_F(Transfers, AllPartsStartTogether) {
  Recorder r;
  const Layout l = Layout::contiguous({5});
  const View x = r.input(l, DType::f64, sim0), y = r.output(l, DType::f64, sim0);
  std::vector<View> back;
  for (const Device d : {sim1, sim2}) {
    const View there = r.temporary({5}, DType::f64, d);
    back.push_back(r.temporary({5}, DType::f64, sim0));
    record::copy(r, x, there);
    record::copy(r, there, back.back());
  }
  record::add(r, back[0], back[1], y);
  tessera::Run run = Plan(std::move(r), "two parts").instance();
  const Array in = constant(0, 5, sim0), out = empty_dense({5}, DType::f64, sim0);
  std::atomic<bool> go{false};
  Stream::home(sim0).launch(until(go), {});
  in.fill(Value(4.0));
  run(in, out);
  const Event first = transfer_stream(sim0, sim1).record(),
              second = transfer_stream(sim0, sim2).record();
  EXPECT_FALSE(first.done() || second.done());
  go.store(true);
  EXPECT_EQ(distance(out, constant(8, 5, cpu)), 0);
  first.wait();
  second.wait();
}

TEST_F(Transfers, AListenerHoldsATransferBack) {
  RepeatedEvent ready(sim0);
  const Stream producer(sim0);
  Recorder r;
  const Layout l = Layout::contiguous({4});
  const View x = r.input(l, DType::f64, sim0), y = r.output(l, DType::f64, sim1);
  {
    const Recorder::Listening listening(r, ready);
    record::copy(r, x, y);
  }
  const Plan p(std::move(r), "listens");
  EXPECT_NE(p.explain().find("waits for its listener"), std::string::npos) << p.explain();
  tessera::Run run = p.instance();
  const Array in = constant(1, 4, sim0), out = empty_dense({4}, DType::f64, sim1);
  run(in, out);  // never recorded: nothing to wait for
  EXPECT_EQ(distance(out, constant(1, 4, cpu)), 0);
  std::atomic<bool> go{false};
  producer.launch(until(go), {});
  ready.record(producer);
  run(in, out);
  const Event end = run.stream().record();
  EXPECT_FALSE(end.done());  // the producer has not let it go
  go.store(true);
  end.wait();
  EXPECT_EQ(distance(out, constant(1, 4, cpu)), 0);
}

TEST_F(Transfers, AListenerSaysWhenTheHostMayBeRead) {
  const i64 n = 300'000;  // enough for a ring of pinned buffers
  RepeatedEvent ready(sim0);
  const Stream producer(sim0);
  Recorder r;
  const Layout l = Layout::contiguous({n});
  const View x = r.input(l, DType::f64, cpu), y = r.output(l, DType::f64, sim1);
  {
    const Recorder::Listening listening(r, ready);
    record::copy(r, x, y);
  }
  tessera::Run run = Plan(std::move(r), "listens").instance();
  const Array in = constant(1, n, cpu), out = empty_dense({n}, DType::f64, sim1);
  std::atomic<bool> go{false};
  producer.launch(until(go), {});
  ready.record(producer);
  std::thread filler([&] {  // a run may wait until the host's memory has been read
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::fill_n(in.host<double>(), n, 2.0);
    go.store(true);
  });
  run(in, out);
  filler.join();
  EXPECT_EQ(distance(out, constant(2, n, cpu)), 0);
}

TEST_F(Transfers, WhatOneRunBringsToTheHostTheNextOneReads) {
  const i64 n = 300'000;
  tessera::Run down = Plan(
                          [&] {
                            Recorder r;
                            const Layout l = Layout::contiguous({n});
                            const View x = r.input(l, DType::f64, sim0),
                                       y = r.output(l, DType::f64, cpu);
                            record::copy(r, x, y);
                            return r;
                          }(),
                          "down")
                          .instance(),
               up = triple(n, cpu, sim1).instance();
  const Array in = constant(1, n, sim0), between = constant(0, n, cpu),
              out = empty_dense({n}, DType::f64, cpu);
  for (int k = 1; k <= 5; ++k) {
    in.fill(Value(static_cast<double>(k)));
    down(in, between);
    up(between, out);
    EXPECT_EQ(distance(out, constant(3.0 * k, n, cpu)), 0);
  }
}

TEST_F(Transfers, StreamsOfTheCallerAreUsed) {
  const Stream compute(sim1), transfer(sim1);
  Recorder r;
  const Layout l = Layout::contiguous({4});
  const View x = r.input(l, DType::f64, cpu), y = r.output(l, DType::f64, cpu);
  const View a = r.temporary({4}, DType::f64, sim1), b = r.temporary({4}, DType::f64, sim1),
             c = r.temporary({4}, DType::f64, sim1);
  {
    const Recorder::Route route(r, transfer);
    record::copy(r, x, a);
  }
  r.compute_on(sim1, compute);
  record::scale(r, Value(2.0), a, b);
  r.compute_on(sim1, std::nullopt);
  record::scale(r, Value(5.0), b, c);
  record::copy(r, c, y);
  const Plan p(std::move(r), "streams");
  ASSERT_EQ(p.lanes().size(), 4u);
  EXPECT_EQ(p.lanes()[0].stream, transfer);
  EXPECT_EQ(p.lanes()[1].stream, compute);
  EXPECT_FALSE(p.lanes()[2].stream);
  EXPECT_FALSE(p.lanes()[3].stream);
  ASSERT_FALSE(p.steps()[2].waits.empty());
  EXPECT_EQ(p.steps()[2].waits.back(), 1);  // the other compute lane of the device
  const Using slow(config().sim_delay_us, i64{100});
  tessera::Run run = p.instance();
  const Array in = constant(1, 4, cpu), out = empty_dense({4}, DType::f64, cpu);
  for (int i = 0; i < 5; ++i) {
    in.fill(Value(static_cast<double>(i)));
    run(in, out);
    ASSERT_EQ(distance(out, constant(10.0 * i, 4, cpu)), 0);
  }
}

TEST(CommonRows, FindsRowsWithPitches) {
  const auto rows = [](const Layout& a, const Layout& b) {
    return common_rows({0, a, DType::f64}, {1, b, DType::f64});
  };
  const Layout whole = Layout::contiguous({6, 5, 40});
  EXPECT_EQ(rows(whole, whole)->rows, 1);
  EXPECT_EQ(rows(whole, whole)->row_bytes, 6 * 5 * 40 * 8);
  const Layout part = whole.slice(2, 3, 10), packed = Layout::contiguous({6, 5, 10});
  ASSERT_TRUE(rows(part, packed));
  EXPECT_EQ(rows(part, packed)->rows, 30);
  EXPECT_EQ(rows(part, packed)->row_bytes, 80);
  EXPECT_EQ(rows(part, packed)->from_pitch, 320);
  EXPECT_EQ(rows(part, packed)->to_pitch, 80);
  const Layout middle = whole.slice(1, 1, 2);  // rows of 2 x 40
  ASSERT_TRUE(rows(middle, Layout::contiguous({6, 2, 40})));
  EXPECT_EQ(rows(middle, Layout::contiguous({6, 2, 40}))->row_bytes, 640);
  EXPECT_EQ(rows(whole.slice(0, 2, 3), Layout::contiguous({3, 5, 40}))->rows, 1);
  // Three levels, short rows, steps, backwards, other shapes: packed.
  EXPECT_FALSE(rows(whole.slice(1, 1, 2).slice(2, 0, 10), Layout::contiguous({6, 2, 10})));
  EXPECT_FALSE(rows(whole.slice(2, 0, 7), Layout::contiguous({6, 5, 7})));
  EXPECT_FALSE(rows(whole.slice(2, 0, 20, 2), Layout::contiguous({6, 5, 20})));
  EXPECT_FALSE(rows(whole.slice(0, 5, 6, -1), whole));
  EXPECT_FALSE(rows(Layout::contiguous({10}).broadcast_to({3, 10}), Layout::contiguous({3, 10})));
  EXPECT_FALSE(rows(whole, Layout::contiguous({30, 40})));
  EXPECT_TRUE(rows(Layout::contiguous({0, 3}), Layout::contiguous({0, 3})));
  EXPECT_EQ(rows(Layout{}, Layout{})->row_bytes, 8);
}

TEST_F(Transfers, SlicesOfInnerDimsAreNotPacked) {
  const Array image = Random(3).normal({7, 40}, DType::f64).contiguous();
  const Array part = image.slice(1, 3, 23);
  const Array back = empty_dense({7, 40}, DType::f64, cpu);
  back.fill(Value(0.0));
  Recorder r;
  Layout sliced = part.layout();
  sliced.offset = 0;
  const View x = r.input(sliced, DType::f64, cpu), y = r.output(sliced, DType::f64, cpu),
             there = r.temporary({7, 20}, DType::f64, accelerator());
  record::copy(r, x, there);
  record::copy(r, there, y);
  const Plan p(std::move(r), "slices");
  ASSERT_EQ(p.steps().size(), 2u) << p.explain();
  EXPECT_EQ(p.steps()[0].rows, 7);
  EXPECT_EQ(p.transferred_bytes(), 2 * 7 * 20 * 8);
  EXPECT_EQ(p.workspace(cpu), 0);
  EXPECT_NE(p.explain().find("in 7 rows"), std::string::npos) << p.explain();
  tessera::Run run = p.instance();
  const i64 before = counter(Counter::bytes_device_to_host);
  run(part, back.slice(1, 3, 23));
  EXPECT_EQ(counter(Counter::bytes_device_to_host), before + 7 * 20 * 8);
  EXPECT_EQ(distance(back.slice(1, 3, 23), part), 0);
  EXPECT_EQ(size(back.slice(1, 0, 3)), 0);
}

TEST_F(Transfers, WhatIsNotInRowsIsPackedOnTheAccelerator) {
  const Array cube = Random(4).normal({4, 6, 30}, DType::f64).contiguous();
  const Layout strided = cube.slice(1, 1, 4).slice(2, 2, 14).layout();
  Layout at_zero = strided;
  at_zero.offset = 0;
  // From the host: x itself is strided in three levels, so it is packed there.
  const Plan up = move(at_zero, cpu, Layout::contiguous({4, 3, 12}), accelerator());
  EXPECT_EQ(up.steps().size(), 2u);
  EXPECT_EQ(up.workspace(cpu), 4 * 3 * 12 * 8);
  const Array there = empty_dense({4, 3, 12}, DType::f64, accelerator());
  tessera::Run run = up.instance();
  run(cube.view(strided), there);
  EXPECT_EQ(distance(there, cube.view(strided).contiguous()), 0);
  // Rows on both sides, but not the same ones: the sim device packs, the host does not.
  const Layout a = Layout::contiguous({4, 3, 20}).slice(2, 0, 12),
               b = Layout::contiguous({4, 5, 12}).slice(1, 0, 3);
  const Plan down = move(a, accelerator(), b, cpu);
  EXPECT_EQ(down.steps().size(), 2u) << down.explain();
  EXPECT_EQ(down.workspace(cpu), 0) << down.explain();
  const Array big = Random(5).normal({4, 3, 20}, DType::f64).to(accelerator()).contiguous(),
              out = empty_dense({4, 5, 12}, DType::f64, cpu);
  tessera::Run back = down.instance();
  back(big.slice(2, 0, 12), out.slice(1, 0, 3));
  EXPECT_EQ(distance(out.slice(1, 0, 3), big.slice(2, 0, 12).contiguous()), 0);
}

TEST_F(Transfers, WithoutPeerAccessDataGoesThroughPinnedMemory) {
  sim::isolate(1);
  const Using pieces(config().staging_bytes, i64{1024});
  const i64 n = 600;  // 4800 bytes: four pieces of 1024 and one of 704
  const Plan p = move(Layout::contiguous({n}), sim0, Layout::contiguous({n}), sim1);
  ASSERT_EQ(p.steps().size(), 10u) << p.explain();
  EXPECT_EQ(p.transferred_bytes(), 2 * n * 8);
  EXPECT_EQ(p.pinned_workspace(), 2048);
  EXPECT_EQ(p.workspace(cpu), 0);
  EXPECT_NE(p.explain().find("transfer sim:0 -> pinned host, part 5 of 5"), std::string::npos);
  EXPECT_NE(p.explain().find("transfer pinned host -> sim:1, part 1 of 5"), std::string::npos);
  EXPECT_NE(p.explain().find("workspace in pinned host memory"), std::string::npos);
  const auto json = nlohmann::json::parse(p.explain(ExplainFormat::json));
  EXPECT_EQ(json["workspace"]["pinned"], 2048);
  // Both hops overlap: a piece arrives while the one before leaves, and waits only for the buffer.
  for (int k = 0; k < 5; ++k) {
    const Step &in = p.steps()[static_cast<std::size_t>(2 * k)],
               &out = p.steps()[static_cast<std::size_t>(2 * k + 1)];
    EXPECT_NE(in.lane, out.lane);
    EXPECT_EQ(in.waits, k < 2 ? std::vector<int>{} : std::vector<int>{2 * k - 3});
    EXPECT_EQ(out.waits, std::vector<int>{2 * k});
  }
  const Using slow(config().sim_delay_us, i64{100});
  tessera::Run run = p.instance();
  const i64 direct = counter(Counter::bytes_device_to_device);
  for (int i = 0; i < 4; ++i) {
    const Array x = Random(static_cast<std::uint64_t>(i)).normal({n}, DType::f64, sim0),
                y = empty_dense({n}, DType::f64, sim1);
    const Array dense_x = x.contiguous();
    run(dense_x, y);
    const Array expected = dense_x.to(cpu);
    ASSERT_EQ(distance(y, expected), 0) << i;
  }
  EXPECT_EQ(counter(Counter::bytes_device_to_device), direct);
  sim::restore(1);
  EXPECT_EQ(move(Layout::contiguous({n}), sim0, Layout::contiguous({n}), sim1).steps().size(), 1u);
}

TEST_F(Transfers, RowsAreStagedInWholeRowsOrPartsOfOne) {
  sim::isolate(0);
  const Array big = Random(6).normal({9, 50}, DType::f64).to(sim0).contiguous();
  const Array part = big.slice(1, 5, 35);  // 9 rows of 240 bytes
  for (const i64 bytes : {i64{100}, i64{240}, i64{500}, i64{1} << 20}) {
    const Using pieces(config().staging_bytes, bytes);
    Layout from = part.layout();
    from.offset = 0;
    const Plan p = move(from, sim0, Layout::contiguous({9, 30}), sim1);
    const std::size_t expected = bytes == 100 ? 27 : bytes == 240 ? 9 : bytes == 500 ? 5 : 1;
    EXPECT_EQ(p.steps().size(), 2 * expected) << p.explain();
    const Array y = empty_dense({9, 30}, DType::f64, sim1);
    tessera::Run run = p.instance();
    run(part, y);
    EXPECT_EQ(distance(y, part.contiguous()), 0) << bytes;
  }
}

TEST_F(Transfers, TooLittlePinnedMemoryNamesThePlan) {
  sim::isolate(1);
  const Using limit(config().pinned_budget, i64{100});
  const Plan p = move(Layout::contiguous({600}), sim0, Layout::contiguous({600}), sim1);
  try {
    (void)p.instance();
    ADD_FAILURE() << "pinned beyond the budget";
  } catch (const OutOfMemory& e) {
    EXPECT_NE(std::string(e.what()).find("plan 'move' stages transfers"), std::string::npos)
        << e.what();
  }
}

}  // namespace
}  // namespace tessera
