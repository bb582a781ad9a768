// SPDX-License-Identifier: Apache-2.0
#include "tessera/comm/communicator.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "tessera/base/config.hpp"
#include "tessera/base/trace.hpp"
#include "tessera/comm/device_lane.hpp"
#include "tessera/comm/plugin.hpp"
#include "tessera/comm/self.hpp"
#include "tessera/device/registry.hpp"

namespace tessera {

struct Communicator::Group {
  std::unique_ptr<Transport> transport;
  Traffic traffic;
  // By kind, once they were looked for; gone before the transport that they use.
  std::array<std::optional<std::unique_ptr<DeviceLane>>, kind_count> lanes;

  // Names the operation and counts what it will send. A rank alone sends nothing, and threads may
  // share its group: nothing is written there.
  Transport& start(std::string_view operation, i64 messages, i64 bytes) {
    if (transport->size() > 1) transport->doing(operation);
    if (messages > 0) {
      traffic.messages += messages;
      traffic.bytes += bytes;
      count(Counter::messages, messages);
      count(Counter::bytes_sent, bytes);
    }
    return *transport;
  }
  // The same `bytes` to each of `ranks` others.
  Transport& start_equal(std::string_view operation, i64 ranks, i64 bytes) {
    return bytes > 0 ? start(operation, ranks, ranks * bytes) : start(operation, 0, 0);
  }
  Transport& start_exchange(std::string_view operation, std::span<const Block> sends,
                            std::span<const Block> receives);
  std::unique_ptr<DeviceLane> find_lane(Device device);
};

namespace {

// Ranks of the group, each at most once; what stays here has equal bytes on both sides.
void check_blocks(const Transport& comm, std::span<const Block> sends,
                  std::span<const Block> receives) {
  std::vector<char> seen;
  i64 own[2] = {0, 0};
  for (const auto& [blocks, what, side] :
       {std::tuple{sends, "sends", 0}, std::tuple{receives, "receives", 1}}) {
    seen.assign(static_cast<std::size_t>(comm.size()), 0);
    for (const Block& b : blocks) {
      require<ArgumentError>(b.rank >= 0 && b.rank < comm.size(), "exchange: a block of the ", what,
                             " names rank ", b.rank, " of ", comm.size());
      char& mark = seen[static_cast<std::size_t>(b.rank)];
      require<ArgumentError>(mark == 0, "exchange: two blocks of the ", what, " name rank ",
                             b.rank);
      mark = 1;
      if (b.rank == comm.rank()) own[side] = b.bytes();
    }
  }
  require<ArgumentError>(own[0] == own[1], "exchange: rank ", comm.rank(), " sends ", own[0],
                         " bytes to itself but expects ", own[1]);
}

}  // namespace

Transport& Communicator::Group::start_exchange(std::string_view operation,
                                               std::span<const Block> sends,
                                               std::span<const Block> receives) {
  check_blocks(*transport, sends, receives);
  i64 messages = 0, bytes = 0;
  for (const Block& b : sends) {
    const i64 n = b.rank == transport->rank() ? 0 : b.bytes();
    messages += n > 0;
    bytes += n;
  }
  return start(operation, messages, bytes);
}

std::unique_ptr<DeviceLane> Communicator::Group::find_lane(Device device) {
  transport->doing("looking for a way between devices");
  // Ranks that were told different things, or hold different kinds, stage.
  const char mine =
      config().device_lanes ? static_cast<char>(1 + static_cast<int>(device.kind)) : 0;
  std::string all(static_cast<std::size_t>(transport->size()), '\0');
  transport->allgather(&mine, 1, all.data());
  if (mine == 0 || all.find_first_not_of(mine) != std::string::npos) return nullptr;
  auto lane = transport->lane(device);
  if (!lane) return nullptr;
  return std::make_unique<DeviceLane>(DeviceLane{
      lane->name, [this, way = lane->exchange](const Stream& stream, std::span<const Block> sends,
                                               std::span<const Block> receives) {
        for (const std::span<const Block> blocks : {sends, receives})
          for (const Block& b : blocks)
            require<ArgumentError>(b.layout.dense() && b.layout.offset == 0,
                                   "a lane of devices moves dense blocks; the one of rank ", b.rank,
                                   " is not");
        start_exchange("exchange between devices", sends, receives);
        way(stream, sends, receives);
      }});
}

Communicator::Communicator() : Communicator(world()) {}

Communicator::Communicator(std::unique_ptr<Transport> transport)
    : group_(std::make_shared<Group>()), rank_(transport->rank()), size_(transport->size()) {
  group_->transport = std::move(transport);
}

Communicator Communicator::self() {
  static const auto* alone = new Communicator(std::make_unique<SelfTransport>());  // outlives all
  return *alone;
}

Communicator Communicator::world() {
  if (launched_ranks() == 1) return self();
  static const auto* all =
      new Communicator(load_world());  // outlives all; tried again if it throws
  return *all;
}

std::string_view Communicator::transport() const { return group_->transport->name(); }
std::string Communicator::str() const {
  return cat("rank ", rank_, " of ", size_, " (", transport(), ")");
}
const Traffic& Communicator::traffic() const { return group_->traffic; }

Communicator Communicator::split(int colour, int key) const {
  return Communicator(group_->start_equal("split", size_ - 1, 8).split(colour, key));
}

void Communicator::give_up(const std::string& why) const { group_->transport->give_up(why); }

void Communicator::exchange(std::span<const Block> sends, std::span<const Block> receives) const {
  group_->start_exchange("exchange", sends, receives).exchange(sends, receives);
}

std::vector<i64> Communicator::exchange_short(std::span<const Block> sends,
                                              std::span<const Block> receives) const {
  for (const std::span<const Block> blocks : {sends, receives})
    for (const Block& b : blocks)
      require<ArgumentError>(b.rank != rank_ && b.layout.dense() && b.layout.offset == 0 &&
                                 b.bytes() > 0 && b.bytes() <= Transport::short_bytes,
                             "exchange: a short block is dense, has 1 to ", Transport::short_bytes,
                             " bytes and another rank; got ", b.bytes(), " bytes of rank ", b.rank);
  std::vector<i64> lengths(receives.size());
  group_->start_exchange("exchange", sends, receives).exchange_short(sends, receives, lengths);
  return lengths;
}

const DeviceLane* Communicator::lane(Device device) const {
  if (alone() || compute_device(device.kind).host_memory()) return nullptr;
  auto& lane = group_->lanes[static_cast<std::size_t>(device.kind)];
  if (!lane) lane = group_->find_lane(device);
  return lane->get();
}

void Communicator::barrier() const { group_->start("barrier", size_ - 1, 0).barrier(); }

void Communicator::broadcast(void* data, i64 bytes, int root) const {
  require<ArgumentError>(root >= 0 && root < size_, "broadcast: the root is rank ", root, " of ",
                         size_);
  group_->start_equal("broadcast", rank_ == root ? size_ - 1 : 0, bytes)
      .broadcast(data, bytes, root);
}

void Communicator::allgather(const void* mine, i64 bytes, void* all) const {
  group_->start_equal("allgather", size_ - 1, bytes).allgather(mine, bytes, all);
}

void Communicator::allgather(const void* mine, std::span<const i64> bytes, void* all) const {
  require<ArgumentError>(static_cast<int>(bytes.size()) == size_, "allgather: ", bytes.size(),
                         " shares for ", size_, " ranks");
  group_->start_equal("allgather", size_ - 1, bytes[static_cast<std::size_t>(rank_)])
      .allgather(mine, bytes, all);
}

void Communicator::alltoall(const void* sends, i64 bytes_each, void* receives) const {
  group_->start_equal("alltoall", size_ - 1, bytes_each).alltoall(sends, bytes_each, receives);
}

void Communicator::allreduce(void* data, i64 count, DType dtype, Combine op) const {
  group_->start_equal("allreduce", size_ - 1, count * size_of(dtype))
      .allreduce(data, count, dtype, op);
}

void Communicator::exclusive_scan(void* data, i64 count, DType dtype, Combine op) const {
  group_->start_equal("exclusive_scan", size_ - 1 - rank_, count * size_of(dtype))
      .exclusive_scan(data, count, dtype, op);
}

std::string Communicator::first_problem(const std::string& mine) const {
  if (alone()) return mine;
  const char flag = mine.empty() ? 0 : 1;
  std::string flags(static_cast<std::size_t>(size_), '\0');
  allgather(&flag, 1, flags.data());
  const std::size_t root = flags.find('\1');
  if (root == std::string::npos) return {};
  i64 length = static_cast<i64>(mine.size());
  broadcast(&length, sizeof length, static_cast<int>(root));
  std::string text = static_cast<int>(root) == rank_ ? mine : std::string();
  text.resize(static_cast<std::size_t>(length));
  broadcast(text.data(), length, static_cast<int>(root));
  return text;
}

}  // namespace tessera
