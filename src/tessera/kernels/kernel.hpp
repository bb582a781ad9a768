// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a kernel is: a contract (a Spec), and per device a prepare function that turns a Spec into a
// Task. prepare is slow and may allocate (tables, vendor plans); the Task only enqueues: no
// allocation, no synchronisation, the same task may run from several threads at once with different
// pointers. Kernels are positional, know no names, and ignore Layout::offset: pointers arrive at
// the first element.
//   Prepared p = table.fft.prepare(spec, device);   stream.launch(p.task, launch);

#include <vector>

#include "tessera/base/dtype.hpp"
#include "tessera/base/shape.hpp"
#include "tessera/device/compute_device.hpp"

namespace tessera {

// One operand as a kernel sees it.
struct Operand {
  Layout layout;
  DType dtype = DType::f32;
};

struct Prepared {
  Task task;
  i64 workspace = 0;       // bytes, on the device
  bool capturable = true;  // only enqueues on launch.stream
  double flops = 0;        // for the cost model; bytes follow from the operands
};

template <class Spec>
struct Kernel {
  using SpecType = Spec;
  Prepared (*prepare)(const Spec&, Device) = nullptr;  // null: not available on that device
};

}  // namespace tessera
