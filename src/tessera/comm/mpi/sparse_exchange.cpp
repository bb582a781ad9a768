// SPDX-License-Identifier: Apache-2.0
// Short blocks between ranks that share no memory and do not know who sends to whom.
//
// Note [sparse exchange]: the Bruck algorithm. In step k a rank forwards every block that still has
// bit k in the distance to its destination to the rank 2^k further, all of them in one message, and
// gets one from the rank 2^k before. After log2 p steps every block is where it belongs, having
// travelled at most that often, and each rank has sent log2 p messages, however many blocks there
// were. Longer blocks are announced so, and go straight to their ranks afterwards.
#include <cstring>

#include "tessera/comm/mpi/mpi_transport.hpp"

namespace tessera::mpi {
namespace {

constexpr int batch_tag = 4;             // mpi_transport.cpp and transfer.cpp have the others
constexpr i64 most_forwarded = 8 << 10;  // bytes that others are asked to forward

using Batch = std::vector<std::byte>;

// What a block begins with; its bytes follow where they are forwarded.
struct Header {
  int to = 0, from = 0;
  i64 bytes = 0;
  i64 forwarded() const { return bytes <= most_forwarded ? bytes : 0; }
};

void append(Batch& batch, const Header& header, const std::byte* data) {
  const std::size_t end = batch.size(), head = sizeof header;
  const auto data_bytes = static_cast<std::size_t>(header.forwarded());
  batch.resize(end + head + data_bytes);
  std::memcpy(batch.data() + end, &header, head);
  if (data_bytes > 0) std::memcpy(batch.data() + end + head, data, data_bytes);
}

// f(header, data) for each block of a batch.
template <class F>
void each_block(const Batch& batch, F&& f) {
  for (std::size_t at = 0; at < batch.size();) {
    Header header;
    require<CommError>(batch.size() - at >= sizeof header,
                       "what another rank forwarded is damaged: it cannot be read");
    std::memcpy(&header, batch.data() + at, sizeof header);
    at += sizeof header;
    require<CommError>(
        header.bytes >= 0 && static_cast<std::size_t>(header.forwarded()) <= batch.size() - at,
        "what another rank forwarded is damaged: it cannot be read");
    f(header, batch.data() + at);
    at += static_cast<std::size_t>(header.forwarded());
  }
}

}  // namespace

std::vector<std::byte> MpiTransport::swap_batches(std::vector<std::byte> batch, int to, int from) {
  struct Swap {
    Batch out, in;
  };
  auto swap = std::make_unique<Swap>(Swap{std::move(batch), {}});
  guarded([&] {
    MPI_Request sending = MPI_REQUEST_NULL, receiving = MPI_REQUEST_NULL;
    const int partners[] = {to, from};
    WaitPolicy wait(world_, members_, operation_);
    // Found and asked for in one hold of the lock: nothing comes between.
    const auto look = [&](int& there) {
      MPI_Status status;
      const int code = MPI_Iprobe(from, batch_tag, comm_, &there, &status);
      if (code != MPI_SUCCESS || there == 0) return code;
      int bytes = 0;
      MPI_Get_count(&status, MPI_BYTE, &bytes);
      swap->in.resize(static_cast<std::size_t>(bytes));
      return MPI_Irecv(swap->in.data(), bytes, MPI_BYTE, from, batch_tag, comm_, &receiving);
    };
    try {
      world_.call([&] {
        return MPI_Isend(swap->out.data(), static_cast<int>(swap->out.size()), MPI_BYTE, to,
                         batch_tag, comm_, &sending);
      });
      for (int there = 0; there == 0;) {
        world_.call([&] { return look(there); });
        if (there == 0) wait.pause(partners);
      }
      while (!world_.test(receiving)) wait.pause(partners);
      while (!world_.test(sending)) wait.pause(partners);
    } catch (...) {  // MPI may still read and write what nobody has fetched: it is left to MPI
      for (MPI_Request* open : {&sending, &receiving})
        if (*open != MPI_REQUEST_NULL) {
          swap.release();
          world_.attempt([&] { return MPI_Request_free(open); });
        }
      throw;
    }
  });
  return std::move(swap->in);
}

void MpiTransport::sparse_exchange(std::span<const Block> sends, std::span<const Block> receives,
                                   std::span<i64> lengths) {
  const int p = size();
  Batch held, mine;  // on their way, and arrived
  for (const Block& b : sends) append(held, {b.rank, rank_, b.bytes()}, b.first);
  for (int step = 1; step < p; step *= 2) {
    Batch out, stay;
    each_block(held, [&](const Header& a, const std::byte* data) {
      append(((a.to - rank_ + p) % p & step) != 0 ? out : stay, a, data);
    });
    const Batch in = swap_batches(std::move(out), (rank_ + step) % p, (rank_ + p - step) % p);
    each_block(in, [&](const Header& a, const std::byte* data) {
      append(a.to == rank_ ? mine : stay, a, data);
    });
    held = std::move(stay);
  }
  std::vector<const Block*> room(static_cast<std::size_t>(p));
  std::vector<i64> came(static_cast<std::size_t>(p));
  for (const Block& b : receives) room[static_cast<std::size_t>(b.rank)] = &b;
  std::vector<Block> large, expected;
  each_block(mine, [&](const Header& a, const std::byte* data) {
    const Block* to = a.from >= 0 && a.from < p ? room[static_cast<std::size_t>(a.from)] : nullptr;
    const i64 most = to ? to->bytes() : 0;
    require<CommError>(a.bytes <= most, operation_, ": rank ", a.from, " sends ", a.bytes,
                       " bytes where at most ", most, " were expected");
    came[static_cast<std::size_t>(a.from)] = a.bytes;
    if (a.forwarded() == a.bytes)
      std::memcpy(to->first, data, static_cast<std::size_t>(a.bytes));
    else
      expected.push_back(Block::dense(a.from, to->first, a.bytes));
  });
  for (std::size_t k = 0; k < receives.size(); ++k)
    lengths[k] = came[static_cast<std::size_t>(receives[k].rank)];
  for (const Block& b : sends)
    if (b.bytes() > most_forwarded) large.push_back(b);
  if (large.empty() && expected.empty()) return;
  std::vector<i64> known(expected.size());
  exchange_messages(large, expected, known);
}

}  // namespace tessera::mpi
