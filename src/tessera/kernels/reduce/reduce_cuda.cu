// SPDX-License-Identifier: Apache-2.0
// Cuts a reduction into outputs, segments and blocks; see reduce_cuda.cuh for the passes.
#include "tessera/kernels/reduce/reduce_cuda.cuh"

namespace tessera {
namespace cuda {
namespace {

struct ReduceState {
  ReduceArgs args;
  ReduceLaunch launch;
  bool two = false;
};

// Splits the axes of the input into kept and reduced ones. Positions (argmax) need row-major order.
void split_axes(const ReduceSpec& spec, bool two, bool ordered, MergedLoops& kept,
                MergedLoops& reduced) {
  Shape kept_shape, reduced_shape;
  std::array<Strides, loop_operands> kept_strides, reduced_strides;
  for (i64 axis = 0; axis < spec.in.layout.ndim(); ++axis) {
    const bool keep = spec.out.layout.shape[axis] == spec.in.layout.shape[axis];
    const std::array<i64, loop_operands> step = {spec.in.layout.strides[axis],
                                                 two ? spec.in2.layout.strides[axis] : 0, 0,
                                                 keep ? spec.out.layout.strides[axis] : 0};
    (keep ? kept_shape : reduced_shape).push_back(spec.in.layout.shape[axis]);
    for (std::size_t k = 0; k < loop_operands; ++k)
      (keep ? kept_strides : reduced_strides)[k].push_back(step[k]);
  }
  kept = merge_loops(kept_shape, kept_strides, 0);
  reduced = merge_loops(reduced_shape, reduced_strides, ordered ? -1 : 0);
}

i64 inner_stride(const MergedLoops& m) {
  if (m.size.empty()) return 1;
  const i64 s = m.stride[0][0];
  return s < 0 ? -s : s;
}

// Which threads do what: along rows when the reduced axis is the denser one in memory, else across
// outputs.
void choose_blocks(ReduceArgs& a, const MergedLoops& kept, const MergedLoops& reduced) {
  // Elements that one thread adds in a row: few enough for many blocks, by the size alone; at most
  // so many that the rounding error is bounded.
  constexpr i64 wanted_blocks = 512, fewest = 16, most = 256;
  const i64 per_lane =
      std::clamp(a.outputs * a.length / (block_threads * wanted_blocks), fewest, most);
  a.rows = a.outputs == 1 || (a.length > 1 && inner_stride(reduced) <= inner_stride(kept));
  int lanes = 1;
  const i64 most_lanes = a.rows ? block_threads : 8;
  while (lanes < most_lanes && lanes * reduce_unroll < a.length) lanes *= 2;
  // Few outputs leave room for more threads along the reduction.
  while (!a.rows && lanes < block_threads && block_threads / lanes > a.outputs) lanes *= 2;
  a.width = block_threads / lanes;
  a.segment = lanes * per_lane;
  a.segments = std::max<i64>(1, (a.length + a.segment - 1) / a.segment);
}

void run_reduce(const void* state, const Launch& launch) {
  const auto& s = *static_cast<const ReduceState*>(state);
  ReduceArgs args = s.args;
  args.in = launch.operand[0];
  args.in2 = s.two ? launch.operand[1] : nullptr;
  args.out = launch.operand[s.two ? 2 : 1];
  args.partial = launch.workspace;
  s.launch.run(args, stream_of(launch));
}

void run_nothing(const void*, const Launch&) {}

}  // namespace
}  // namespace cuda

Prepared prepare_reduce_cuda(const ReduceSpec& spec, Device) {
  using namespace cuda;
  Prepared p;
  if (spec.out.layout.size() == 0) {
    p.task.run = &run_nothing;
    return p;
  }
  auto s = std::make_shared<ReduceState>();
  s->two = spec.op == ReduceOp::vdot;
  s->launch = find_reduce_sum(spec);
  if (!s->launch.run) s->launch = find_reduce_order(spec);
  MergedLoops kept, reduced;
  const bool ordered = spec.op == ReduceOp::argmax || spec.op == ReduceOp::argmin;
  split_axes(spec, s->two, ordered, kept, reduced);
  require<NotAvailable>(kept.size.size() <= loop_axes && reduced.size.size() <= loop_axes,
                        name(spec.op), " on cuda: shape ", spec.in.layout.shape, " has more than ",
                        loop_axes, " axes that cannot be merged; make the array contiguous first");
  ReduceArgs& a = s->args;
  a.kept = device_loops(kept, loop_axes);
  a.reduced = device_loops(reduced, loop_axes);
  a.outputs = kept.count;
  a.length = reduced.count;
  a.type = spec.in.dtype;
  a.type2 = spec.in2.dtype;
  a.out_type = spec.out.dtype;
  a.greater = spec.op == ReduceOp::max || spec.op == ReduceOp::argmax;
  const bool extreme = a.greater || spec.op == ReduceOp::min || spec.op == ReduceOp::argmin;
  require<ArgumentError>(a.length > 0 || !extreme, name(spec.op),
                         " on cuda: no element to choose from in shape ", spec.in.layout.shape);
  choose_blocks(a, kept, reduced);
  if (a.segments > 1) p.workspace = a.outputs * a.segments * s->launch.partial_bytes;
  p.flops = static_cast<double>(a.outputs) * static_cast<double>(a.length);
  p.task = {&run_reduce, s};
  return p;
}

}  // namespace tessera
