// SPDX-License-Identifier: Apache-2.0
// Random numbers on CUDA: the draws that all devices share, one per element, by its row-major
// position.
#include "tessera/kernels/cuda/compose.hpp"
#include "tessera/kernels/cuda/grid.cuh"
#include "tessera/kernels/cuda/loops.cuh"
#include "tessera/kernels/random/random_functors.hpp"

namespace tessera {
namespace cuda {
namespace {

struct RandomArgs {
  Loops loops;  // row-major; operand 0: out
  std::uint64_t seed, draw, range;
  i64 first, row, pitch;
  double low, high;
  std::uint64_t integer_low;
  void* out;
};

template <Distribution D, class T>
__device__ inline T one_draw(const RandomArgs& a, std::uint64_t position) {
  if constexpr (D == Distribution::integers) {
    return static_cast<T>(a.integer_low + draw_below(a.seed, a.draw, position, a.range));
  } else {
    const Philox r = philox(a.seed, a.draw, position);
    if constexpr (D == Distribution::bits)
      return join_words(r.word[0], r.word[1]);
    else if constexpr (D == Distribution::uniform)
      return draw_between<T>(r, a.low, a.high);
    else
      return draw_normal<T>(r, a.low, a.high);
  }
}

template <Distribution D, class T>
__global__ void __launch_bounds__(block_threads)
    random_kernel(const __grid_constant__ RandomArgs args) {
  for (i64 p = thread_position(); p < args.loops.count; p += thread_count()) {
    i64 at[1];
    args.loops.offsets(p, at);
    static_cast<T*>(args.out)[at[0]] =
        one_draw<D, T>(args, counter_at(p, args.first, args.row, args.pitch));
  }
}

template <Distribution D, class T>
void run_random(const void* state, const Launch& launch) {
  RandomArgs args = *static_cast<const RandomArgs*>(state);
  args.out = launch.operand[0];
  random_kernel<D, T>
      <<<blocks_for(args.loops.count, block_threads), block_threads, 0, stream_of(launch)>>>(args);
  check_launch("launching random numbers");
}

RunFn run_of(const RandomSpec& spec) {
  RunFn run = nullptr;
  const DType t = spec.out.dtype;
  switch (spec.distribution) {
    case Distribution::bits:
      dispatch<std::uint64_t>(t, "random bits",
                              [&]<class T>() { run = &run_random<Distribution::bits, T>; });
      break;
    case Distribution::uniform:
      dispatch<Half, BFloat16, float, double>(
          t, "uniform", [&]<class T>() { run = &run_random<Distribution::uniform, T>; });
      break;
    case Distribution::normal:
      dispatch<Half, BFloat16, float, double, c64, c128>(
          t, "normal", [&]<class T>() { run = &run_random<Distribution::normal, T>; });
      break;
    case Distribution::integers:
      dispatch<bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
               std::uint16_t, std::uint32_t, std::uint64_t>(
          t, "integers", [&]<class T>() { run = &run_random<Distribution::integers, T>; });
      break;
  }
  return run;
}

}  // namespace
}  // namespace cuda

Prepared prepare_random_cuda(const RandomSpec& spec, Device) {
  using namespace cuda;
  const RunFn run = run_of(spec);
  if (spec.out.layout.size() == 0) return {{&run_nothing, nullptr}};
  const MergedLoops m = merge_loops(spec.out.layout.shape, {&spec.out.layout.strides, 1}, -1);
  require<NotAvailable>(m.size.size() <= loop_axes, "random on cuda: shape ", spec.out.layout.shape,
                        " has more than ", loop_axes, " axes that cannot be merged");
  auto s = std::make_shared<RandomArgs>();
  s->loops = device_loops(m, loop_axes);
  s->seed = spec.seed;
  s->draw = spec.draw;
  s->first = spec.first;
  s->row = spec.row;
  s->pitch = spec.pitch;
  s->range = spec.integer_range;
  s->low = spec.low;
  s->high = spec.high;
  s->integer_low = static_cast<std::uint64_t>(spec.integer_low);
  Prepared p;
  p.flops = 50.0 * static_cast<double>(m.count);
  p.task = {run, s};
  return p;
}

}  // namespace tessera
