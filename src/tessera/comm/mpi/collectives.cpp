// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <numeric>

#include "tessera/comm/mpi/mpi_transport.hpp"

namespace tessera::mpi {
namespace {

// Up to this many bytes per rank everybody's share goes by way of others (log p messages); above,
// blocks go straight to where they belong.
constexpr i64 collective_bytes = 32 << 10;
constexpr i64 forwarded_bytes = 256;          // of an alltoall that is a sparse exchange
constexpr i64 most_of_a_call = i64{1} << 30;  // MPI counts in 32 bits

void copy_bytes(void* to, const void* from, i64 bytes) {
  if (bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

}  // namespace

SharedMailbox* MpiTransport::mailbox() {
  if (mailbox_) return mailbox_->get();
  // Every rank knows alike whether the window reaches all, but not whether each has room in it.
  SharedWindow* window = world_.window();
  if (size() == 1 || size() > SharedMailbox::most_ranks || !window || !window->reaches(members_))
    return mailbox_.emplace().get();
  const i64 mine = SharedMailbox::take_slot(*window, world_.rank(), size());
  std::vector<i64> all(members_.size());
  collective([&](MPI_Request* r) {
    return MPI_Iallgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, comm_,
                          r);
  });
  const bool everywhere = std::find(all.begin(), all.end(), -1) == all.end();
  if (everywhere)
    return mailbox_.emplace(std::make_unique<SharedMailbox>(*window, members_, all, rank_)).get();
  if (mine >= 0) window->give(mine);
  return mailbox_.emplace().get();
}

void MpiTransport::barrier() {
  if (SharedMailbox* b = mailbox())
    return round(
        *b, [](std::byte*) {}, [] {});
  collective([&](MPI_Request* r) { return MPI_Ibarrier(comm_, r); });
}

void MpiTransport::broadcast(void* data, i64 bytes, int root) {
  if (bytes == 0) return;
  SharedMailbox* b = mailbox();
  if (b && bytes > collective_bytes) return Transport::broadcast(data, bytes, root);
  if (b) {
    guarded([&] {
      WaitPolicy wait(world_, members_, operation_);
      b->begin(wait);
      if (rank_ == root) {
        copy_bytes(b->own(), data, bytes);
        b->post(others_);
      } else {
        b->await({&root, 1}, wait);
        copy_bytes(data, b->of(root), bytes);
      }
      b->end();
    });
    return;
  }
  for (i64 begin = 0; begin < bytes; begin += most_of_a_call)
    collective([&](MPI_Request* r) {
      const int n = static_cast<int>(std::min(most_of_a_call, bytes - begin));
      return MPI_Ibcast(static_cast<std::byte*>(data) + begin, n, MPI_BYTE, root, comm_, r);
    });
}

void MpiTransport::gather_by_doubling(const void* mine, std::span<const i64> bytes, void* all) {
  const int p = size();
  std::vector<i64> begin(bytes.size() + 1);
  std::partial_sum(bytes.begin(), bytes.end(), begin.begin() + 1);
  const auto share = [&](int q) { return bytes[static_cast<std::size_t>(q % p)]; };
  const auto place = [&](int q) {
    return static_cast<std::byte*>(all) + begin[static_cast<std::size_t>(q % p)];
  };
  if (mine != place(rank_)) copy_bytes(place(rank_), mine, share(rank_));
  std::vector<std::byte> out, in;
  for (int have = 1; have < p; have *= 2) {  // the shares of ranks rank_ ... rank_ + have - 1
    const int many = std::min(have, p - have), to = (rank_ + p - have) % p, from = rank_ + have;
    i64 sent = 0, got = 0;
    for (int k = 0; k < many; ++k) sent += share(rank_ + k), got += share(from + k);
    out.resize(static_cast<std::size_t>(sent));
    in.resize(static_cast<std::size_t>(got));
    std::byte* next = out.data();
    for (int k = 0; k < many; next += share(rank_ + k), ++k)
      copy_bytes(next, place(rank_ + k), share(rank_ + k));
    const Block send = Block::dense(to, out.data(), sent),
                receive = Block::dense(from % p, in.data(), got);
    exchange(nullptr, {&send, 1}, {&receive, 1});
    next = in.data();
    for (int k = 0; k < many; next += share(from + k), ++k)
      copy_bytes(place(from + k), next, share(from + k));
  }
}

void MpiTransport::allgather(const void* mine, i64 bytes, void* all) {
  if (bytes > collective_bytes) return Transport::allgather(mine, bytes, all);
  if (bytes == 0) return;
  const auto place = [&](int q) { return static_cast<std::byte*>(all) + q * bytes; };
  const bool in_place = mine == place(rank_);
  if (SharedMailbox* b = mailbox())
    return round(
        *b, [&](std::byte* message) { copy_bytes(message, mine, bytes); },
        [&] {
          for (int q = 0; q < size(); ++q)
            if (q != rank_ || !in_place) copy_bytes(place(q), b->of(q), bytes);
        });
  gather_by_doubling(mine, std::vector<i64>(members_.size(), bytes), all);
}

void MpiTransport::allgather(const void* mine, std::span<const i64> bytes, void* all) {
  const i64 most = *std::max_element(bytes.begin(), bytes.end());
  SharedMailbox* b = most <= SharedMailbox::room ? mailbox() : nullptr;
  if (!b && most <= std::min(collective_bytes, SharedMailbox::room))
    return gather_by_doubling(mine, bytes, all);
  if (!b) return Transport::allgather(mine, bytes, all);
  round(
      *b,
      [&](std::byte* message) {
        copy_bytes(message, mine, bytes[static_cast<std::size_t>(rank_)]);
      },
      [&] {
        auto* place = static_cast<std::byte*>(all);
        for (int q = 0; q < size(); ++q) {
          const i64 share = bytes[static_cast<std::size_t>(q)];
          if (q != rank_ || mine != place) copy_bytes(place, b->of(q), share);
          place += share;
        }
      });
}

void MpiTransport::alltoall(const void* sends, i64 bytes_each, void* receives) {
  if (bytes_each > collective_bytes) return Transport::alltoall(sends, bytes_each, receives);
  if (bytes_each == 0) return;
  SharedMailbox* b = size() * bytes_each <= SharedMailbox::room ? mailbox() : nullptr;
  if (b)
    return round(
        *b, [&](std::byte* message) { copy_bytes(message, sends, size() * bytes_each); },
        [&] {
          auto* to = static_cast<std::byte*>(receives);
          for (int q = 0; q < size(); ++q)
            copy_bytes(to + q * bytes_each, b->of(q) + rank_ * bytes_each, bytes_each);
        });
  if (bytes_each <= forwarded_bytes) {
    std::vector<Block> out, in;
    for (const int q : others_) {
      out.push_back(
          Block::dense(q, static_cast<const std::byte*>(sends) + q * bytes_each, bytes_each));
      in.push_back(Block::dense(q, static_cast<std::byte*>(receives) + q * bytes_each, bytes_each));
    }
    std::vector<i64> lengths(in.size());
    copy_bytes(static_cast<std::byte*>(receives) + rank_ * bytes_each,
               static_cast<const std::byte*>(sends) + rank_ * bytes_each, bytes_each);
    return sparse_exchange(out, in, lengths);
  }
  collective([&](MPI_Request* r) {
    const int n = static_cast<int>(bytes_each);
    return MPI_Ialltoall(sends, n, MPI_BYTE, receives, n, MPI_BYTE, comm_, r);
  });
}

}  // namespace tessera::mpi
