// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/device_spec.hpp"

#include "tessera/base/error.hpp"
#include "tessera/device/transfer_streams.hpp"

namespace tessera {

DeviceSpec::DeviceSpec(Device d, std::optional<Stream> compute, std::optional<Stream> transfer)
    : device(d), compute_stream(std::move(compute)), transfer_stream(std::move(transfer)) {
  for (const auto& [what, stream] :
       {std::pair("compute", &compute_stream), std::pair("transfer", &transfer_stream)})
    require<DeviceError>(!*stream || (*stream)->device() == device, "DeviceSpec of ", device,
                         ": the ", what, " stream belongs to ",
                         *stream ? (*stream)->device() : device);
}

DeviceSpec& DeviceSpec::p2p_setup(const DeviceSpec& other) {
  if (!accelerator() || !other.accelerator() || device.kind != other.device.kind) return *this;
  compute_stream = Stream::home(device);
  transfer_stream = tessera::transfer_stream(device, other.device);
  return *this;
}

std::string DeviceSpec::str() const {
  std::string text = device.str();
  if (compute_stream) text += cat(", computing on stream ", compute_stream->id());
  if (transfer_stream) text += cat(", transfers on stream ", transfer_stream->id());
  return text;
}

}  // namespace tessera
