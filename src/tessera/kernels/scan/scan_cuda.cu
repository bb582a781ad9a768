// SPDX-License-Identifier: Apache-2.0
// Cumulative sums and products on CUDA, deterministic: each row is cut into fixed segments, whose
// totals are scanned first. Long, dense columns (scans across rows of memory) take one thread per
// column instead.
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

#include "tessera/kernels/cuda/compose.hpp"
#include "tessera/kernels/cuda/grid.cuh"
#include "tessera/kernels/cuda/loops.cuh"
#include "tessera/kernels/cuda/typed.cuh"
#include "tessera/kernels/scan/scan.hpp"

namespace tessera {
namespace cuda {
namespace {

constexpr int per_thread = 8, segment_length = block_threads * per_thread;

struct ScanArgs {
  Loops rows;  // operand 0: in, 3: out
  const void* in;
  void* out;
  DType type, out_type;
  i64 length, in_step, out_step, segments;
  void* totals;  // [row][segment], after the second pass: what stands before each segment
  bool product;
};

template <class A>
struct Combine {
  bool product;
  __device__ A operator()(const A& a, const A& b) const {
    return product ? element::multiply{}(a, b) : element::add{}(a, b);
  }
};

template <class A>
__device__ inline void load_items(const ScanArgs& args, i64 base, i64 first,
                                  A (&item)[per_thread]) {
  i64 at[per_thread];
  bool live[per_thread];
#pragma unroll
  for (int u = 0; u < per_thread; ++u) {
    const i64 i = first + static_cast<i64>(threadIdx.x) * per_thread + u;
    live[u] = i < args.length;
    at[u] = live[u] ? base + i * args.in_step : base;
  }
  load_several(item, args.in, args.type, at, live);
#pragma unroll
  for (int u = 0; u < per_thread; ++u)
    if (!live[u]) item[u] = args.product ? A(1) : A(0);
}

template <class A>
__global__ void __launch_bounds__(block_threads)
    segment_totals(const __grid_constant__ ScanArgs args) {
  using Reduce = cub::BlockReduce<A, block_threads>;
  __shared__ typename Reduce::TempStorage shared;
  const Combine<A> combine{args.product};
  for (i64 block = blockIdx.x; block < args.rows.count * args.segments; block += gridDim.x) {
    i64 base[4];
    args.rows.offsets(block / args.segments, base);
    A item[per_thread];
    load_items(args, base[0], block % args.segments * segment_length, item);
    const A total = Reduce(shared).Reduce(item, combine);
    if (threadIdx.x == 0) static_cast<A*>(args.totals)[block] = total;
    __syncthreads();
  }
}

// Totals become what stands before each segment. One block per row.
template <class A>
__global__ void __launch_bounds__(block_threads)
    scan_totals(const __grid_constant__ ScanArgs args) {
  using Scan = cub::BlockScan<A, block_threads>;
  __shared__ typename Scan::TempStorage shared;
  const Combine<A> combine{args.product};
  const A one = args.product ? A(1) : A(0);
  for (i64 row = blockIdx.x; row < args.rows.count; row += gridDim.x) {
    A* totals = static_cast<A*>(args.totals) + row * args.segments;
    A before = one;
    for (i64 first = 0; first < args.segments; first += block_threads) {
      const i64 s = first + threadIdx.x;
      A mine = s < args.segments ? totals[s] : one, sum = one, all;
      Scan(shared).ExclusiveScan(mine, sum, one, combine, all);
      if (s < args.segments) totals[s] = combine(before, sum);
      before = combine(before, all);
      __syncthreads();
    }
  }
}

template <class A>
__global__ void __launch_bounds__(block_threads)
    scan_segments(const __grid_constant__ ScanArgs args) {
  using Scan = cub::BlockScan<A, block_threads>;
  __shared__ typename Scan::TempStorage shared;
  const Combine<A> combine{args.product};
  for (i64 block = blockIdx.x; block < args.rows.count * args.segments; block += gridDim.x) {
    const i64 segment = block % args.segments, first = segment * segment_length;
    i64 base[4];
    args.rows.offsets(block / args.segments, base);
    A item[per_thread];
    load_items(args, base[0], first, item);
    Scan(shared).InclusiveScan(item, item, combine);
    const bool follows = segment > 0;
    const A before = follows ? static_cast<const A*>(args.totals)[block] : A(0);
    i64 at[per_thread];
    bool live[per_thread];
#pragma unroll
    for (int u = 0; u < per_thread; ++u) {
      const i64 i = first + static_cast<i64>(threadIdx.x) * per_thread + u;
      live[u] = i < args.length;
      at[u] = base[3] + i * args.out_step;
      if (follows) item[u] = combine(before, item[u]);
    }
    store_several(item, args.out, args.out_type, at, live);
    __syncthreads();
  }
}

template <class A>
__global__ void __launch_bounds__(block_threads)
    scan_columns(const __grid_constant__ ScanArgs args) {
  const Combine<A> combine{args.product};
  for (i64 row = thread_position(); row < args.rows.count; row += thread_count()) {
    i64 base[4];
    args.rows.offsets(row, base);
    A sum = args.product ? A(1) : A(0);
    for (i64 i = 0; i < args.length; ++i) {
      sum = combine(sum, load_as<A>(args.in, args.type, base[0] + i * args.in_step));
      store_as(args.out, args.out_type, base[3] + i * args.out_step, sum);
    }
  }
}

struct ScanState {
  ScanArgs args;
  bool columns = false;
};

template <class A>
void run_scan(const void* state, const Launch& launch) {
  const auto& s = *static_cast<const ScanState*>(state);
  const cudaStream_t stream = stream_of(launch);
  ScanArgs args = s.args;
  args.in = launch.operand[0];
  args.out = launch.operand[1];
  args.totals = launch.workspace;
  if (s.columns) {
    scan_columns<A><<<blocks_for(args.rows.count, block_threads), block_threads, 0, stream>>>(args);
  } else {
    const unsigned blocks = blocks_for(args.rows.count * args.segments, 1);
    if (args.segments > 1) {
      segment_totals<A><<<blocks, block_threads, 0, stream>>>(args);
      scan_totals<A><<<blocks_for(args.rows.count, 1), block_threads, 0, stream>>>(args);
      check_launch("launching the totals of a scan");
    }
    scan_segments<A><<<blocks, block_threads, 0, stream>>>(args);
  }
  check_launch("launching a scan");
}

RunFn run_of(DType out, i64& bytes) {
  RunFn run = nullptr;
  const auto use = [&]<class A>() {
    run = &run_scan<A>;
    bytes = sizeof(A);
  };
  if (out == DType::b1 || is_signed_int(out))
    use.operator()<std::int64_t>();
  else if (is_unsigned_int(out))
    use.operator()<std::uint64_t>();
  else if (out == DType::f64)
    use.operator()<double>();
  else if (out == DType::c64)
    use.operator()<c64>();
  else if (out == DType::c128)
    use.operator()<c128>();
  else
    use.operator()<float>();
  return run;
}

}  // namespace
}  // namespace cuda

Prepared prepare_scan_cuda(const ScanSpec& spec, Device) {
  using namespace cuda;
  if (spec.out.layout.size() == 0) return {{&run_nothing, nullptr}};
  Layout in = spec.in.layout, out = spec.out.layout;
  auto s = std::make_shared<ScanState>();
  ScanArgs& a = s->args;
  a.length = in.shape[spec.axis];
  a.in_step = in.strides[spec.axis];
  a.out_step = out.strides[spec.axis];
  in = in.select(spec.axis, 0);
  out = out.select(spec.axis, 0);
  const Strides none(in.ndim(), 0);
  const std::array<Strides, 4> strides = {in.strides, none, none, out.strides};
  const MergedLoops rows = merge_loops(in.shape, strides, 3);
  require<NotAvailable>(rows.size.size() <= loop_axes, "scan on cuda: shape ", spec.in.layout.shape,
                        " has more than ", loop_axes, " axes that cannot be merged");
  a.rows = device_loops(rows, loop_axes);
  a.type = spec.in.dtype;
  a.out_type = spec.out.dtype;
  a.product = spec.op == ScanOp::prod;
  a.segments = (a.length + segment_length - 1) / segment_length;
  const auto magnitude = [](i64 v) { return v < 0 ? -v : v; };
  s->columns = rows.count >= 1024 && magnitude(rows.stride[3][0]) < magnitude(a.out_step);
  Prepared p;
  i64 bytes = 0;
  p.task = {run_of(spec.out.dtype, bytes), s};
  if (!s->columns && a.segments > 1) p.workspace = rows.count * a.segments * bytes;
  p.flops = static_cast<double>(spec.out.layout.size());
  return p;
}

}  // namespace tessera
