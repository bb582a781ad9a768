// SPDX-License-Identifier: Apache-2.0
// Short blocks between ranks that share no memory and do not know who has something to say to whom.
//
// Note [letters by way of others]: in step k a rank hands everything that still has bit k in the
// distance to its addressee on to the rank 2^k further, in one parcel, and gets one from the rank
// 2^k before. After log2 p steps every letter is where it belongs, having travelled at most that
// often, and each rank has sent log2 p messages, however many letters there were. Longer blocks
// are announced so, and go straight to their ranks afterwards.
#include <cstring>

#include "tessera/comm/mpi/mpi_transport.hpp"

namespace tessera::mpi {
namespace {

constexpr int parcel_tag = 4;              // mpi_transport.cpp and transfer.cpp have the others
constexpr i64 most_of_a_letter = 8 << 10;  // bytes that others are asked to carry

using Parcel = std::vector<std::byte>;

// What a letter begins with; its bytes follow where it is carried.
struct Address {
  int to = 0, from = 0;
  i64 bytes = 0;
  i64 carried() const { return bytes <= most_of_a_letter ? bytes : 0; }
};

void append(Parcel& parcel, const Address& address, const std::byte* text) {
  const std::size_t end = parcel.size(), head = sizeof address;
  const auto text_bytes = static_cast<std::size_t>(address.carried());
  parcel.resize(end + head + text_bytes);
  std::memcpy(parcel.data() + end, &address, head);
  if (text_bytes > 0) std::memcpy(parcel.data() + end + head, text, text_bytes);
}

// f(address, text) for each letter of a parcel.
template <class F>
void each_letter(const Parcel& parcel, F&& f) {
  for (std::size_t at = 0; at < parcel.size();) {
    Address address;
    require<CommError>(parcel.size() - at >= sizeof address,
                       "what another rank carried is damaged: it cannot be read");
    std::memcpy(&address, parcel.data() + at, sizeof address);
    at += sizeof address;
    require<CommError>(
        address.bytes >= 0 && static_cast<std::size_t>(address.carried()) <= parcel.size() - at,
        "what another rank carried is damaged: it cannot be read");
    f(address, parcel.data() + at);
    at += static_cast<std::size_t>(address.carried());
  }
}

}  // namespace

std::vector<std::byte> MpiTransport::swap_parcels(std::vector<std::byte> parcel, int to, int from) {
  struct Swap {
    Parcel out, in;
  };
  auto swap = std::make_unique<Swap>(Swap{std::move(parcel), {}});
  guarded([&] {
    MPI_Request sending = MPI_REQUEST_NULL, receiving = MPI_REQUEST_NULL;
    const int partners[] = {to, from};
    Patience patience(world_, members_, operation_);
    // Found and asked for in one hold of the lock: nothing comes between.
    const auto look = [&](int& there) {
      MPI_Status status;
      const int code = MPI_Iprobe(from, parcel_tag, comm_, &there, &status);
      if (code != MPI_SUCCESS || there == 0) return code;
      int bytes = 0;
      MPI_Get_count(&status, MPI_BYTE, &bytes);
      swap->in.resize(static_cast<std::size_t>(bytes));
      return MPI_Irecv(swap->in.data(), bytes, MPI_BYTE, from, parcel_tag, comm_, &receiving);
    };
    try {
      world_.call([&] {
        return MPI_Isend(swap->out.data(), static_cast<int>(swap->out.size()), MPI_BYTE, to,
                         parcel_tag, comm_, &sending);
      });
      for (int there = 0; there == 0;) {
        world_.call([&] { return look(there); });
        if (there == 0) patience.pause(partners);
      }
      while (!world_.test(receiving)) patience.pause(partners);
      while (!world_.test(sending)) patience.pause(partners);
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

void MpiTransport::exchange_letters(std::span<const Block> sends, std::span<const Block> receives,
                                    std::span<i64> lengths) {
  const int p = size();
  Parcel held, mine;  // on their way, and arrived
  for (const Block& b : sends) append(held, {b.rank, rank_, b.bytes()}, b.first);
  for (int step = 1; step < p; step *= 2) {
    Parcel out, stay;
    each_letter(held, [&](const Address& a, const std::byte* text) {
      append(((a.to - rank_ + p) % p & step) != 0 ? out : stay, a, text);
    });
    const Parcel in = swap_parcels(std::move(out), (rank_ + step) % p, (rank_ + p - step) % p);
    each_letter(in, [&](const Address& a, const std::byte* text) {
      append(a.to == rank_ ? mine : stay, a, text);
    });
    held = std::move(stay);
  }
  std::vector<const Block*> room(static_cast<std::size_t>(p));
  std::vector<i64> came(static_cast<std::size_t>(p));
  for (const Block& b : receives) room[static_cast<std::size_t>(b.rank)] = &b;
  std::vector<Block> large, expected;
  each_letter(mine, [&](const Address& a, const std::byte* text) {
    const Block* to = a.from >= 0 && a.from < p ? room[static_cast<std::size_t>(a.from)] : nullptr;
    const i64 most = to ? to->bytes() : 0;
    require<CommError>(a.bytes <= most, operation_, ": rank ", a.from, " sends ", a.bytes,
                       " bytes where at most ", most, " were expected");
    came[static_cast<std::size_t>(a.from)] = a.bytes;
    if (a.carried() == a.bytes)
      std::memcpy(to->first, text, static_cast<std::size_t>(a.bytes));
    else
      expected.push_back(Block::dense(a.from, to->first, a.bytes));
  });
  for (std::size_t k = 0; k < receives.size(); ++k)
    lengths[k] = came[static_cast<std::size_t>(receives[k].rank)];
  for (const Block& b : sends)
    if (b.bytes() > most_of_a_letter) large.push_back(b);
  if (large.empty() && expected.empty()) return;
  std::vector<i64> known(expected.size());
  exchange_messages(large, expected, known);
}

}  // namespace tessera::mpi
