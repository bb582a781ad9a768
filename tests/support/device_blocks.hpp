// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bytes of device memory that ranks exchange, for tests of lanes: filled, poisoned and looked at in
// the order of a device's home stream.
//   BytesOnDevice b(device, {1, 2, 3});   b.host() == std::vector<unsigned char>{1, 2, 3}

#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "tessera/base/trace.hpp"
#include "tessera/comm/communicator.hpp"
#include "tessera/comm/device_lane.hpp"
#include "tessera/device/storage.hpp"

namespace tessera {

class BytesOnDevice {
 public:
  using Bytes = std::vector<unsigned char>;
  BytesOnDevice(Device device, const Bytes& bytes)
      : stream_(Stream::home(device)),
        storage_(Storage::allocate(device, static_cast<i64>(bytes.size()))) {
    stream_.copy(storage_.data(), device, bytes.data(), cpu, storage_.bytes());
    stream_.sync();
  }
  BytesOnDevice(Device device, std::size_t size) : BytesOnDevice(device, Bytes(size, 0xEE)) {}
  Block block(int rank) const { return Block::dense(rank, storage_.data(), storage_.bytes()); }
  void fill(int byte) const { stream_.fill(storage_.data(), byte, storage_.bytes()); }
  Bytes host() const {
    Bytes bytes(static_cast<std::size_t>(storage_.bytes()));
    stream_.copy(bytes.data(), cpu, storage_.data(), stream_.device(), storage_.bytes());
    stream_.sync();
    return bytes;
  }

 private:
  Stream stream_;
  Storage storage_;
};

// What rank r sends to rank q: of a length and with bytes of their own. Some pairs have nothing.
inline BytesOnDevice::Bytes message(int r, int q) {
  BytesOnDevice::Bytes bytes(
      (r + 2 * q) % 5 == 4 ? 0 : static_cast<std::size_t>(17 + 100 * r + 31 * q));
  for (std::size_t k = 0; k < bytes.size(); ++k)
    bytes[k] = static_cast<unsigned char>(3 + 7 * k + 11 * static_cast<std::size_t>(r) +
                                          29 * static_cast<std::size_t>(q));
  return bytes;
}

// Everybody sends to everybody, itself included. The counters are of the whole process: `only` says
// that nobody but this group is at work.
inline void all_to_all(const Communicator& comm, Device device, bool only = true) {
  const DeviceLane* lane = comm.lane(device);
  ASSERT_NE(lane, nullptr);
  const int me = comm.rank();
  std::deque<BytesOnDevice> out, in;
  std::vector<Block> sends, receives;
  i64 messages = 0, bytes = 0;
  for (int q = 0; q < comm.size(); ++q) {
    sends.push_back(out.emplace_back(device, message(me, q)).block(q));
    receives.push_back(in.emplace_back(device, message(q, me).size()).block(q));
    if (q == me) continue;
    messages += sends.back().bytes() > 0;
    bytes += sends.back().bytes();
  }
  comm.barrier();
  const i64 up = counter(Counter::bytes_host_to_device),
            down = counter(Counter::bytes_device_to_host);
  const Traffic before = comm.traffic();
  lane->exchange(Stream::home(device), sends, receives);
  EXPECT_EQ(comm.traffic() - before, (Traffic{messages, bytes}));
  for (const BytesOnDevice& b : out) b.fill(0xAA);  // after the exchange, whoever is still to read
  comm.barrier();
  if (only) {
    EXPECT_EQ(counter(Counter::bytes_host_to_device), up);
    EXPECT_EQ(counter(Counter::bytes_device_to_host), down);
  }
  comm.barrier();
  for (int q = 0; q < comm.size(); ++q)
    EXPECT_EQ(in[static_cast<std::size_t>(q)].host(), message(q, me)) << q << " to " << me;
}

}  // namespace tessera
