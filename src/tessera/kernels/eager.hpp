// SPDX-License-Identifier: Apache-2.0
#pragma once
// One kernel, now: prepares, takes its workspace from the pool and enqueues on the home stream of
// the device. What array functions are made of; plans record instead (plan/recorder.hpp).
//   launch_now(&KernelTable::fft, "fft", spec, device, {&x, &y});

#include <initializer_list>
#include <span>

#include "tessera/array/array.hpp"
#include "tessera/base/tags.hpp"
#include "tessera/device/registry.hpp"
#include "tessera/kernels/table.hpp"

namespace tessera {

inline Operand operand_of(const Array& a) { return {a.layout(), a.dtype()}; }

// Enqueues a prepared kernel over the arrays' first elements. Keeps nothing alive beyond the
// stream's order.
TESSERA_API void enqueue(const Prepared& prepared, Device device,
                         std::span<const Array* const> operands);

inline const KernelTable& kernels_of(Device device) { return compute_device(device).kernels(); }

// "fft: no kernel on cuda:0": for NotAvailable.
TESSERA_API std::string no_kernel_text(std::string_view kernel, Device device);

// Leaves a tag of the first operand's dtype; `name` is a literal.
template <class Spec>
void launch_now(Kernel<Spec> KernelTable::*member, std::string_view name, const Spec& spec,
                Device device, std::initializer_list<const Array*> operands) {
  const Kernel<Spec>& kernel = kernels_of(device).*member;
  if (!kernel.prepare) throw NotAvailable(no_kernel_text(name, device));
  tag_launch(tessera::name(device.kind), name, (*operands.begin())->dtype());
  enqueue(kernel.prepare(spec, device), device, {operands.begin(), operands.size()});
}

}  // namespace tessera
