// SPDX-License-Identifier: Apache-2.0
#pragma once
// The same array on another device: a transfer that the plan shows. The adjoint goes back. It is
// bound to its two devices: to() does not move it.
//   ToDevice(cpu, Device::parse("sim:0"), dims("X"))

#include "tessera/linop/linop.hpp"

namespace tessera {

struct TESSERA_API ToDevice {
  Device idevice, odevice;
  NamedShape names;

  static constexpr const char* kind = "ToDevice";
  ToDevice(Device from, Device to, Dims ioshape = {NamedDimension::ellipses()})
      : idevice(from), odevice(to), names(std::move(ioshape)) {}
  NamedShape shape() const { return names; }
  std::optional<Device> device() const { return idevice; }
  Device output_device(Device) const { return odevice; }
  Shape output_shape(const Shape& input) const { return input; }
  void apply(Recorder& r, const View& x, const View& y) const { record::copy(r, x, y); }
  ToDevice adjoint() const { return ToDevice(odevice, idevice, names.ishape); }
  NamedLinop normal() const;
  bool isometry() const { return true; }
  ToDevice renamed(const Renames& r) const {
    return ToDevice(idevice, odevice, rename(names.ishape, r));
  }
  std::string details() const { return cat(idevice, " -> ", odevice); }
};

}  // namespace tessera
