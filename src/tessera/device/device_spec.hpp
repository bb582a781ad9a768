// SPDX-License-Identifier: Apache-2.0
#pragma once
// A device and, where somebody cares, the streams to use there: one for computing, one for
// transfers that leave it or arrive. Without streams a plan chooses: a compute stream of its own,
// and the transfer stream that all plans share.
//   DeviceSpec a("sim:0");   a.p2p_setup("sim:1");   a.transfer_stream == transfer_stream(a, b)

#include <optional>
#include <string>

#include "tessera/device/stream.hpp"

namespace tessera {

struct TESSERA_API DeviceSpec {
  Device device;
  std::optional<Stream> compute_stream, transfer_stream;

  // DeviceError for streams of another device.
  DeviceSpec(Device device, std::optional<Stream> compute_stream = std::nullopt,
             std::optional<Stream> transfer_stream = std::nullopt);
  DeviceSpec(std::string_view text) : DeviceSpec(Device::parse(text)) {}
  DeviceSpec(const char* text) : DeviceSpec(std::string_view(text)) {}

  bool accelerator() const { return device.kind != Kind::cpu; }
  // For transfers to another device: computing on the home stream, transfers on the stream of the
  // pair. Nothing when either is the host.
  DeviceSpec& p2p_setup(const DeviceSpec& other);
  std::string str() const;  // "sim:0, computing on stream 4, transfers on stream 7"
};

}  // namespace tessera
