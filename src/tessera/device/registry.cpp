// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/registry.hpp"

#include "tessera/base/error.hpp"
#include "tessera/device/cpu/cpu_device.hpp"
#include "tessera/device/plugin.hpp"
#include "tessera/device/sim/sim_device.hpp"

namespace tessera {
namespace {

// Leaked on purpose: streams and storages of static objects still need their device while those go.
CpuDevice& the_cpu() {
  static auto* device = new CpuDevice;
  return *device;
}
SimDevice& the_sim() {
  static auto* device = new SimDevice;
  return *device;
}
const LoadedPlugin& the_cuda() {
  static const auto* loaded = new LoadedPlugin(find_plugin(Kind::cuda));
  return *loaded;
}

}  // namespace

ComputeDevice& compute_device(Kind kind) {
  switch (kind) {
    case Kind::cpu: return the_cpu();
    case Kind::sim: return the_sim();
    case Kind::cuda: break;
  }
  const LoadedPlugin& cuda = the_cuda();
  require<NotAvailable>(cuda.device != nullptr, cuda.problem);
  return *cuda.device;
}

ComputeDevice& compute_device(Device d) {
  ComputeDevice& device = compute_device(d.kind);
  const int count = device.count();
  require<DeviceError>(d.index >= 0 && d.index < count, "there is no device ", name(d.kind), ":",
                       d.index, "; this process has ", count, " of that kind");
  return device;
}

std::vector<Device> devices() {
  std::vector<Device> found;
  for (int k = 0; k < kind_count; ++k) {
    const auto kind = static_cast<Kind>(k);
    if (!why_unavailable(kind).empty()) continue;
    const int count = compute_device(kind).count();
    for (int i = 0; i < count; ++i) found.push_back({kind, static_cast<std::int16_t>(i)});
  }
  return found;
}

std::string why_unavailable(Kind kind) { return kind == Kind::cuda ? the_cuda().problem : ""; }

}  // namespace tessera
