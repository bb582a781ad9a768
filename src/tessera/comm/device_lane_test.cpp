// SPDX-License-Identifier: Apache-2.0
#include "tessera/comm/device_lane.hpp"

#include <gtest/gtest.h>

#include "support/device_blocks.hpp"
#include "support/devices.hpp"
#include "support/ranks.hpp"
#include "tessera/base/config.hpp"
#include "tessera/device/sim/faults.hpp"

namespace tessera {
namespace {

TEST(Ranks, LanesAreFoundByAllOrByNone) {
  on_ranks([](Communicator comm) {
    const Traffic before = comm.traffic();
    const DeviceLane* lane = comm.lane(sim_at(comm.rank()));
    EXPECT_EQ(lane != nullptr, comm.transport() == "threads" && !comm.alone());
    EXPECT_EQ(comm.lane(sim_at(0)), lane) << "one for all devices of a kind";
    EXPECT_EQ(comm.lane(cpu), nullptr);
    EXPECT_EQ(comm.traffic(), before);
    i64 n = 1;
    comm.allreduce(&n, 1, DType::i64, Combine::sum);
    EXPECT_EQ(n, comm.size()) << "the group goes on";
  });
}

TEST(DeviceLane, MovesMemoryBetweenDevicesWithoutTheHost) {
  for (const i64 delay : {0, 200}) {
    const Using<i64> slow(config().sim_delay_us, delay);
    for (const int p : {2, 3, 4, 7})
      run_ranks(p, [](Communicator comm) {
        for (int turn = 0; turn < 3; ++turn) all_to_all(comm, sim_at(comm.rank()));
        all_to_all(comm, sim_at(0));
        all_to_all(comm, sim_at(comm.rank() / 2));
        const Communicator part = comm.split(comm.rank() % 2, -comm.rank());
        if (!part.alone()) all_to_all(part, sim_at(comm.rank()), false);
      });
  }
}

TEST(DeviceLane, IsProbedByWhatArrives) {
  run_ranks(3, [](Communicator comm) {
    struct Over final : Transport {  // the transport of `comm`, once more
      Communicator comm;
      explicit Over(Communicator c) : comm(std::move(c)) {}
      std::string_view name() const override { return "over"; }
      int rank() const override { return comm.rank(); }
      int size() const override { return comm.size(); }
      void exchange(std::span<const Block> s, std::span<const Block> r) override {
        comm.exchange(s, r);
      }
      std::unique_ptr<Transport> split(int, int) override { return nullptr; }
    } over(comm);
    const DeviceLane* lane = comm.lane(sim_at(comm.rank()));
    EXPECT_TRUE(lane_delivers(*lane, over, sim_at(comm.rank())));
    const DeviceLane idle{"idle",
                          [](const Stream&, std::span<const Block>, std::span<const Block>) {}};
    EXPECT_FALSE(lane_delivers(idle, over, sim_at(comm.rank())));
    const DeviceLane late{
        "late", [&](const Stream& s, std::span<const Block> out, std::span<const Block> in) {
          lane->exchange(s, out, in);
          if (comm.rank() == 1) s.fill(in[0].first + in[0].bytes() - 1, 0, 1);
        }};
    EXPECT_FALSE(lane_delivers(late, over, sim_at(comm.rank()))) << "wrong on one rank, by a byte";
  });
}

TEST(DeviceLane, CanBeTurnedOff) {
  const Using<bool> off(config().device_lanes, false);
  run_ranks(2, [](Communicator comm) { EXPECT_EQ(comm.lane(sim_at(comm.rank())), nullptr); });
}

TEST(DeviceLane, WrongBlocksAreErrorsOfAll) {
  run_ranks(2, [](Communicator comm) {
    const Device device = sim_at(comm.rank());
    const DeviceLane* lane = comm.lane(device);
    const BytesOnDevice room(device, 8);
    Block strided = room.block(1 - comm.rank());
    strided.layout.shape = {4};
    strided.layout.strides = {2};
    EXPECT_THROW(lane->exchange(Stream::home(device), std::span(&strided, 1), {}), ArgumentError);
    const Block mine = room.block(1 - comm.rank());
    const BytesOnDevice other(device, comm.rank() == 0 ? 8 : 9);
    const Block theirs = other.block(1 - comm.rank());
    EXPECT_THROW(lane->exchange(Stream::home(device), std::span(&mine, 1), std::span(&theirs, 1)),
                 CommError);
  });
}

TEST(DeviceLane, ARankThatEndsOrLosesItsDeviceEndsTheOthers) {
  for (const bool lost : {false, true}) {
    EXPECT_THROW(run_ranks(3,
                           [&](Communicator comm) {
                             const Device device = sim_at(comm.rank());
                             const DeviceLane* lane = comm.lane(device);
                             const BytesOnDevice out(device, 64), in(device, 64);
                             const Block to = out.block((comm.rank() + 1) % 3),
                                         from = in.block((comm.rank() + 2) % 3);
                             comm.barrier();
                             if (comm.rank() == 2 && !lost) return;
                             if (comm.rank() == 2) sim::lose_device(2);
                             lane->exchange(Stream::home(device), std::span(&to, 1),
                                            std::span(&from, 1));
                             Stream::home(device).sync();
                           }),
                 Error);
    sim::restore(2);
    for (int r = 0; r < 3; ++r) sim::restore(r);
  }
}

}  // namespace
}  // namespace tessera
