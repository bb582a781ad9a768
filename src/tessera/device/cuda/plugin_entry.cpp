// SPDX-License-Identifier: Apache-2.0
// The one function that libtessera looks for in this library.
#include "tessera/device/cuda/cuda_device.hpp"
#include "tessera/device/plugin.hpp"

extern "C" TESSERA_API const tessera::Plugin* tessera_plugin() {
  static const std::string tag = tessera::abi_tag();
  // Leaked on purpose: streams and storages of static objects need their device until the process
  // ends.
  static auto* device = new tessera::CudaDevice;
  static const tessera::Plugin plugin{tag.c_str(), device->count() > 0 ? device : nullptr,
                                      device->count() > 0 ? nullptr : device->why_none().c_str()};
  return &plugin;
}
