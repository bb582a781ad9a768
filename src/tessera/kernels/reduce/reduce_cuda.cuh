// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reductions on CUDA in two passes over a fixed partition, so results do not depend on the number
// of multiprocessors or on timing: blocks of 256 threads reduce segments (width outputs side by
// side, the other threads along the reduced axes), a tree joins the threads, a second pass joins
// the segments in order.
//   ReduceLaunch f = find_reduce_sum(spec);   f.run(args, stream);

#include "tessera/kernels/cuda/grid.cuh"
#include "tessera/kernels/cuda/loops.cuh"
#include "tessera/kernels/cuda/typed.cuh"
#include "tessera/kernels/reduce/reduce.hpp"

namespace tessera::cuda {

struct ReduceArgs {
  Loops kept, reduced;  // operands: 0 = in, 1 = in2, 3 = out
  const void* in = nullptr;
  const void* in2 = nullptr;
  void* out = nullptr;
  void* partial = nullptr;  // [output][segment]
  DType type = DType::f32, type2 = DType::f32, out_type = DType::f32;
  i64 outputs = 0, length = 0, segment = 0, segments = 1;
  int width = 1;  // outputs per block
  bool rows =
      true;  // neighbouring threads work along the reduced axes, else on neighbouring outputs
  bool greater = false;  // max rather than min
};
struct ReduceLaunch {
  void (*run)(const ReduceArgs&, cudaStream_t) = nullptr;
  i64 partial_bytes = 0;  // of one output and segment
};

ReduceLaunch find_reduce_sum(const ReduceSpec& spec);  // sum, prod, sum_abs2, vdot
ReduceLaunch find_reduce_order(
    const ReduceSpec& spec);  // max, min, argmax, argmin, any, all, count_nonzero

#ifdef __CUDACC__

inline constexpr int reduce_unroll = 4;

// An Op has: Loaded, Acc, two (inputs), from_first (start with element 0 instead of an identity),
// identity(), make(Loaded, Loaded, position), combine(args, Acc, Acc), finish(Acc).
template <class Op>
__device__ inline typename Op::Acc reduce_segment(const ReduceArgs& args, i64 output, i64 first,
                                                  i64 last, int lane, int lanes) {
  using L = typename Op::Loaded;
  i64 base[4];
  args.kept.offsets(output, base);
  typename Op::Acc acc;
  if constexpr (Op::from_first)
    acc = Op::make(load_as<L>(args.in, args.type, base[0]), L(0), 0);
  else
    acc = Op::identity();
  for (i64 i = first + lane; i < last; i += static_cast<i64>(lanes) * reduce_unroll) {
    i64 a[reduce_unroll], b[reduce_unroll];
    bool live[reduce_unroll];
#pragma unroll
    for (int u = 0; u < reduce_unroll; ++u) {
      const i64 position = i + static_cast<i64>(u) * lanes;
      live[u] = position < last;
      i64 at[2];
      args.reduced.offsets(live[u] ? position : i64{0}, at);
      a[u] = base[0] + at[0];
      b[u] = base[1] + at[1];
    }
    L x[reduce_unroll], y[reduce_unroll] = {};
    load_several(x, args.in, args.type, a, live);
    if constexpr (Op::two) load_several(y, args.in2, args.type2, b, live);
    const auto made = [&](int u) { return Op::make(x[u], y[u], i + static_cast<i64>(u) * lanes); };
    if (live[reduce_unroll - 1]) {  // in pairs first: fewer additions in a row, less rounding
      static_assert(reduce_unroll == 4);
      acc = Op::combine(args, acc,
                        Op::combine(args, Op::combine(args, made(0), made(1)),
                                    Op::combine(args, made(2), made(3))));
      continue;
    }
#pragma unroll
    for (int u = 0; u < reduce_unroll; ++u)
      if (live[u]) acc = Op::combine(args, acc, made(u));
  }
  return acc;
}

template <class Op>
__device__ inline void reduce_store(const ReduceArgs& args, i64 output,
                                    const typename Op::Acc& acc) {
  i64 at[4];
  args.kept.offsets(output, at);
  store_as(args.out, args.out_type, at[3], Op::finish(acc));
}

template <class Op>
__global__ void __launch_bounds__(block_threads)
    reduce_first(const __grid_constant__ ReduceArgs args) {
  using Acc = typename Op::Acc;
  __shared__ Acc joined[block_threads];
  const int lanes = block_threads / args.width, tid = static_cast<int>(threadIdx.x);
  const int column = args.rows ? tid / lanes : tid % args.width;
  const int lane = args.rows ? tid % lanes : tid / args.width;
  const i64 groups = (args.outputs + args.width - 1) / args.width, blocks = groups * args.segments;
  for (i64 block = blockIdx.x; block < blocks; block += gridDim.x) {
    const i64 group = args.segments == 1 ? block : block / args.segments;
    const i64 segment = block - group * args.segments, output = group * args.width + column;
    const i64 first = segment * args.segment;
    const i64 last = first + args.segment < args.length ? first + args.segment : args.length;
    const bool live = output < args.outputs;
    if (live)
      joined[column * lanes + lane] = reduce_segment<Op>(args, output, first, last, lane, lanes);
    __syncthreads();
    for (int half = lanes / 2; half > 0; half /= 2) {
      if (live && lane < half) {
        Acc& mine = joined[column * lanes + lane];
        mine = Op::combine(args, mine, joined[column * lanes + lane + half]);
      }
      __syncthreads();
    }
    if (live && lane == 0) {
      const Acc acc = joined[column * lanes];
      if (args.segments == 1)
        reduce_store<Op>(args, output, acc);
      else
        static_cast<Acc*>(args.partial)[output * args.segments + segment] = acc;
    }
    __syncthreads();
  }
}

template <class Op>
__global__ void __launch_bounds__(block_threads)
    reduce_second(const __grid_constant__ ReduceArgs args) {
  using Acc = typename Op::Acc;
  __shared__ Acc joined[block_threads];
  const int tid = static_cast<int>(threadIdx.x);
  const int used = args.segments < block_threads ? static_cast<int>(args.segments) : block_threads;
  for (i64 output = blockIdx.x; output < args.outputs; output += gridDim.x) {
    const Acc* partial = static_cast<const Acc*>(args.partial) + output * args.segments;
    if (tid < used) {
      Acc acc = partial[tid];
      for (i64 s = tid + block_threads; s < args.segments; s += block_threads)
        acc = Op::combine(args, acc, partial[s]);
      joined[tid] = acc;
    }
    __syncthreads();
    for (int half = block_threads / 2; half > 0; half /= 2) {
      if (tid < half && tid + half < used)
        joined[tid] = Op::combine(args, joined[tid], joined[tid + half]);
      __syncthreads();
    }
    if (tid == 0) reduce_store<Op>(args, output, joined[0]);
    __syncthreads();
  }
}

template <class Op>
void launch_reduce(const ReduceArgs& args, cudaStream_t stream) {
  const i64 groups = (args.outputs + args.width - 1) / args.width;
  reduce_first<Op><<<blocks_for(groups * args.segments, 1), block_threads, 0, stream>>>(args);
  check_launch("launching a reduction");
  if (args.segments == 1) return;
  reduce_second<Op><<<blocks_for(args.outputs, 1), block_threads, 0, stream>>>(args);
  check_launch("launching the second pass of a reduction");
}

template <class Op>
ReduceLaunch reduce_launch() {
  return {&launch_reduce<Op>, static_cast<i64>(sizeof(typename Op::Acc))};
}

// The type in which values of dtype t are accumulated or compared.
template <class F>
ReduceLaunch with_wide_type(DType t, F&& f) {
  if (t == DType::b1 || is_signed_int(t)) return f.template operator()<std::int64_t>();
  if (is_unsigned_int(t)) return f.template operator()<std::uint64_t>();
  if (t == DType::f64) return f.template operator()<double>();
  if (t == DType::c64) return f.template operator()<c64>();
  if (t == DType::c128) return f.template operator()<c128>();
  return f.template operator()<float>();
}

#endif  // __CUDACC__

}  // namespace tessera::cuda
