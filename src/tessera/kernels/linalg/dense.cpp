// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/linalg/dense.hpp"

#include "tessera/base/plugin_file.hpp"
#include "tessera/device/registry.hpp"
#include "tessera/kernels/table.hpp"

namespace tessera {

Prepared prepare_dense_cpu(const DenseSpec&, Device);

namespace {

// Of the CUDA plug-in, which is loaded where a device of it exists; null when it is of a build
// without dense algebra.
PrepareDense find_cuda() {
  const PluginFile file = find_plugin_file("libtessera_cuda.so");
  if (file.path.empty()) return nullptr;
  return reinterpret_cast<PrepareDense>(open_plugin(file.path, dense_symbol).address);
}

}  // namespace

Prepared prepare_dense(const DenseSpec& spec, Device device) {
  if (&compute_device(device).kernels() == &cpu_kernels()) return prepare_dense_cpu(spec, device);
  static const PrepareDense cuda = find_cuda();
  require<NotAvailable>(cuda && device.kind == Kind::cuda, "linalg: no dense algebra on ", device,
                        "; move the arrays with .to(\"cpu\")");
  Prepared p;
  cuda(spec, device, p);
  return p;
}

}  // namespace tessera
