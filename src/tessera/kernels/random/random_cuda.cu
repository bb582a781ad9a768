// SPDX-License-Identifier: Apache-2.0
// Random numbers on CUDA: the draws that all devices share, a block of words per thread.
#include "tessera/kernels/cuda/compose.hpp"
#include "tessera/kernels/cuda/grid.cuh"
#include "tessera/kernels/cuda/loops.cuh"
#include "tessera/kernels/random/random_functors.hpp"

namespace tessera {
namespace cuda {
namespace {

// Rows of `row` elements whose positions lie `pitch` apart, each within `tiles` tiles.
struct RandomArgs {
  Loops loops;  // row-major; operand 0: out
  std::uint64_t seed, draw;
  i64 first, row, pitch, tiles, blocks;
  void* out;
};

// A thread makes a block and all of its elements that belong to the row.
template <class Draw>
__global__ void __launch_bounds__(block_threads)
    random_kernel(const __grid_constant__ RandomArgs args, const __grid_constant__ Draw draw) {
  using T = typename Draw::Element;
  constexpr i64 elements = tile_elements<Draw>;
  for (i64 t = thread_position(); t < args.blocks; t += thread_count()) {
    const i64 tile_of_row = t / tile_blocks, row = tile_of_row / args.tiles;
    const i64 begin = args.first + row * args.pitch,
              tile = begin / elements + tile_of_row % args.tiles;
    const i64 position = tile * elements + t % tile_blocks;  // of the block's first element
    const i64 last = position + (Draw::per_block - 1) * tile_blocks;
    if (last < begin || position >= begin + args.row) continue;
    T values[Draw::per_block];
    draw.of_block(philox(args.seed, args.draw,
                         static_cast<std::uint64_t>(tile * tile_blocks + t % tile_blocks)),
                  static_cast<std::uint64_t>(position), values);
#pragma unroll
    for (int k = 0; k < Draw::per_block; ++k) {
      const i64 in_row = position + k * tile_blocks - begin;
      if (in_row < 0 || in_row >= args.row) continue;
      i64 at[1];
      args.loops.offsets(row * args.row + in_row, at);
      static_cast<T*>(args.out)[at[0]] = values[k];
    }
  }
}

template <class Draw>
struct RandomState {
  RandomArgs args;
  Draw draw;
};

template <class Draw>
void run_random(const void* state, const Launch& launch) {
  const auto& s = *static_cast<const RandomState<Draw>*>(state);
  RandomArgs args = s.args;
  args.out = launch.operand[0];
  random_kernel<Draw>
      <<<blocks_for(args.blocks, block_threads), block_threads, 0, stream_of(launch)>>>(args,
                                                                                        s.draw);
  check_launch("launching random numbers");
}

template <class Draw>
Task random_task(const RandomSpec& spec, const MergedLoops& m, const Draw& draw) {
  constexpr i64 elements = tile_elements<Draw>;
  RandomArgs a;
  a.loops = device_loops(m, loop_axes);
  a.seed = spec.seed;
  a.draw = spec.draw;
  a.first = spec.first;
  a.row = spec.row > 0 ? std::min(spec.row, m.count) : m.count;
  a.pitch = spec.row > 0 ? spec.pitch : 0;
  a.tiles = (a.row + elements - 2) / elements + 1;
  a.blocks = m.count / a.row * a.tiles * tile_blocks;
  a.out = nullptr;
  return {&run_random<Draw>, std::make_shared<RandomState<Draw>>(RandomState<Draw>{a, draw})};
}

}  // namespace
}  // namespace cuda

Prepared prepare_random_cuda(const RandomSpec& spec, Device) {
  using namespace cuda;
  const MergedLoops m = merge_loops(spec.out.layout.shape, {&spec.out.layout.strides, 1}, -1);
  require<NotAvailable>(m.size.size() <= loop_axes, "random on cuda: shape ", spec.out.layout.shape,
                        " has more than ", loop_axes, " axes that cannot be merged");
  Prepared p;
  p.flops = 50.0 * static_cast<double>(m.count);
  with_draw(spec, [&](const auto& draw) {
    p.task = m.count == 0 ? Task{&run_nothing, nullptr} : random_task(spec, m, draw);
  });
  return p;
}

}  // namespace tessera
