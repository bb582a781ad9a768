// SPDX-License-Identifier: Apache-2.0
// The lane over NCCL with a library that stands in for it (tests/nccl), between ranks as threads
// and on sim devices.
#include "tessera/comm/nccl/nccl_lane.hpp"

#include <gtest/gtest.h>

#include "support/device_blocks.hpp"
#include "support/devices.hpp"
#include "tessera/comm/thread.hpp"

namespace tessera {
namespace {

const std::string stand_in = TESSERA_NCCL_STAND_IN;

// Ranks as threads that are like processes: their devices are joined by the library alone.
struct Apart final : Transport {
  Communicator comm;
  std::string library, gpu;
  Apart(Communicator c, std::string file, std::string where)
      : comm(std::move(c)), library(std::move(file)), gpu(std::move(where)) {}
  std::string_view name() const override { return "apart"; }
  int rank() const override { return comm.rank(); }
  int size() const override { return comm.size(); }
  void exchange(std::span<const Block> s, std::span<const Block> r) override {
    comm.exchange(s, r);
  }
  std::unique_ptr<Transport> split(int, int) override { return nullptr; }
  std::unique_ptr<DeviceLane> lane(Device device) override {
    return nccl::nccl_lane(
        *this, device, library,
        {gpu, [] { return std::shared_ptr<void>(); }, [device](Device d) { return d == device; }});
  }
};

Communicator apart(const Communicator& comm, const std::string& library = stand_in,
                   const std::string& gpu = "") {
  return Communicator(
      std::make_unique<Apart>(comm, library, gpu.empty() ? cat("gpu ", comm.rank()) : gpu));
}

// The counters see what the stand-in copies.
void over_nccl(const Communicator& comm, Device device) {
  const DeviceLane* lane = comm.lane(device);
  ASSERT_NE(lane, nullptr);
  EXPECT_EQ(lane->name, "nccl");
  all_to_all(comm, device, /*only=*/false);
}

TEST(NcclLane, MovesMemoryBetweenRanks) {
  for (const int p : {2, 3, 4})
    run_ranks(p, [](Communicator comm) {
      const Communicator group = apart(comm);
      for (int turn = 0; turn < 2; ++turn) over_nccl(group, sim_at(comm.rank()));
      over_nccl(group, sim_at(comm.rank() == 0 ? 7 : comm.rank()));  // over the device that joined
    });
}

TEST(NcclLane, IsNotThereForAllWhereItIsNotThereForOne) {
  run_ranks(3, [](Communicator comm) {
    EXPECT_EQ(
        apart(comm, comm.rank() == 1 ? "libnothing.so.2" : stand_in).lane(sim_at(comm.rank())),
        nullptr);
    EXPECT_EQ(apart(comm, stand_in, comm.rank() == 2 ? "gpu 0" : "").lane(sim_at(comm.rank())),
              nullptr)
        << "two ranks on one GPU";
    over_nccl(apart(comm), sim_at(comm.rank()));
  });
}

TEST(NcclLane, FailuresAreSentences) {
  run_ranks(2, [](Communicator comm) {
    const Communicator group = apart(comm);
    const Device device = sim_at(comm.rank());
    const BytesOnDevice out(device, 13), in(device, 13);
    const Block to = out.block(1 - comm.rank()), from = in.block(1 - comm.rank());
    try {
      group.lane(device)->exchange(Stream::home(device), std::span(&to, 1), std::span(&from, 1));
      ADD_FAILURE() << "no error";
    } catch (const CommError& e) {
      EXPECT_STREQ(e.what(),
                   "nccl: sending and receiving: a failure that a test asked for (status 3)");
    }
  });
  run_ranks(2, [](Communicator comm) {
    const Communicator group = apart(comm);
    const Device device = sim_at(comm.rank());
    const BytesOnDevice out(device, 16), in(device, comm.rank() == 0 ? 16 : 15);
    const Block to = out.block(1 - comm.rank()), from = in.block(1 - comm.rank());
    if (comm.rank() == 0) {  // only says so: what it sends meets nobody
      i64 told = 16, heard = 0;
      const Block say = Block::dense(1, &told, 8), hear = Block::dense(1, &heard, 8);
      (void)group.lane(device);
      comm.exchange(std::span(&say, 1), std::span(&hear, 1));
      return;
    }
    EXPECT_THROW(
        group.lane(device)->exchange(Stream::home(device), std::span(&to, 1), std::span(&from, 1)),
        CommError);
  });
}

}  // namespace
}  // namespace tessera
