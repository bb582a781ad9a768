// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bytes of device memory that ranks exchange, for tests of lanes: filled, poisoned and looked at in
// the order of a device's home stream.
//   DeviceBytes b(device, {1, 2, 3});   b.host() == std::vector<unsigned char>{1, 2, 3}

#include <vector>

#include "tessera/comm/transport.hpp"
#include "tessera/device/storage.hpp"

namespace tessera {

class DeviceBytes {
 public:
  using Bytes = std::vector<unsigned char>;
  DeviceBytes(Device device, const Bytes& bytes)
      : stream_(Stream::home(device)),
        storage_(Storage::allocate(device, static_cast<i64>(bytes.size()))) {
    stream_.copy(storage_.data(), device, bytes.data(), cpu, storage_.bytes());
    stream_.sync();
  }
  DeviceBytes(Device device, std::size_t size) : DeviceBytes(device, Bytes(size, 0xEE)) {}
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
inline DeviceBytes::Bytes message(int r, int q) {
  DeviceBytes::Bytes bytes((r + 2 * q) % 5 == 4 ? 0
                                                : static_cast<std::size_t>(17 + 100 * r + 31 * q));
  for (std::size_t k = 0; k < bytes.size(); ++k)
    bytes[k] = static_cast<unsigned char>(3 + 7 * k + 11 * static_cast<std::size_t>(r) +
                                          29 * static_cast<std::size_t>(q));
  return bytes;
}

}  // namespace tessera
