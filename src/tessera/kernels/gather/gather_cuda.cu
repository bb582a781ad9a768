// SPDX-License-Identifier: Apache-2.0
// Gathers on CUDA: index arrays become offsets into the source, then one pass copies elements of
// any dtype.
#include "tessera/kernels/cuda/compose.hpp"
#include "tessera/kernels/cuda/index.cuh"
#include "tessera/kernels/gather/gather.hpp"

namespace tessera {
namespace cuda {
namespace {

struct GatherArgs {
  PairLoops loops;
  const i64* offset;  // per j, in elements
  const void* source;
  void* out;
};

template <class T>
__global__ void __launch_bounds__(block_threads)
    gather_kernel(const __grid_constant__ GatherArgs args) {
  for (i64 p = thread_position(); p < args.loops.both.count; p += thread_count()) {
    i64 rj[2], outer[4], inner[4];
    args.loops.both.offsets(p, rj);
    args.loops.outer.offsets(rj[1], outer);
    args.loops.inner.offsets(rj[0], inner);
    static_cast<T*>(args.out)[outer[3] + inner[3]] =
        static_cast<const T*>(args.source)[args.offset[rj[1]] + inner[0]];
  }
}

struct GatherState {
  GatherArgs args;
  FlatIndex flat;
  i64 element_bytes;
};

void run_gather(const void* state, const Launch& launch) {
  const auto& s = *static_cast<const GatherState*>(state);
  GatherArgs args = s.args;
  auto* offset = static_cast<i64*>(launch.workspace);
  s.flat.run(&launch.operand[1], offset, stream_of(launch));
  args.offset = offset;
  args.source = launch.operand[0];
  args.out = launch.operand[1 + s.flat.passes.size()];
  const unsigned blocks = blocks_for(args.loops.both.count, block_threads);
  const auto start = [&]<class T>() {
    gather_kernel<T><<<blocks, block_threads, 0, stream_of(launch)>>>(args);
  };
  switch (s.element_bytes) {
    case 1: start.operator()<std::uint8_t>(); break;
    case 2: start.operator()<std::uint16_t>(); break;
    case 4: start.operator()<std::uint32_t>(); break;
    case 8: start.operator()<std::uint64_t>(); break;
    default: start.operator()<c128>(); break;
  }
  check_launch("launching a gather");
}

}  // namespace
}  // namespace cuda

Prepared prepare_gather_cuda(const GatherSpec& spec, Device) {
  using namespace cuda;
  if (spec.out.layout.size() == 0) return {{&run_nothing, nullptr}};
  require<DTypeError>(spec.source.dtype == spec.out.dtype,
                      "gather on cuda: ", name(spec.source.dtype), " into ", name(spec.out.dtype));
  const auto k = static_cast<i64>(spec.indices.size());
  const Layout& source = spec.source.layout;
  auto s = std::make_shared<GatherState>(
      GatherState{{pair_loops(source, k, spec.out.layout, "gather"), nullptr, nullptr, nullptr},
                  FlatIndex(spec.indices, source.shape, source.strides),
                  size_of(spec.out.dtype)});
  Prepared p;
  p.workspace = s->flat.count * 8;
  p.task = {&run_gather, s};
  return p;
}

}  // namespace tessera
