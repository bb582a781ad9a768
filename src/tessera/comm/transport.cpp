// SPDX-License-Identifier: Apache-2.0
#include "tessera/comm/transport.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "tessera/base/error.hpp"
#include "tessera/comm/combine.hpp"

namespace tessera {
namespace {

using Bytes = std::vector<std::byte>;

// Reductions up to this many bytes go straight to every rank; larger ones meet on owners of slices,
// which moves each number twice instead of p - 1 times.
constexpr i64 direct_bytes = 8 << 10;
// Bytes of one round of a large reduction: bounds the memory beside the data.
constexpr i64 round_bytes = 4 << 20;

std::byte* at(void* data, i64 bytes) { return static_cast<std::byte*>(data) + bytes; }
const std::byte* at(const void* data, i64 bytes) {
  return static_cast<const std::byte*>(data) + bytes;
}

// Slice q of `count` numbers, by the chunk rule.
struct Slice {
  i64 begin, count;
};
Slice slice_of(i64 count, int ranks, int q) {
  const i64 each = count / ranks, more = count % ranks;
  return {each * q + std::min<i64>(q, more), each + (q < more)};
}

// One round of a reduction over owners: every rank's slice q meets on rank q, which calls
// `work(all, n)` on the p contributions (one after the other, n numbers each) and returns to rank r
// what then stands at place r.
template <class Work>
void over_owners(Transport& t, std::byte* data, i64 count, i64 item, Bytes& room, Work&& work) {
  const int p = t.size(), me = t.rank();
  const Slice mine = slice_of(count, p, me);
  const i64 share = mine.count * item;
  room.resize(static_cast<std::size_t>(p * share));
  std::vector<Block> slices, places;
  for (int q = 0; q < p; ++q) {
    const Slice s = slice_of(count, p, q);
    slices.push_back(Block::dense(q, data + s.begin * item, s.count * item));
    places.push_back(Block::dense(q, room.data() + q * share, share));
  }
  t.exchange(slices, places);
  work(room.data(), mine.count);
  t.exchange(places, slices);
}

// All contributions become the total, combined in the order of the ranks.
void total_everywhere(std::byte* all, i64 n, int p, DType dtype, Combine op) {
  const i64 share = n * size_of(dtype);
  for (int r = 1; r < p; ++r) combine(all, all + r * share, n, dtype, op);
  for (int r = 1; r < p; ++r) std::memcpy(all + r * share, all, static_cast<std::size_t>(share));
}

// Contribution r becomes the combination of those before it.
void shifted_scan(std::byte* all, i64 n, int p, DType dtype, Combine op) {
  const i64 share = n * size_of(dtype);
  for (int r = 1; r < p; ++r) {  // inclusive: place r = place r - 1 op place r
    Bytes before(all + (r - 1) * share, all + r * share);
    combine(before.data(), all + r * share, n, dtype, op);
    std::memcpy(all + r * share, before.data(), before.size());
  }
  std::memmove(all + share, all, static_cast<std::size_t>((p - 1) * share));
  std::memset(all, 0, static_cast<std::size_t>(share));
}

template <class Work>
void in_rounds(Transport& t, void* data, i64 count, DType dtype, Work&& work) {
  const i64 item = size_of(dtype), round = round_bytes / item;
  Bytes room;
  for (i64 begin = 0; begin < count; begin += round)
    over_owners(t, at(data, begin * item), std::min(round, count - begin), item, room, work);
}

}  // namespace

void Transport::exchange_short(std::span<const Block> sends, std::span<const Block> receives,
                               std::span<i64> lengths) {
  const auto p = static_cast<std::size_t>(size());
  std::vector<i64> told(p), heard(p);
  std::vector<Block> come;
  for (const Block& b : sends) told[static_cast<std::size_t>(b.rank)] = b.bytes();
  alltoall(told.data(), sizeof(i64), heard.data());
  for (std::size_t k = 0; k < receives.size(); ++k) {
    lengths[k] = heard[static_cast<std::size_t>(receives[k].rank)];
    require<CommError>(lengths[k] <= receives[k].bytes(), operation_, ": rank ", receives[k].rank,
                       " sends ", lengths[k], " bytes where at most ", receives[k].bytes(),
                       " were expected");
    come.push_back(Block::dense(receives[k].rank, receives[k].first, lengths[k]));
  }
  exchange(sends, come);
}

void Transport::barrier() {  // after k rounds a rank has heard, directly or not, of 2^k others
  const int p = size();
  const char out = 1;
  char in = 0;
  for (int distance = 1; distance < p; distance *= 2) {
    const Block send = Block::dense((rank() + distance) % p, &out, 1);
    const Block receive = Block::dense((rank() + p - distance) % p, &in, 1);
    exchange({&send, 1}, {&receive, 1});
  }
}

void Transport::broadcast(void* data, i64 bytes, int root) {
  if (rank() != root) {
    const Block receive = Block::dense(root, data, bytes);
    return exchange({}, {&receive, 1});
  }
  std::vector<Block> sends;
  for (int q = 0; q < size(); ++q)
    if (q != root) sends.push_back(Block::dense(q, data, bytes));
  exchange(sends, {});
}

void Transport::allgather(const void* mine, i64 bytes, void* all) {
  const std::vector<i64> shares(static_cast<std::size_t>(size()), bytes);
  allgather(mine, shares, all);
}

void Transport::allgather(const void* mine, std::span<const i64> bytes, void* all) {
  std::vector<Block> sends, receives;
  i64 begin = 0;
  for (int q = 0; q < size(); ++q) {
    const i64 share = bytes[static_cast<std::size_t>(q)];
    std::byte* place = at(all, begin);
    begin += share;
    if (q == rank() && mine == place) continue;  // in place
    sends.push_back(Block::dense(q, mine, bytes[static_cast<std::size_t>(rank())]));
    receives.push_back(Block::dense(q, place, share));
  }
  exchange(sends, receives);
}

void Transport::alltoall(const void* sends, i64 bytes_each, void* receives) {
  std::vector<Block> out, in;
  for (int q = 0; q < size(); ++q) {
    out.push_back(Block::dense(q, at(sends, q * bytes_each), bytes_each));
    in.push_back(Block::dense(q, at(receives, q * bytes_each), bytes_each));
  }
  exchange(out, in);
}

void Transport::allreduce(void* data, i64 count, DType dtype, Combine op) {
  const int p = size();
  const i64 bytes = count * size_of(dtype);
  if (p == 1 || bytes == 0) return;
  if (bytes > direct_bytes)
    return in_rounds(*this, data, count, dtype,
                     [&](std::byte* all, i64 n) { total_everywhere(all, n, p, dtype, op); });
  Bytes all(static_cast<std::size_t>(p * bytes));
  allgather(data, bytes, all.data());
  for (int r = 1; r < p; ++r) combine(all.data(), all.data() + r * bytes, count, dtype, op);
  std::memcpy(data, all.data(), static_cast<std::size_t>(bytes));
}

void Transport::exclusive_scan(void* data, i64 count, DType dtype, Combine op) {
  const int p = size();
  const i64 bytes = count * size_of(dtype);
  if (bytes == 0) return;
  if (bytes > direct_bytes)
    return in_rounds(*this, data, count, dtype,
                     [&](std::byte* all, i64 n) { shifted_scan(all, n, p, dtype, op); });
  Bytes before(static_cast<std::size_t>(rank() * bytes));
  std::vector<Block> sends, receives;
  for (int q = rank() + 1; q < p; ++q) sends.push_back(Block::dense(q, data, bytes));
  for (int q = 0; q < rank(); ++q)
    receives.push_back(Block::dense(q, before.data() + q * bytes, bytes));
  exchange(sends, receives);
  for (int r = 1; r < rank(); ++r)
    combine(before.data(), at(before.data(), r * bytes), count, dtype, op);
  if (rank() == 0)
    std::memset(data, 0, static_cast<std::size_t>(bytes));
  else
    std::memcpy(data, before.data(), static_cast<std::size_t>(bytes));
}

}  // namespace tessera
