// SPDX-License-Identifier: Apache-2.0
#include "tessera/comm/mpi/mpi_transport.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "tessera/comm/mpi/block_exchange.hpp"
#include "tessera/comm/mpi/watch.hpp"

#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

namespace tessera::mpi {
namespace {

constexpr int short_tag = 3;  // transfer.cpp has the others

// What MPI says of itself; one that cannot be asked is never given a pointer of a device.
bool takes_cuda_memory() {
#ifdef MPIX_CUDA_AWARE_SUPPORT
  return MPIX_Query_cuda_support() == 1;
#else
  return false;
#endif
}

MPI_Comm own_comm(World& world) {
  MPI_Comm comm = MPI_COMM_NULL;
  world.call([&] { return MPI_Comm_dup(MPI_COMM_WORLD, &comm); });
  return comm;
}

std::vector<int> all_of(const World& world) {
  std::vector<int> ranks(static_cast<std::size_t>(world.size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

// What a rank sends to each other one in a short exchange: a table of these, then the bytes.
struct ShortBlock {
  i64 offset = 0, bytes = 0;  // offset 0: it did not fit, and comes by a message
};

}  // namespace

MpiTransport::MpiTransport(World& world) : MpiTransport(world, own_comm(world), all_of(world)) {}

MpiTransport::MpiTransport(World& world, MPI_Comm comm, std::vector<int> members)
    : world_(world), comm_(comm), members_(std::move(members)) {
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  for (int q = 0; q < size(); ++q)
    if (q != rank_) others_.push_back(q);
}

MpiTransport::~MpiTransport() {
  int over = 0;
  MPI_Finalized(&over);
  if (over == 0 && lost_.empty()) world_.attempt([&] { return MPI_Comm_free(&comm_); });
}

void MpiTransport::give_up(const std::string& why) {
  if (lost_.empty()) lost_ = why;
  world_.lose(lost_);
}

void MpiTransport::exchange(const tessera::Stream* stream, std::span<const Block> sends,
                            std::span<const Block> receives) {
  try {
    if (stream) stream->sync();  // MPI does not know what is enqueued
  } catch (const Error& e) {     // the others wait for what this device does not have
    give_up(e.what());
    throw;
  }
  guarded([&] {
    exchange_blocks({world_, comm_, members_, rank_, operation_}, stream, sends, receives);
  });
}

void MpiTransport::exchange_short(std::span<const Block> sends, std::span<const Block> receives,
                                  std::span<i64> lengths) {
  SharedMailbox* mailbox = this->mailbox();
  if (!mailbox) return sparse_exchange(sends, receives, lengths);
  std::vector<Block> large, expected;
  const auto write = [&](std::byte* message) {
    auto* table = reinterpret_cast<ShortBlock*>(message);
    std::fill_n(table, size(), ShortBlock{});  // to most ranks there may be nothing to send
    i64 used = size() * static_cast<i64>(sizeof(ShortBlock));
    for (const Block& b : sends) {
      const bool fits = used + b.bytes() <= SharedMailbox::room;
      table[b.rank] = {fits ? used : 0, b.bytes()};
      if (!fits) {
        large.push_back(b);
        continue;
      }
      std::memcpy(message + used, b.first, static_cast<std::size_t>(b.bytes()));
      used += b.bytes();
    }
  };
  const auto read = [&] {
    for (std::size_t k = 0; k < receives.size(); ++k) {
      const Block& b = receives[k];
      const std::byte* message = mailbox->of(b.rank);
      const ShortBlock sent = reinterpret_cast<const ShortBlock*>(message)[rank_];
      require<CommError>(sent.bytes <= b.bytes(), operation_, ": rank ", b.rank, " sends ",
                         sent.bytes, " bytes where at most ", b.bytes(), " were expected");
      lengths[k] = sent.bytes;
      if (sent.bytes == 0) continue;
      if (sent.offset == 0)
        expected.push_back(Block::dense(b.rank, b.first, sent.bytes));
      else
        std::memcpy(b.first, message + sent.offset, static_cast<std::size_t>(sent.bytes));
    }
  };
  round(*mailbox, write, read);
  if (large.empty() && expected.empty()) return;
  std::vector<i64> known(expected.size());
  exchange_messages(large, expected, known);
}

// One look at all of them costs MPI as much as one at each.
void MpiTransport::exchange_messages(std::span<const Block> sends, std::span<const Block> receives,
                                     std::span<i64> lengths) {
  guarded([&] {
    const std::size_t n = receives.size() + sends.size();
    std::vector<MPI_Request> requests(n, MPI_REQUEST_NULL);
    std::vector<MPI_Status> statuses(n);
    std::vector<int> partners;
    WaitPolicy wait(world_, members_, operation_);
    try {
      MPI_Request* next = requests.data();
      for (const Block& b : receives)
        world_.call([&] {
          return MPI_Irecv(b.first, static_cast<int>(b.bytes()), MPI_BYTE, b.rank, short_tag, comm_,
                           next++);
        });
      for (const Block& b : sends)
        world_.call([&] {
          return MPI_Isend(b.first, static_cast<int>(b.bytes()), MPI_BYTE, b.rank, short_tag, comm_,
                           next++);
        });
      for (int done = 0;;) {
        world_.call([&] {
          return MPI_Testall(static_cast<int>(n), requests.data(), &done, statuses.data());
        });
        if (done != 0) break;
        if (wait.long_wait() && partners.empty()) {
          for (const Block& b : receives) partners.push_back(b.rank);
          for (const Block& b : sends) partners.push_back(b.rank);
        }
        wait.pause(partners);
      }
    } catch (...) {  // what has not met its message must not write into the caller's memory
      for (std::size_t k = 0; k < n; ++k)
        if (requests[k] != MPI_REQUEST_NULL)
          world_.attempt([&] {
            if (k < receives.size()) MPI_Cancel(&requests[k]);
            return MPI_Request_free(&requests[k]);
          });
      throw;
    }
    for (std::size_t k = 0; k < receives.size(); ++k) {
      int count = 0;
      MPI_Get_count(&statuses[k], MPI_BYTE, &count);
      lengths[k] = count;
    }
  });
}

std::unique_ptr<DeviceLane> MpiTransport::lane(Device device) {
  if (auto lane = Transport::lane(device)) return lane;
  if (!all_agree(*this, device.kind == Kind::cuda && takes_cuda_memory())) return nullptr;
  auto lane = std::make_unique<DeviceLane>(DeviceLane{
      "mpi", [this](const tessera::Stream& stream, std::span<const Block> sends,
                    std::span<const Block> receives) { exchange(&stream, sends, receives); }});
  return lane_delivers(*lane, *this, device) ? std::move(lane) : nullptr;
}

std::unique_ptr<Transport> MpiTransport::split(int colour, int key) {
  const std::array<int, 2> mine = {colour, key};
  std::vector<std::array<int, 2>> all(members_.size());
  allgather(mine.data(), sizeof mine, all.data());
  std::vector<int> colours;
  std::vector<std::pair<int, int>> order;  // (key, rank) of my colour
  for (int q = 0; q < size(); ++q) {
    colours.push_back(all[static_cast<std::size_t>(q)][0]);
    if (colours.back() == colour) order.emplace_back(all[static_cast<std::size_t>(q)][1], q);
  }
  std::sort(order.begin(), order.end());
  std::sort(colours.begin(), colours.end());
  colours.erase(std::unique(colours.begin(), colours.end()), colours.end());
  const auto number = std::lower_bound(colours.begin(), colours.end(), colour) - colours.begin();
  const auto place = std::find(order.begin(), order.end(), std::pair{key, rank_}) - order.begin();
  std::vector<int> members;
  members.reserve(order.size());
  for (const auto& [k, q] : order) members.push_back(members_[static_cast<std::size_t>(q)]);
  MPI_Comm part = MPI_COMM_NULL;
  guarded([&] {
    const Watch watch(world_, members_, "split");
    world_.call([&] {
      return MPI_Comm_split(comm_, static_cast<int>(number), static_cast<int>(place), &part);
    });
  });
  return std::unique_ptr<Transport>(new MpiTransport(world_, part, std::move(members)));
}

}  // namespace tessera::mpi
