// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/eager.hpp"

#include <algorithm>

#include "tessera/base/report/watch.hpp"

namespace tessera {

void enqueue(const Prepared& prepared, Device device, std::span<const Array* const> operands) {
  const Stream stream = Stream::home(device);
  Launch launch;
  for (std::size_t i = 0; i < operands.size(); ++i) launch.operand[i] = operands[i]->data();
  Storage workspace;  // freed in stream order when this function returns
  if (prepared.workspace > 0) {
    workspace = Storage::allocate(stream, prepared.workspace);
    launch.workspace = workspace.data();
  }
  stream.launch(prepared.task, launch);
  if (watching() &&
      std::ranges::all_of(operands, [](const Array* a) { return a->size() <= few_elements; }))
    add_watched(Watched::small_launches, 1);
}

std::string no_kernel_text(std::string_view kernel, Device device) {
  return cat(kernel, ": no kernel on ", device, "; move the arrays to another device with to()");
}

}  // namespace tessera
