// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/transfer_streams.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "support/devices.hpp"
#include "support/support.hpp"
#include "tessera/base/config.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/trace.hpp"
#include "tessera/device/device_spec.hpp"
#include "tessera/device/registry.hpp"
#include "tessera/device/sim/faults.hpp"
#include "tessera/device/storage.hpp"

namespace tessera {
namespace {

class TransferStreams : public testing::Test {
 protected:
  void TearDown() override {
    for (int i = 0; i < 8; ++i) sim::restore(i);
    clear_transfer_streams();
  }
};

TEST_F(TransferStreams, OnePerOrderedPair) {
  const Stream up = transfer_stream(cpu, sim_at(0)), down = transfer_stream(sim_at(0), cpu);
  EXPECT_EQ(up, transfer_stream(cpu, sim_at(0)));
  EXPECT_FALSE(up == down);
  EXPECT_FALSE(up == transfer_stream(cpu, sim_at(1)));
  EXPECT_EQ(up.device(), sim_at(0));
  EXPECT_EQ(down.device(), sim_at(0));
  EXPECT_EQ(transfer_stream(sim_at(2), sim_at(3)).device(), sim_at(2));
  EXPECT_FALSE(up == Stream::home(sim_at(0)));
  EXPECT_EQ(transfer_stream(cpu, cpu), Stream::home(cpu));
  EXPECT_THROW((void)transfer_stream(sim_at(0), Device{Kind::cuda, 0}), DeviceError);
  EXPECT_THROW((void)transfer_stream(cpu, sim_at(63)), DeviceError);
  clear_transfer_streams();
  EXPECT_FALSE(up == transfer_stream(cpu, sim_at(0)));
}

TEST_F(TransferStreams, ManyThreadsGetTheSameOne) {
  std::vector<i64> ids(8);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < ids.size(); ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) ids[t] = transfer_stream(sim_at(i % 3), sim_at(3)).id();
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(std::set<i64>(ids.begin(), ids.end()).size(), 1u);
}

TEST_F(TransferStreams, AFailedStreamIsReplacedAndKeepsItsFailure) {
  const Stream failed = transfer_stream(cpu, sim_at(4));
  sim::fail_task_after(4, 0);
  failed.launch({[](const void*, const Launch&) {}, nullptr}, {});
  EXPECT_THROW(failed.sync(), DeviceError);
  EXPECT_TRUE(failed.failed());
  const Stream fresh = transfer_stream(cpu, sim_at(4));
  EXPECT_FALSE(fresh == failed);
  EXPECT_FALSE(fresh.failed());
  EXPECT_NO_THROW(fresh.sync());
  EXPECT_THROW(failed.sync(), DeviceError);  // whoever holds it still hears of it
  EXPECT_EQ(fresh, transfer_stream(cpu, sim_at(4)));
}

TEST_F(TransferStreams, ALostDeviceHasNone) {
  sim::lose_device(5);
  EXPECT_THROW((void)transfer_stream(cpu, sim_at(5)), DeviceError);
  sim::restore(5);
  EXPECT_NO_THROW(transfer_stream(cpu, sim_at(5)).sync());
}

TEST_F(TransferStreams, SpecsTakeTextDevicesAndStreams) {
  EXPECT_EQ(DeviceSpec("sim:1").device, sim_at(1));
  EXPECT_EQ(DeviceSpec(cpu).device, cpu);
  DeviceSpec a("sim:0");
  EXPECT_FALSE(a.compute_stream || a.transfer_stream);
  EXPECT_EQ(&a.p2p_setup("sim:1"), &a);
  ASSERT_TRUE(a.compute_stream && a.transfer_stream);
  EXPECT_EQ(*a.compute_stream, Stream::home(sim_at(0)));
  EXPECT_EQ(*a.transfer_stream, transfer_stream(sim_at(0), sim_at(1)));
  EXPECT_NE(a.str().find("sim:0, computing on stream "), std::string::npos) << a.str();
  DeviceSpec host("cpu");
  host.p2p_setup("sim:0");
  EXPECT_FALSE(host.transfer_stream);
  EXPECT_FALSE(DeviceSpec("sim:0").p2p_setup("cpu").transfer_stream);
  const Stream s(sim_at(2));
  EXPECT_EQ(*DeviceSpec(sim_at(2), s).compute_stream, s);
  EXPECT_THROW(DeviceSpec(sim_at(0), s), DeviceError);
  EXPECT_THROW(DeviceSpec(sim_at(0), std::nullopt, s), DeviceError);
  EXPECT_THROW(DeviceSpec("gpu:0"), DeviceError);
}

// Rows with a pitch on both sides, there and back; what lies between the rows stays as it was.
void check_rows(Device d) {
  const i64 rows = 5, width = 12, host_pitch = 20, there_pitch = 16;
  std::vector<unsigned char> in(static_cast<std::size_t>(rows * host_pitch));
  std::iota(in.begin(), in.end(), static_cast<unsigned char>(1));
  std::vector<unsigned char> out(in.size(), 0xEE);
  const Storage there = Storage::allocate(d, rows * there_pitch);
  const Stream s = Stream::home(d);
  s.fill(there.data(), 0x55, there.bytes());
  const i64 before = counter(Counter::bytes_host_to_device);
  s.copy({.to = there.data(),
          .to_device = d,
          .from = in.data(),
          .from_device = cpu,
          .row_bytes = width,
          .rows = rows,
          .to_pitch = there_pitch,
          .from_pitch = host_pitch});
  if (d != cpu) {
    EXPECT_EQ(counter(Counter::bytes_host_to_device), before + rows * width);
  }
  s.copy({.to = out.data(),
          .to_device = cpu,
          .from = there.data(),
          .from_device = d,
          .row_bytes = width,
          .rows = rows,
          .to_pitch = host_pitch,
          .from_pitch = there_pitch});
  std::vector<unsigned char> whole(static_cast<std::size_t>(there.bytes()));
  s.copy(whole.data(), cpu, there.data(), d, there.bytes());
  s.sync();
  for (i64 r = 0; r < rows; ++r)
    for (i64 i = 0; i < host_pitch; ++i) {
      const auto at = static_cast<std::size_t>(r * host_pitch + i);
      ASSERT_EQ(out[at], i < width ? in[at] : 0xEE) << r << " " << i;
      if (i >= width && i < there_pitch) {
        ASSERT_EQ(whole[static_cast<std::size_t>(r * there_pitch + i)], 0x55);
      }
    }
  EXPECT_THROW(s.copy({.to = there.data(),
                       .to_device = d,
                       .from = in.data(),
                       .from_device = cpu,
                       .row_bytes = width,
                       .rows = rows,
                       .to_pitch = width - 1,
                       .from_pitch = host_pitch}),
               ArgumentError);
}

TEST_F(TransferStreams, CopiesOfRowsLeaveTheGapsAlone) {
  check_rows(cpu);
  check_rows(sim_at(0));
  check_rows(test_device());
}

TEST_F(TransferStreams, TransfersAreLoggedAsSentences) {
  const Using log(config().log_device_transfers, true);
  const Storage m = Storage::allocate(sim_at(1), 3000);
  std::vector<unsigned char> host(3000);
  const Stream s = transfer_stream(cpu, sim_at(1));
  s.wait(Stream::home(sim_at(1)).record());  // fresh memory is poisoned there
  testing::internal::CaptureStderr();
  s.copy({.to = m.data(),
          .to_device = sim_at(1),
          .from = host.data(),
          .from_device = cpu,
          .row_bytes = 3000,
          .label = "ToDevice (X,) -> (X,): transfer cpu -> sim:1"});
  s.copy(host.data(), cpu, m.data(), sim_at(1), 10);
  const std::string text = testing::internal::GetCapturedStderr();
  s.sync();
  const std::string on = cat(" on stream ", s.id(), " of sim:1\n");
  EXPECT_EQ(text,
            cat("tessera: ToDevice (X,) -> (X,) moves ", bytes_text(3000), " from cpu to sim:1", on,
                "tessera: a copy moves ", bytes_text(10), " from sim:1 to cpu", on));
  const Using quiet(config().log_device_transfers, false);
  testing::internal::CaptureStderr();
  s.copy(host.data(), cpu, m.data(), sim_at(1), 10);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  s.sync();
}

TEST_F(TransferStreams, IsolatedDevicesHaveNoPeers) {
  ComputeDevice& sim = compute_device(Kind::sim);
  EXPECT_TRUE(sim.peer_access(0, 1));
  sim::isolate(1);
  EXPECT_FALSE(sim.peer_access(0, 1));
  EXPECT_FALSE(sim.peer_access(1, 0));
  EXPECT_TRUE(sim.peer_access(1, 1));
  EXPECT_TRUE(sim.peer_access(0, 2));
  sim::restore(1);
  EXPECT_TRUE(sim.peer_access(0, 1));
}

}  // namespace
}  // namespace tessera
