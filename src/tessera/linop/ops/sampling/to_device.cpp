// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/ops/sampling/to_device.hpp"

#include "tessera/device/registry.hpp"
#include "tessera/linop/ops/basic/identity.hpp"

namespace tessera {

namespace {

void require_present(const NamedShape& names, Device d) {
  const std::string problem = why_unavailable(d.kind);
  require<NotAvailable>(problem.empty(), "ToDevice ", names.str(), ": ", problem);
  const int count = compute_device(d.kind).count();
  require<DeviceError>(d.index < count, "ToDevice ", names.str(), ": there is no device ", d,
                       "; this process has ", count, " of that kind");
}

}  // namespace

ToDevice::ToDevice(DeviceSpec from, DeviceSpec to, Dims ioshape,
                   std::optional<RepeatedEvent> listener)
    : ispec(std::move(from)),
      ospec(std::move(to)),
      input_listener(std::move(listener)),
      names(std::move(ioshape)) {
  check_distinct(kind, names.ishape);
  for (const Device d : {ispec.device, ospec.device}) require_present(names, d);
}

void ToDevice::apply(Recorder& r, const View& x, const View& y) const {
  require<DeviceError>(r.device(x) == ispec.device && r.device(y) == ospec.device, "ToDevice ",
                       names.str(), " goes from ", ispec.device, " to ", ospec.device,
                       "; the input is on ", r.device(x), ", the output on ", r.device(y));
  const Recorder::Route here = transfer().route(r);
  record::copy(r, x, y);
}

NamedLinop ToDevice::normal() const { return Identity(names.ishape); }

std::string ToDevice::details() const { return cat(ispec.str(), " -> ", ospec.str()); }

}  // namespace tessera
