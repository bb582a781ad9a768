// SPDX-License-Identifier: Apache-2.0
// A thread does all steps for its numbers. Sums are made over a partition that depends on the length,
// and on how many numbers side by side the addresses allow: by threads, warps, blocks, and by the
// block that is done last, in the order of the blocks; that block then runs the program of scalars.
// So a pass is one launch, and gives the same bits every time over the same arrays.
#include "tessera/kernels/scalars/scalars_cuda.cuh"
#include "tessera/kernels/sweep/sweep.hpp"

namespace tessera {
namespace cuda {
namespace {

constexpr int warps = block_threads / 32;
constexpr i64 most_blocks = 1024;     // unless a thread would add too many numbers in a row
constexpr i64 most_per_thread = 256;  // bounds the rounding error

struct DeviceStep {
  SweepKind kind = SweepKind::copy;
  std::int8_t a = -1, b = -1, to = -1;
  // How an operand is found: loaded before all steps, as what the last step wrote, or when its turn
  // has come.
  bool a_early = false, b_early = false, a_last = false, b_last = false;
  std::int16_t factor = -1, cell = -1;
  double value = 0;
};

struct SweepArgs {
  void* vector[max_sweep_vectors] = {};
  double* cells = nullptr;
  double* partial = nullptr;  // [step][block]
  i64 count = 0;
  int steps = 0;
  bool sums = false;
  DeviceStep step[max_sweep_steps];
  ScalarCode code;
};
static_assert(sizeof(SweepArgs) < 4000, "a kernel takes 4 KiB of arguments");

template <class T, int V>
struct alignas(sizeof(T) * V) Pack {
  T v[V];
};

template <class T, int V>
__device__ inline Pack<T, V> load(const SweepArgs& args, int vector, i64 i) {
  return *reinterpret_cast<const Pack<T, V>*>(static_cast<const T*>(args.vector[vector]) + i);
}

template <class T>
__device__ inline T element(SweepKind kind, T a, T f, T b) {
  switch (kind) {
    case SweepKind::copy: return a;
    case SweepKind::fill: return f;
    case SweepKind::scale: return f * a;
    case SweepKind::add: return a + b;
    case SweepKind::subtract: return a - b;
    case SweepKind::multiply_add: return a * f + b;
    default: return f != T(0) ? a : b;
  }
}

// One step for V numbers, whose operands are there unless their turn comes now.
template <class T, int V>
__device__ inline void step_at(const SweepArgs& args, const DeviceStep& step, i64 i, T factor,
                               Pack<T, V>& a, Pack<T, V>& b, Pack<T, V>& last, double& sum) {
  if (step.a_last)
    a = last;
  else if (step.a >= 0 && !step.a_early)
    a = load<T, V>(args, step.a, i);
  if (step.b_last)
    b = last;
  else if (step.b >= 0 && !step.b_early)
    b = load<T, V>(args, step.b, i);
  if (is_sum(step.kind)) {
    if (step.kind == SweepKind::norm2) b = a;
    double product = 0;
#pragma unroll
    for (int k = 0; k < V; ++k)
      product += static_cast<double>(a.v[k]) * static_cast<double>(b.v[k]);
    sum += product;
  } else {
#pragma unroll
    for (int k = 0; k < V; ++k) last.v[k] = element(step.kind, a.v[k], factor, b.v[k]);
    *reinterpret_cast<Pack<T, V>*>(static_cast<T*>(args.vector[step.to]) + i) = last;
  }
}

// Numbers [i, i + V) through all steps; `sum` gets what each step adds up.
template <class T, int V>
__device__ inline void steps_at(const SweepArgs& args, i64 i, const T (&factor)[max_sweep_steps],
                                double (&sum)[max_sweep_steps]) {
  Pack<T, V> a[max_sweep_steps] = {}, b[max_sweep_steps] = {}, last = {};
#pragma unroll
  for (int s = 0; s < max_sweep_steps; ++s) {  // all loads are under way together
    if (args.step[s].a_early) a[s] = load<T, V>(args, args.step[s].a, i);
    if (args.step[s].b_early) b[s] = load<T, V>(args, args.step[s].b, i);
  }
#pragma unroll
  for (int s = 0; s < max_sweep_steps; ++s)
    if (s < args.steps) step_at<T, V>(args, args.step[s], i, factor[s], a[s], b[s], last, sum[s]);
}

// Of all threads of the block, in each of them; `joined` is free again after the next barrier.
__device__ inline double sum_of_block(double v, double* joined) {
#pragma unroll
  for (int half = 16; half > 0; half /= 2) v += __shfl_down_sync(0xffffffffu, v, half);
  if (threadIdx.x % 32 == 0) joined[threadIdx.x / 32] = v;
  __syncthreads();
  double all = 0;
#pragma unroll
  for (int w = 0; w < warps; ++w) all += joined[w];
  return all;
}

// Whether this block is the last to come here; what all of them wrote before can then be read.
__device__ inline bool comes_last(unsigned* counter) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicInc(counter, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  if (last) __threadfence();
  return last;
}

template <class T, int V>
__global__ void __launch_bounds__(block_threads, 2)
    sweep_kernel(const __grid_constant__ SweepArgs args) {
  __shared__ double joined[max_sweep_steps][warps], cell[max_cells];
  __shared__ std::uint64_t code[max_scalar_code];
  const unsigned tid = threadIdx.x;
  T factor[max_sweep_steps];
  double sum[max_sweep_steps];
  // Of a cell in the precision of the vectors: itself, or its mirror behind all cells.
  const T* known = reinterpret_cast<const T*>(args.cells + (sizeof(T) == 8 ? 0 : max_cells));
#pragma unroll
  for (int s = 0; s < max_sweep_steps; ++s) {
    sum[s] = 0;
    const int at = args.step[s].factor;
    factor[s] = at >= 0 ? known[at] : static_cast<T>(args.step[s].value);
  }
  // What the last block needs at the end; nobody writes it before that.
  if (args.sums || args.code.count > 0) {
    cell[tid] = args.cells[tid];
    fetch_code(args.code, code);
  }
  for (i64 i = thread_position() * V; i < args.count; i += thread_count() * V)
    steps_at<T, V>(args, i, factor, sum);
  if (!args.sums && args.code.count == 0) return;
#pragma unroll
  for (int s = 0; s < max_sweep_steps; ++s)
    if (args.step[s].cell >= 0) {
      sum[s] = sum_of_block(sum[s], joined[s]);
      if (gridDim.x > 1 && tid == 0)
        args.partial[static_cast<i64>(s) * gridDim.x + blockIdx.x] = sum[s];
    }
  if (gridDim.x > 1) {
    if (!comes_last(
            reinterpret_cast<unsigned*>(reinterpret_cast<std::byte*>(args.cells) + counter_offset)))
      return;
#pragma unroll
    for (int s = 0; s < max_sweep_steps; ++s)
      if (args.step[s].cell >= 0) {
        double mine = 0;
        for (unsigned b = tid; b < gridDim.x; b += block_threads)
          mine += __ldcg(args.partial + static_cast<i64>(s) * gridDim.x + b);
        sum[s] = sum_of_block(mine, joined[s]);
      }
  }
  __syncthreads();
  if (tid == 0) {
#pragma unroll
    for (int s = 0; s < max_sweep_steps; ++s)
      if (args.step[s].cell >= 0) cell[args.step[s].cell] = sum[s];
    run_code(code, args.code.count, cell);
  }
  __syncthreads();
  store_cells(args.code, cell, args.cells);
}

struct SweepState {
  SweepArgs args;
  DType dtype;
  bool cells;
  int vectors;
};

// As many numbers side by side as both the length and all addresses allow, up to 16 bytes.
int width_of(const SweepState& s) {
  int width = s.dtype == DType::f64 ? 2 : 4;
  const i64 item = size_of(s.dtype);
  const auto fits = [&] {
    if (s.args.count % width != 0) return false;
    for (int v = 0; v < s.vectors; ++v)
      if (reinterpret_cast<std::uintptr_t>(s.args.vector[v]) %
              static_cast<std::uintptr_t>(width * item) !=
          0)
        return false;
    return true;
  };
  while (width > 1 && !fits()) width /= 2;
  return width;
}

unsigned blocks_of(i64 count, int width) {
  return std::max(blocks_for(count, block_threads * width, most_blocks),
                  blocks_for(count, block_threads * most_per_thread));
}

void run_sweep(const void* state, const Launch& launch) {
  SweepState s = *static_cast<const SweepState*>(state);
  SweepArgs& args = s.args;
  for (int v = 0; v < s.vectors; ++v) args.vector[v] = launch.operand[static_cast<std::size_t>(v)];
  if (s.cells)
    args.cells = static_cast<double*>(launch.operand[static_cast<std::size_t>(s.vectors)]);
  args.partial = static_cast<double*>(launch.workspace);
  const int width = width_of(s);
  const unsigned blocks = blocks_of(args.count, width);
  const cudaStream_t stream = stream_of(launch);
  if (s.dtype == DType::f64)
    width == 2 ? sweep_kernel<double, 2><<<blocks, block_threads, 0, stream>>>(args)
               : sweep_kernel<double, 1><<<blocks, block_threads, 0, stream>>>(args);
  else if (width == 4)
    sweep_kernel<float, 4><<<blocks, block_threads, 0, stream>>>(args);
  else
    width == 2 ? sweep_kernel<float, 2><<<blocks, block_threads, 0, stream>>>(args)
               : sweep_kernel<float, 1><<<blocks, block_threads, 0, stream>>>(args);
  check_launch("launching a pass over vectors");
}

// The steps with what is known of their operands.
void find_operands(const SweepSpec& spec, SweepArgs& args) {
  bool written[max_sweep_vectors] = {};
  int last = -1;  // the vector that was written last
  for (std::size_t s = 0; s < spec.steps.size(); ++s) {
    const SweepStep& from = spec.steps[s];
    DeviceStep& to = args.step[s];
    to.kind = from.kind;
    to.a = static_cast<std::int8_t>(from.a);
    to.b = static_cast<std::int8_t>(from.b);
    to.to = static_cast<std::int8_t>(from.to);
    to.a_last = from.a >= 0 && from.a == last;
    to.b_last = from.b >= 0 && from.b == last;
    to.a_early = from.a >= 0 && !written[from.a];
    to.b_early = from.b >= 0 && !written[from.b];
    to.factor = static_cast<std::int16_t>(from.factor);
    to.cell = static_cast<std::int16_t>(from.sum);
    to.value = from.value;
    args.sums = args.sums || is_sum(from.kind);
    if (from.to < 0) continue;
    written[from.to] = true;
    last = from.to;
  }
}

}  // namespace
}  // namespace cuda

Prepared prepare_sweep_cuda(const SweepSpec& spec, Device) {
  using namespace cuda;
  check_sweep(spec);
  auto s = std::make_shared<SweepState>();
  s->dtype = spec.dtype;
  s->cells = spec.cells;
  s->vectors = spec.vectors;
  s->args.count = spec.count;
  s->args.steps = static_cast<int>(spec.steps.size());
  find_operands(spec, s->args);
  pack_scalars(spec.after, s->args.code);
  Prepared p;
  if (s->args.sums && spec.count > block_threads)
    p.workspace = static_cast<i64>(sizeof(double)) * s->args.steps * blocks_of(spec.count, 1);
  p.flops = static_cast<double>(spec.count) * static_cast<double>(spec.steps.size()) +
            static_cast<double>(spec.after.code.size());
  p.task = {&run_sweep, s};
  return p;
}

}  // namespace tessera
