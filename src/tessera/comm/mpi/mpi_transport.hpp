// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ranks as processes that mpirun started. Each group has an MPI communicator of its own, so groups
// never hear each other. Every wait polls: a rank that has ended, is stopped or has given up ends
// the waits of the others with a CommError within seconds. Where all ranks are on one machine small
// collectives go through the shared window (intranode/) and large ones are exchanges; between
// machines both are MPI's own, or take log p messages.
//   Communicator comm(std::unique_ptr<Transport>(new MpiTransport(World::start())));

#include <optional>
#include <vector>

#include "tessera/comm/device_lane.hpp"
#include "tessera/comm/mpi/intranode/shared_mailbox.hpp"

namespace tessera::mpi {

class MpiTransport final : public Transport {
 public:
  explicit MpiTransport(World& world);  // all ranks
  ~MpiTransport() override;
  MpiTransport(const MpiTransport&) = delete;
  MpiTransport& operator=(const MpiTransport&) = delete;

  std::string_view name() const override { return "mpi"; }
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(members_.size()); }
  void exchange(std::span<const Block> sends, std::span<const Block> receives) override {
    exchange(nullptr, sends, receives);
  }
  void exchange_short(std::span<const Block> sends, std::span<const Block> receives,
                      std::span<i64> lengths) override;
  void barrier() override;
  void broadcast(void* data, i64 bytes, int root) override;
  void allgather(const void* mine, i64 bytes, void* all) override;
  void allgather(const void* mine, std::span<const i64> bytes, void* all) override;
  void alltoall(const void* sends, i64 bytes_each, void* receives) override;
  void allreduce(void* data, i64 count, DType dtype, Combine op) override;
  void exclusive_scan(void* data, i64 count, DType dtype, Combine op) override;
  std::unique_ptr<Transport> split(int colour, int key) override;
  // NCCL; else MPI itself, if it says that it takes device memory and then is seen to do so.
  std::unique_ptr<DeviceLane> lane(Device device) override;
  void give_up(const std::string& why) override;

 private:
  MpiTransport(World& world, MPI_Comm comm, std::vector<int> members);
  // `stream`: the blocks are dense memory of its device, which only MPI may touch; null: host
  // memory.
  void exchange(const tessera::Stream* stream, std::span<const Block> sends,
                std::span<const Block> receives);
  template <class F>
  void guarded(F&& f);  // refuses a lost group; what fails inside loses it
  template <class F>
  void collective(F&& start);  // start(&request) begins a call of MPI; waits for its end
  // Few bytes of each rank to all in log p messages of each, without a mailbox.
  void gather_by_doubling(const void* mine, std::span<const i64> bytes, void* all);
  // That of the group, made at the first call (collective); nullptr where it has none.
  SharedMailbox* mailbox();
  template <class Write, class Read>  // a round in which every rank posts to all others
  void round(SharedMailbox& mailbox, Write&& write, Read&& read);
  void exchange_messages(std::span<const Block> sends, std::span<const Block> receives,
                         std::span<i64> lengths);
  // exchange_short() without a mailbox (sparse_exchange.cpp).
  void sparse_exchange(std::span<const Block> sends, std::span<const Block> receives,
                       std::span<i64> lengths);
  // Sends `batch` to rank `to` and returns what comes from rank `from`, however long.
  std::vector<std::byte> swap_batches(std::vector<std::byte> batch, int to, int from);

  World& world_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::vector<int> members_;  // ranks in the world
  int rank_ = 0;
  std::vector<int> others_;  // ranks of the group
  std::optional<std::unique_ptr<SharedMailbox>> mailbox_;
  std::string lost_;
};

template <class F>
void MpiTransport::guarded(F&& f) {
  require<CommError>(lost_.empty(), operation_, ": the group is lost (", lost_, ")");
  try {
    f();
  } catch (const CommError& e) {
    lost_ = e.what();
    world_.lose(lost_);
    throw;
  }
}

template <class F>
void MpiTransport::collective(F&& start) {
  guarded([&] {
    MPI_Request request = MPI_REQUEST_NULL;
    world_.call([&] { return start(&request); });
    WaitPolicy wait(world_, members_, operation_);
    while (!world_.test(request)) wait.pause(others_);
  });
}

template <class Write, class Read>
void MpiTransport::round(SharedMailbox& mailbox, Write&& write, Read&& read) {
  guarded([&] {
    WaitPolicy wait(world_, members_, operation_);
    mailbox.begin(wait);
    write(mailbox.own());
    mailbox.post(others_);
    mailbox.await(others_, wait);
    read();
    mailbox.end();
  });
}

}  // namespace tessera::mpi
