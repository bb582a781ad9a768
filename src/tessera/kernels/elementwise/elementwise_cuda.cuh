// SPDX-License-Identifier: Apache-2.0
#pragma once
// The element-wise kernels of CUDA. Two engines: `hot` ones have the operation and the dtype at
// compile time and move 16 bytes per access; the generic one is compiled once per family and
// compute type, with a uniform switch over the operation and dtypes converted on the way. Which of
// them runs is elementwise_cuda.cu's choice.
//   GenericLaunch f = find_generic_real(ElementFamily::math, DType::f32, ElementOp::exp);  f(args,
//   stream);

#include "tessera/kernels/cuda/grid.cuh"
#include "tessera/kernels/cuda/loops.cuh"
#include "tessera/kernels/cuda/typed.cuh"
#include "tessera/kernels/elementwise/elementwise.hpp"

namespace tessera::cuda {

// ---- generic ----

struct GenericArgs {
  Loops loops;  // operands: the inputs in order, the output is number 3
  const void* in[3] = {};
  void* out = nullptr;
  DType type[3] = {};
  DType out_type = DType::f32;
  ElementOp op = ElementOp::copy;
  bool immediate[3] = {};
  int arity = 1;
  alignas(16) unsigned char value[3][16] = {};  // immediates, already of the compute type
};
using GenericLaunch = void (*)(const GenericArgs&, cudaStream_t);

// Null when the family does not do that operation in that compute type.
GenericLaunch find_generic_integer(ElementFamily, DType compute, ElementOp);
GenericLaunch find_generic_real(ElementFamily, DType compute, ElementOp);
GenericLaunch find_generic_complex(ElementFamily, DType compute, ElementOp);
GenericLaunch find_generic_logic(ElementFamily, DType compute, ElementOp);

// ---- hot ----

// immediate: in the arguments; uniform: one element for all; repeat: one for each pack.
enum class HotMode : std::uint8_t { immediate, uniform, repeat, each };
struct HotInput {
  const void* pointer = nullptr;
  HotMode mode = HotMode::immediate;
  alignas(16) unsigned char value[16] = {};
};
struct HotArgs {
  HotInput in[3];
  void* out = nullptr;
  i64 count = 0;
};
struct HotLaunches {
  void (*dense)(const HotArgs&, bool aligned, cudaStream_t) = nullptr;
  void (*strided)(const HotArgs&, const Loops&, bool aligned, cudaStream_t) = nullptr;
  int vector = 1;  // elements per access of the aligned variants
};
// dense is null when there is no such kernel.
HotLaunches find_hot_real(ElementOp, DType);
HotLaunches find_hot_complex(ElementOp, DType);
HotLaunches find_hot_copy(i64 element_bytes);

// A copy whose dense axis is x in the output and y in the input; `rest` loops over the other axes.
struct TileArgs {
  Loops rest;  // operands: 0 = in, 3 = out
  const void* in = nullptr;
  void* out = nullptr;
  i64 x_size = 0, y_size = 0, in_step = 0 /* of x */, out_step = 0 /* of y */;
};
using TileLaunch = void (*)(const TileArgs&, cudaStream_t);
TileLaunch find_tile(i64 element_bytes);

#ifdef __CUDACC__

template <class T, int N>
struct alignas(sizeof(T) * N) Pack {
  T item[N];
};

// Elements per thread and turn: several loads under way, but large functions are not repeated in
// the code.
template <ElementFamily F, class T>
inline constexpr int generic_unroll = F != ElementFamily::math&& F != ElementFamily::real_math ? 4
                                      : is_complex_v<T>                                        ? 1
                                                                                               : 2;

// One input of several elements, converted to the compute type.
template <class T, int N>
__device__ inline void generic_load(T (&r)[N], const GenericArgs& args, int k,
                                    const i64 (&position)[N][4], const bool (&live)[N]) {
  if (args.immediate[k]) {
    const T v = *reinterpret_cast<const T*>(args.value[k]);
#pragma unroll
    for (int u = 0; u < N; ++u) r[u] = v;
    return;
  }
  i64 at[N];
#pragma unroll
  for (int u = 0; u < N; ++u) at[u] = position[u][k];
  load_several(r, args.in[k], args.type[k], at, live);
}

// f(op function object) for the op of family F that `op` names at run time, where it takes T.
template <ElementFamily F, class T, class Use>
__host__ __device__ inline void with_op(ElementOp op, Use&& use) {
  switch (op) {
#define ELEMENT(name, arity, fam)                                \
  case ElementOp::name:                                          \
    if constexpr (ElementFamily::fam == F) use(element::name{}); \
    break;
    TESSERA_ELEMENT_OPS(ELEMENT)
#undef ELEMENT
  }
}

template <class Op, class T>
inline constexpr int op_arity = std::is_invocable_v<Op, T>            ? 1
                                : std::is_invocable_v<Op, T, T>       ? 2
                                : std::is_invocable_v<Op, T, T, T>    ? 3
                                : std::is_invocable_v<Op, bool, T, T> ? 3
                                                                      : 0;

// What the operations of a family give; the same type for all of them, so one store serves them
// all.
template <ElementFamily F, class T>
using GenericResult = std::conditional_t<
    F == ElementFamily::compare || F == ElementFamily::test || F == ElementFamily::logic, bool,
    std::conditional_t<F == ElementFamily::real_part, std::invoke_result_t<element::real, T>, T>>;

template <class Op, class T>
__device__ inline auto generic_apply(Op op, const T& a, const T& b, const T& c) {
  if constexpr (op_arity<Op, T> == 1)
    return op(a);
  else if constexpr (op_arity<Op, T> == 2)
    return op(a, b);
  else if constexpr (std::is_same_v<Op, element::where>)
    return op(convert<bool>(a), b, c);
  else
    return op(a, b, c);
}

template <ElementFamily F, class T>
__global__ void __launch_bounds__(block_threads)
    generic_kernel(const __grid_constant__ GenericArgs args) {
  constexpr int N = generic_unroll<F, T>;
  const i64 step = thread_count();
  for (i64 first = thread_position(); first < args.loops.count; first += step * N) {
    i64 position[N][4], out[N];
    bool live[N];
#pragma unroll
    for (int u = 0; u < N; ++u) {
      live[u] = first + u * step < args.loops.count;
      args.loops.offsets(live[u] ? first + u * step : i64{0}, position[u]);
      out[u] = position[u][3];
    }
    T a[N], b[N] = {}, c[N] = {};
    generic_load(a, args, 0, position, live);
    if (args.arity > 1) generic_load(b, args, 1, position, live);
    if (args.arity > 2) generic_load(c, args, 2, position, live);
    GenericResult<F, T> r[N] = {};
    with_op<F, T>(args.op, [&]<class Op>(Op op) {
      if constexpr (op_arity < Op, T >> 0) {
#pragma unroll
        for (int u = 0; u < N; ++u) r[u] = generic_apply(op, a[u], b[u], c[u]);
      }
    });
    store_several(r, args.out, args.out_type, out, live);
  }
}

template <ElementFamily F, class T>
void launch_generic(const GenericArgs& args, cudaStream_t stream) {
  const unsigned blocks =
      blocks_for(args.loops.count, block_threads * generic_unroll<F, T>, 1 << 20);
  generic_kernel<F, T><<<blocks, block_threads, 0, stream>>>(args);
  check_launch("launching an element-wise kernel");
}

template <ElementFamily F, class T>
GenericLaunch generic_if_known(ElementOp op) {
  bool known = false;
  with_op<F, T>(op, [&]<class Op>(Op) { known = op_arity<Op, T> > 0; });
  return known ? &launch_generic<F, T> : nullptr;
}

// ---- hot kernels ----

template <class T, int N>
__device__ inline Pack<T, N> hot_load(const HotInput& in, i64 at) {
  if (in.mode != HotMode::each) {
    const T* from = in.mode == HotMode::immediate ? reinterpret_cast<const T*>(in.value)
                                                  : static_cast<const T*>(in.pointer);
    const T v = from[in.mode == HotMode::repeat ? at : 0];
    Pack<T, N> r;
#pragma unroll
    for (int j = 0; j < N; ++j) r.item[j] = v;
    return r;
  }
  return *reinterpret_cast<const Pack<T, N>*>(static_cast<const T*>(in.pointer) + at);
}

template <class Op, class T, int N>
__device__ inline Pack<T, N> hot_apply(const Pack<T, N>& a, const Pack<T, N>& b,
                                       const Pack<T, N>& c) {
  Pack<T, N> r;
#pragma unroll
  for (int j = 0; j < N; ++j) {
    if constexpr (op_arity<Op, T> == 1)
      r.item[j] = Op{}(a.item[j]);
    else if constexpr (op_arity<Op, T> == 2)
      r.item[j] = Op{}(a.item[j], b.item[j]);
    else
      r.item[j] = Op{}(a.item[j], b.item[j], c.item[j]);
  }
  return r;
}

template <class Op, class T, int N>
__device__ inline void hot_element(const HotArgs& args, i64 a, i64 b, i64 c, i64 out) {
  Pack<T, N> x, y, z;
  x = hot_load<T, N>(args.in[0], a);
  if constexpr (op_arity < Op, T >> 1) y = hot_load<T, N>(args.in[1], b);
  if constexpr (op_arity < Op, T >> 2) z = hot_load<T, N>(args.in[2], c);
  *reinterpret_cast<Pack<T, N>*>(static_cast<T*>(args.out) + out) = hot_apply<Op, T, N>(x, y, z);
}

// Two packs per thread and turn: both loads are under way before the first is used.
template <class Op, class T, int N>
__global__ void __launch_bounds__(block_threads) hot_dense(const __grid_constant__ HotArgs args) {
  constexpr int arity = op_arity<Op, T>;
  const i64 packs = args.count / N;
  for (i64 chunk = blockIdx.x; chunk * (2 * block_threads) < packs; chunk += gridDim.x) {
    const i64 p = chunk * (2 * block_threads) + threadIdx.x, q = p + block_threads;
    if (q < packs) {
      Pack<T, N> x[2], y[2], z[2];
#pragma unroll
      for (int u = 0; u < 2; ++u) {
        const i64 at = (u == 0 ? p : q) * N;
        x[u] = hot_load<T, N>(args.in[0], at);
        if constexpr (arity > 1) y[u] = hot_load<T, N>(args.in[1], at);
        if constexpr (arity > 2) z[u] = hot_load<T, N>(args.in[2], at);
      }
#pragma unroll
      for (int u = 0; u < 2; ++u)
        *reinterpret_cast<Pack<T, N>*>(static_cast<T*>(args.out) + (u == 0 ? p : q) * N) =
            hot_apply<Op, T, N>(x[u], y[u], z[u]);
    } else if (p < packs) {
      hot_element<Op, T, N>(args, p * N, p * N, p * N, p * N);
    }
  }
  if constexpr (N > 1) {
    const i64 rest = packs * N + threadIdx.x;
    if (blockIdx.x == 0 && rest < args.count) hot_element<Op, T, 1>(args, rest, rest, rest, rest);
  }
}

// Loops count packs along the innermost axis; strides are in elements per pack step.
template <class Op, class T, int N>
__global__ void __launch_bounds__(block_threads)
    hot_strided(const __grid_constant__ HotArgs args, const __grid_constant__ Loops loops) {
  const i64 step = thread_count();
  for (i64 p = thread_position(); p < loops.count; p += step) {
    i64 at[4];
    loops.offsets(p, at);
    hot_element<Op, T, N>(args, at[0], at[1], at[2], at[3]);
  }
}

template <class T>
inline constexpr int hot_vector = sizeof(T) >= 16 ? 1 : static_cast<int>(16 / sizeof(T));

template <class Op, class T>
void launch_hot_dense(const HotArgs& args, bool aligned, cudaStream_t stream) {
  constexpr int N = hot_vector<T>;
  if (aligned && N > 1) {
    const i64 packs = (args.count + N - 1) / N;
    hot_dense<Op, T, N><<<blocks_for(packs, 2 * block_threads), block_threads, 0, stream>>>(args);
  } else {
    hot_dense<Op, T, 1>
        <<<blocks_for(args.count, 2 * block_threads), block_threads, 0, stream>>>(args);
  }
  check_launch("launching an element-wise kernel");
}

template <class Op, class T>
void launch_hot_strided(const HotArgs& args, const Loops& loops, bool aligned,
                        cudaStream_t stream) {
  constexpr int N = hot_vector<T>;
  const unsigned blocks = blocks_for(loops.count, block_threads);
  if (aligned && N > 1)
    hot_strided<Op, T, N><<<blocks, block_threads, 0, stream>>>(args, loops);
  else
    hot_strided<Op, T, 1><<<blocks, block_threads, 0, stream>>>(args, loops);
  check_launch("launching a strided element-wise kernel");
}

template <class Op, class T>
HotLaunches hot_launches() {
  return {&launch_hot_dense<Op, T>, &launch_hot_strided<Op, T>, hot_vector<T>};
}

#endif  // __CUDACC__

}  // namespace tessera::cuda
