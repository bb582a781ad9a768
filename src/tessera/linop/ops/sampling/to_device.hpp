// SPDX-License-Identifier: Apache-2.0
#pragma once
// The same array on another device: a transfer that the plan shows. The adjoint goes back. It is
// bound to its two devices: to() does not move it, and an input elsewhere is an error. Streams of
// the specs are used: the transfer goes on the transfer stream of the source's spec, else of the
// target's, and what is computed on the target afterwards on the target's compute stream.
//   ToDevice(cpu, Device::parse("sim:0"), dims("X"))
//   ToDevice(DeviceSpec("sim:0").p2p_setup("sim:1"), "sim:1", dims("X"), start)

#include "tessera/device/device_spec.hpp"
#include "tessera/linop/core/dim_sizes.hpp"
#include "tessera/linop/core/linop.hpp"

namespace tessera {

struct TESSERA_API ToDevice {
  DeviceSpec ispec, ospec;
  // What it listens to when it is made; from then on NamedLinop::input_listener() tells.
  std::optional<RepeatedEvent> input_listener;
  NamedShape names;

  static constexpr const char* kind = "ToDevice";
  // DeviceError or NotAvailable for a device that this process does not have.
  ToDevice(DeviceSpec from, DeviceSpec to, Dims ioshape = {NamedDimension::ellipses()},
           std::optional<RepeatedEvent> listener = std::nullopt);
  Device idevice() const { return ispec.device; }
  Device odevice() const { return ospec.device; }
  // Between two accelerators; sim devices stand for GPUs.
  bool is_gpu2gpu() const { return ispec.accelerator() && ospec.accelerator(); }
  Transfer transfer() const { return {ispec, ospec}; }

  NamedShape shape() const { return names; }
  auto state() const { return std::tuple(ispec.device, ospec.device, names.ishape); }
  static ToDevice from_state(Device from, Device to, Dims ioshape) {
    return ToDevice(DeviceSpec(from), DeviceSpec(to), std::move(ioshape));
  }
  std::optional<Device> device() const { return ispec.device; }
  Device output_device(Device) const { return ospec.device; }
  Shape output_shape(const Shape& input) const { return input; }
  void apply(Recorder& r, const View& x, const View& y) const;
  ToDevice adjoint() const { return ToDevice(ospec, ispec, names.ishape, input_listener); }
  NamedLinop normal() const;
  bool isometry() const { return true; }
  ToDevice renamed(const Renames& r) const {
    return ToDevice(ispec, ospec, rename(names.ishape, r), input_listener);
  }
  std::string details() const;
};

extern template struct NamedLinop::Model<ToDevice>;

}  // namespace tessera
