// SPDX-License-Identifier: Apache-2.0
#pragma once
// The kinds of devices of this process. cpu and sim are always there; cuda is a plug-in, looked for
// at the first use and refused with a sentence when it is missing or of another build. Nothing
// registers itself.
//   for (Device d : devices()) ...      compute_device(Kind::cuda)  // NotAvailable: "cuda: no
//   plug-in …"

#include <string>
#include <vector>

#include "tessera/device/compute_device.hpp"

namespace tessera {

// NotAvailable with the reason when the kind cannot be used here.
TESSERA_API ComputeDevice& compute_device(Kind kind);
// compute_device(d.kind), after a check that the index exists (DeviceError lists what there is).
TESSERA_API ComputeDevice& compute_device(Device d);
// Every device that can be used, cpu first. Never throws for an absent plug-in.
TESSERA_API std::vector<Device> devices();
// Empty when the kind is usable, else the sentence that says why not.
TESSERA_API std::string why_unavailable(Kind kind);

}  // namespace tessera
