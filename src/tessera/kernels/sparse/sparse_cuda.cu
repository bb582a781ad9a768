// SPDX-License-Identifier: Apache-2.0
// Sparse products on CUDA: a few lanes of a warp share a row (as many as rows are long, on
// average) and add up their parts by shuffles; no atomics, so results do not depend on timing.
#include "tessera/kernels/cuda/compose.hpp"
#include "tessera/kernels/cuda/grid.cuh"
#include "tessera/kernels/cuda/loops.cuh"
#include "tessera/kernels/sparse/sparse.hpp"

namespace tessera {
namespace cuda {
namespace {

constexpr int batch_group = 4;

struct SparseArgs {
  Loops batch;  // operands 0: x, 1: y
  Loops columns, rows;
  i64 groups;
  const i64 *indices, *starts;
  const void *x, *values;
  void* y;
  bool conjugate;
};

template <class T, class V>
__device__ T product(const V& v, const T& x) {
  if constexpr (is_complex_v<T> && !is_complex_v<V>)
    return T(v * x.re, v * x.im);
  else
    return v * x;
}

template <class T>
__device__ T from_lane(const T& v, int distance, int lanes) {
  if constexpr (is_complex_v<T>)
    return T(__shfl_down_sync(0xffffffffu, v.re, distance, lanes),
             __shfl_down_sync(0xffffffffu, v.im, distance, lanes));
  else
    return __shfl_down_sync(0xffffffffu, v, distance, lanes);
}

template <class T, class V>
__device__ void add_entries(const SparseArgs& args, i64 row, int lane, int lanes,
                            const i64 (&from)[batch_group], int n, T (&sum)[batch_group]) {
  for (i64 k = args.starts[row] + lane; k < args.starts[row + 1]; k += lanes) {
    V v = static_cast<const V*>(args.values)[k];
    if constexpr (is_complex_v<V>)
      if (args.conjugate) v = conj(v);
    i64 at[1];
    args.columns.offsets(args.indices[k], at);
    const T* x = static_cast<const T*>(args.x) + at[0];
#pragma unroll
    for (int b = 0; b < batch_group; ++b)
      if (b < n) sum[b] = sum[b] + product(v, x[from[b]]);
  }
}

// All lanes of a warp stay in the loop together, so that shuffles have every partner.
template <class T, class V, int Lanes>
__global__ void __launch_bounds__(block_threads)
    sparse_kernel(const __grid_constant__ SparseArgs args) {
  const int lane = static_cast<int>(threadIdx.x) % Lanes;
  const i64 tasks = args.rows.count * args.groups, rounded = (tasks * Lanes + 31) / 32 * 32;
  for (i64 p = thread_position(); p < rounded; p += thread_count()) {
    const i64 task = p / Lanes, row = task % args.rows.count, first = task / args.rows.count;
    const bool live = task < tasks;
    const i64 left = args.batch.count - first * batch_group;
    const int n = !live ? 0 : left < batch_group ? static_cast<int>(left) : batch_group;
    i64 from[batch_group], to[batch_group], at[1];
#pragma unroll
    for (int b = 0; b < batch_group; ++b) {
      i64 xy[2] = {0, 0};
      if (b < n) args.batch.offsets(first * batch_group + b, xy);
      from[b] = xy[0];
      to[b] = xy[1];
    }
    T sum[batch_group] = {};
    if (live) add_entries<T, V>(args, row, lane, Lanes, from, n, sum);
#pragma unroll
    for (int b = 0; b < batch_group; ++b)
#pragma unroll
      for (int d = Lanes / 2; d > 0; d /= 2) sum[b] = sum[b] + from_lane(sum[b], d, Lanes);
    if (lane != 0 || !live) continue;
    args.rows.offsets(row, at);
#pragma unroll
    for (int b = 0; b < batch_group; ++b)
      if (b < n) static_cast<T*>(args.y)[to[b] + at[0]] = sum[b];
  }
}

struct SparseState {
  SparseArgs args;
  DType type;
  bool real_values;
  bool long_rows;
};

template <class T, class V>
void start(const SparseState& s, const SparseArgs& args, cudaStream_t stream) {
  const i64 tasks = args.rows.count * args.groups;
  if (s.long_rows)
    sparse_kernel<T, V, 32>
        <<<blocks_for(tasks * 32, block_threads), block_threads, 0, stream>>>(args);
  else
    sparse_kernel<T, V, 4>
        <<<blocks_for(tasks * 4, block_threads), block_threads, 0, stream>>>(args);
  check_launch("launching a sparse product");
}

void run_sparse(const void* state, const Launch& launch) {
  const auto& s = *static_cast<const SparseState*>(state);
  SparseArgs args = s.args;
  args.x = launch.operand[0];
  args.values = launch.operand[1];
  args.indices = static_cast<const i64*>(launch.operand[2]);
  args.starts = static_cast<const i64*>(launch.operand[3]);
  args.y = launch.operand[4];
  const cudaStream_t stream = stream_of(launch);
  switch (s.type) {
    case DType::f32: start<float, float>(s, args, stream); break;
    case DType::f64: start<double, double>(s, args, stream); break;
    case DType::c64:
      s.real_values ? start<c64, float>(s, args, stream) : start<c64, c64>(s, args, stream);
      break;
    default:
      s.real_values ? start<c128, double>(s, args, stream) : start<c128, c128>(s, args, stream);
  }
}

Loops axes_loops(const Shape& shape, std::span<const Strides> strides, std::string_view what) {
  const MergedLoops m = merge_loops(shape, strides, -1);
  require<NotAvailable>(m.size.size() <= loop_axes, "sparse on cuda: more than ", loop_axes, " ",
                        what, " axes that cannot be merged in shape ", shape);
  return device_loops(m, loop_axes);
}

}  // namespace
}  // namespace cuda

Prepared prepare_sparse_cuda(const SparseSpec& spec, Device) {
  using namespace cuda;
  const DType t = spec.y.dtype, v = spec.values.dtype;
  require<DTypeError>(
      spec.x.dtype == t && (v == t || v == real_of(t)) && is_inexact(t) && t >= DType::f32,
      "sparse on cuda: values of ", name(v), " times ", name(spec.x.dtype), " into ", name(t));
  if (spec.y.layout.size() == 0) return {{&run_nothing, nullptr}};
  const Layout &x = spec.x.layout, &y = spec.y.layout;
  const i64 b = spec.batch_axes;
  const Strides batch[] = {Strides(x.strides.begin(), x.strides.begin() + b),
                           Strides(y.strides.begin(), y.strides.begin() + b)};
  const Strides column[] = {Strides(x.strides.begin() + b, x.strides.end())},
                row[] = {Strides(y.strides.begin() + b, y.strides.end())};
  auto s = std::make_shared<SparseState>();
  s->args.batch = axes_loops(Shape(x.shape.begin(), x.shape.begin() + b), batch, "batch");
  s->args.columns = axes_loops(Shape(x.shape.begin() + b, x.shape.end()), column, "column");
  s->args.rows = axes_loops(Shape(y.shape.begin() + b, y.shape.end()), row, "row");
  s->args.groups = (s->args.batch.count + batch_group - 1) / batch_group;
  s->args.conjugate = spec.conjugate;
  s->type = t;
  s->real_values = !is_complex(v);
  const i64 entries = spec.values.layout.size();
  s->long_rows = entries > 16 * s->args.rows.count;
  Prepared p;
  p.flops = (is_complex(t) ? 8.0 : 2.0) * static_cast<double>(entries * s->args.batch.count);
  p.task = {&run_sparse, std::move(s)};
  return p;
}

}  // namespace tessera
