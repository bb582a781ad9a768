// SPDX-License-Identifier: Apache-2.0
#include "tessera/comm/mpi/single_copy.hpp"

#include <algorithm>
#include <cerrno>

namespace tessera::mpi {
namespace {

// Below this a run of the sender costs the kernel more than packing it costs us: about 0.7 us a
// run.
constexpr i64 shortest_remote_run = 8 << 10;
constexpr i64 shortest_local_run = 512;
constexpr i64 step_bytes = 8 << 20, room_bytes = 256 << 10;
constexpr std::size_t most_runs = 512;  // the kernel takes 1024

Offer offer_of(const BlockWalk& walk, i64 process) {
  Offer offer;
  offer.bytes = walk.left();
  offer.process = process;
  offer.start = walk.start();
  offer.run = walk.run();
  offer.strided = !walk.contiguous();
  for (const BlockWalk::Axis& axis : walk.axes()) offer.axes[offer.ndim++] = axis;
  return offer;
}

}  // namespace

Offer Offer::of(const Block& block, i64 process) {
  const BlockWalk walk(block);
  if (walk.contiguous() || walk.run() >= shortest_remote_run) return offer_of(walk, process);
  Offer offer;
  offer.bytes = walk.left();
  return offer;
}

std::optional<Offer> Offer::shared(const Block& block, i64 process) {
  const BlockWalk walk(block);
  const Extent extent = extent_of(walk.run(), walk.axes());
  const auto pages = SharedPages::own().find(walk.start() + extent.low, extent.high - extent.low);
  if (!pages) return std::nullopt;
  Offer offer = offer_of(walk, process);
  offer.pages = {pages->file, pages->offset - extent.low};
  return offer;
}

Offer Offer::through(const SlotPlace& place, const Block& block, i64 process) {
  Offer offer;
  offer.bytes = block.bytes();
  offer.process = process;
  offer.place = place;
  offer.strided = true;
  return offer;
}

i64 Offer::wire_bytes() const {
  return static_cast<i64>(sizeof(Offer)) -
         (max_rank - ndim) * static_cast<i64>(sizeof(BlockWalk::Axis));
}

RemoteRead::RemoteRead(const Offer& offer, const Block& to)
    : process_(static_cast<pid_t>(offer.process)),
      left_(offer.bytes),
      remote_{BlockWalk(offer.start, offer.run, {offer.axes, static_cast<std::size_t>(offer.ndim)}),
              {},
              {}},
      local_{BlockWalk(to), {}, {}},
      target_(to) {
  if (target_.contiguous() || target_.run() >= shortest_local_run) return;
  room_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(room_bytes));
}

void RemoteRead::Side::refill() {
  if (rest.empty()) rest = walk.next(walk.left());
}

void RemoteRead::Side::take(i64 bytes) {
  const auto n = static_cast<std::size_t>(bytes);
  if (!runs.empty() &&
      static_cast<std::byte*>(runs.back().iov_base) + runs.back().iov_len == rest.data())
    runs.back().iov_len += n;
  else
    runs.push_back({rest.data(), n});
  rest = rest.subspan(n);
}

// Hands one list of runs of either side to the kernel. A read that ends early (the kernel stops at
// the end of a run) goes on where it stopped.
int RemoteRead::read(i64 bytes) {
  iovec* local = local_.runs.data();
  iovec* remote = remote_.runs.data();
  std::size_t locals = local_.runs.size(), remotes = remote_.runs.size();
  const auto skip = [](iovec*& runs, std::size_t& count, std::size_t n) {
    for (; count > 0 && n >= runs->iov_len; ++runs, --count) n -= runs->iov_len;
    if (count == 0) return;
    runs->iov_base = static_cast<std::byte*>(runs->iov_base) + n;
    runs->iov_len -= n;
  };
  while (bytes > 0) {
    const ssize_t n = process_vm_readv(process_, local, locals, remote, remotes, 0);
    if (n <= 0) return n == 0 ? EFAULT : errno;
    bytes -= n;
    skip(local, locals, static_cast<std::size_t>(n));
    skip(remote, remotes, static_cast<std::size_t>(n));
  }
  return 0;
}

int RemoteRead::step() {
  i64 bytes = 0;
  const i64 most = std::min(left_, room_ ? room_bytes : step_bytes);
  remote_.runs.clear();
  local_.runs.clear();
  if (room_) local_.rest = {room_.get(), static_cast<std::size_t>(most)};
  while (bytes < most && remote_.runs.size() < most_runs && local_.runs.size() < most_runs) {
    remote_.refill();
    if (!room_) local_.refill();
    const i64 n = std::min({most - bytes, static_cast<i64>(remote_.rest.size()),
                            static_cast<i64>(local_.rest.size())});
    remote_.take(n);
    local_.take(n);
    bytes += n;
  }
  if (const int error = read(bytes)) return error;
  if (room_) target_.unpack(room_.get(), bytes);
  left_ -= bytes;
  return 0;
}

}  // namespace tessera::mpi
