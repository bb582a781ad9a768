// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels made of other kernels: element-wise passes that pack, scale or convert inside a larger
// task, and the lay-out of its workspace. Prepared once; running a pass is one launch.
//   WorkspacePlan ws;   i64 at = ws.take(bytes);   Pass pack = copy_pass(in, packed, device);

#include "tessera/kernels/elementwise/elementwise.hpp"

namespace tessera {

Prepared prepare_elementwise_cuda(const ElementwiseSpec& spec, Device device);

namespace cuda {

class WorkspacePlan {
 public:
  i64 take(i64 bytes) {
    const i64 at = total_;
    total_ += (bytes + 255) / 256 * 256;
    return at;
  }
  i64 total() const { return total_; }

 private:
  i64 total_ = 0;
};

inline void* at_bytes(void* p, i64 bytes) { return static_cast<std::byte*>(p) + bytes; }

// One element-wise kernel inside another task: inputs first, then the output.
struct Pass {
  Task task;
  explicit operator bool() const { return task.run != nullptr; }
  void run(const Launch& outer, std::initializer_list<void*> operands) const {
    Launch l;
    std::size_t i = 0;
    for (void* p : operands) l.operand[i++] = p;
    l.stream = outer.stream;
    l.device_index = outer.device_index;
    task.run(task.state.get(), l);
  }
};

inline Pass element_pass(ElementOp op, DType compute,
                         std::initializer_list<ElementwiseSpec::Input> inputs, const Operand& out,
                         Device device) {
  ElementwiseSpec spec;
  spec.op = op;
  spec.compute = compute;
  spec.inputs = inputs;
  spec.out = out;
  return {prepare_elementwise_cuda(spec, device).task};
}

// out = in, converted; op may be ElementOp::conj.
inline Pass copy_pass(const Operand& in, const Operand& out, Device device,
                      ElementOp op = ElementOp::copy) {
  return element_pass(op, in.dtype, {{in, std::nullopt}}, out, device);
}

// out = in * factor; a real factor of a complex array is exact in each part.
inline Pass scale_pass(const Operand& in, const Operand& out, const Value& factor, Device device) {
  return element_pass(ElementOp::multiply, in.dtype, {{in, std::nullopt}, {{}, factor}}, out,
                      device);
}

inline Operand dense_operand(const Shape& shape, DType dtype) {
  return {Layout::contiguous(shape), dtype};
}

inline void run_nothing(const void*, const Launch&) {}

}  // namespace cuda
}  // namespace tessera
