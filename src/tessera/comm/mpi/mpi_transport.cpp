// SPDX-License-Identifier: Apache-2.0
#include "tessera/comm/mpi/mpi_transport.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <numeric>

#include "tessera/comm/mpi/patience.hpp"
#include "tessera/comm/mpi/transfer.hpp"
#include "tessera/comm/mpi/watch.hpp"
#include "tessera/comm/self.hpp"

#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

namespace tessera::mpi {
namespace {

// Up to this many bytes per rank a collective is MPI's own (log p steps); above, blocks go straight
// to where they belong.
constexpr i64 collective_bytes = 32 << 10;
// Memory of all packed pieces that one exchange may have under way.
constexpr i64 pieces_bytes = 64 << 20;
constexpr int short_tag = 3;  // transfer.cpp has the others

// What MPI says of itself; one that cannot be asked is never given a pointer of a device.
bool takes_cuda_memory() {
#ifdef MPIX_CUDA_AWARE_SUPPORT
  return MPIX_Query_cuda_support() == 1;
#else
  return false;
#endif
}

}  // namespace

MpiTransport::MpiTransport(World& world)
    : world_(world), members_(static_cast<std::size_t>(world.size())) {
  std::iota(members_.begin(), members_.end(), 0);
  rank_ = world.rank();
  world_.call([&] { return MPI_Comm_dup(MPI_COMM_WORLD, &comm_); });
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
}

MpiTransport::MpiTransport(World& world, MPI_Comm comm, std::vector<int> members)
    : world_(world), comm_(comm), members_(std::move(members)) {
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
}

MpiTransport::~MpiTransport() {
  int over = 0;
  MPI_Finalized(&over);
  if (over == 0 && lost_.empty()) world_.attempt([&] { return MPI_Comm_free(&comm_); });
}

i64 MpiTransport::piece() const {
  return std::clamp<i64>(pieces_bytes / (4 * size()), 256 << 10, 2 << 20);
}

void MpiTransport::give_up(const std::string& why) {
  if (lost_.empty()) lost_ = why;
  world_.lose(lost_);
}

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
    Patience patience(world_, members_, operation_);
    std::vector<int> others;
    while (!world_.test(request)) {
      if (patience.long_wait() && others.empty())
        for (int q = 0; q < size(); ++q)
          if (q != rank_) others.push_back(q);
      patience.pause(others);
    }
  });
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
    std::deque<Receiving> in;
    std::deque<Sending> out;
    const auto abandon = [&] {
      for (Receiving& r : in) r.abandon();
      for (Sending& s : out) s.abandon();
    };
    const auto link = [&](const Block& b) {
      const bool readable = world_.peer(members_[static_cast<std::size_t>(b.rank)]).readable;
      return Link{world_, comm_, b.rank, readable && !stream, piece()};
    };
    try {
      for (const Block& b : receives)
        if (b.rank != rank_ && b.bytes() > 0) in.emplace_back(link(b), b, operation_);
      for (const Block& b : sends)
        if (b.rank != rank_ && b.bytes() > 0) out.emplace_back(link(b), b);
      stream ? copy_own_block(rank_, *stream, sends, receives)
             : copy_own_block(rank_, sends, receives);
      Patience patience(world_, members_, operation_);
      std::vector<int> open;
      for (;;) {
        bool moved = false, all = true;
        open.clear();
        const auto look = [&](auto& transfer) {
          if (!transfer.done()) moved |= transfer.advance();
          if (transfer.done()) return;
          all = false;
          if (patience.long_wait()) open.push_back(transfer.rank());
        };
        for (Receiving& r : in) look(r);
        for (Sending& s : out) look(s);
        if (all) return;
        moved ? patience.progress() : patience.pause(open);
      }
    } catch (...) {
      abandon();
      throw;
    }
  });
}

// One look at all of them costs MPI as much as one at each.
void MpiTransport::exchange_short(std::span<const Block> sends, std::span<const Block> receives,
                                  std::span<i64> lengths) {
  guarded([&] {
    const std::size_t n = receives.size() + sends.size();
    std::vector<MPI_Request> requests(n, MPI_REQUEST_NULL);
    std::vector<MPI_Status> statuses(n);
    std::vector<int> others;
    Patience patience(world_, members_, operation_);
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
        if (patience.long_wait() && others.empty()) {
          for (const Block& b : receives) others.push_back(b.rank);
          for (const Block& b : sends) others.push_back(b.rank);
        }
        patience.pause(others);
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

void MpiTransport::barrier() {
  collective([&](MPI_Request* r) { return MPI_Ibarrier(comm_, r); });
}

void MpiTransport::broadcast(void* data, i64 bytes, int root) {
  if (bytes > collective_bytes) return Transport::broadcast(data, bytes, root);
  if (bytes == 0) return;
  collective([&](MPI_Request* r) {
    return MPI_Ibcast(data, static_cast<int>(bytes), MPI_BYTE, root, comm_, r);
  });
}

void MpiTransport::allgather(const void* mine, i64 bytes, void* all) {
  if (bytes > collective_bytes) return Transport::allgather(mine, bytes, all);
  if (bytes == 0) return;
  const bool in_place = mine == static_cast<std::byte*>(all) + rank_ * bytes;
  collective([&](MPI_Request* r) {
    const int n = static_cast<int>(bytes);
    return MPI_Iallgather(in_place ? MPI_IN_PLACE : mine, n, MPI_BYTE, all, n, MPI_BYTE, comm_, r);
  });
}

void MpiTransport::allgather(const void* mine, std::span<const i64> bytes, void* all) {
  Transport::allgather(mine, bytes, all);
}

void MpiTransport::alltoall(const void* sends, i64 bytes_each, void* receives) {
  if (bytes_each > collective_bytes) return Transport::alltoall(sends, bytes_each, receives);
  if (bytes_each == 0) return;
  collective([&](MPI_Request* r) {
    const int n = static_cast<int>(bytes_each);
    return MPI_Ialltoall(sends, n, MPI_BYTE, receives, n, MPI_BYTE, comm_, r);
  });
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
