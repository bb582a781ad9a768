// SPDX-License-Identifier: Apache-2.0
// Products with a triangle on CUDA: full blocks by cuBLAS, the corners on the diagonal by a kernel
// that reads what is stored, a warp for each element of the result.
#include "tessera/kernels/cuda/compose.hpp"
#include "tessera/kernels/cuda/grid.cuh"
#include "tessera/kernels/cuda/typed.cuh"
#include "tessera/kernels/matmul/triangle.hpp"

namespace tessera {

Prepared prepare_matmul_cuda(const MatmulSpec& spec, Device device);

namespace cuda {
namespace {

constexpr i64 most_of_a_corner = 1024;  // rows and columns
constexpr int warp = 32;

struct CornerArgs {
  const void *a = nullptr, *b = nullptr;
  void* out = nullptr;
  DType dtype = DType::f32;
  i64 row = 0, rows = 0, column = 0, columns = 0, n = 0;
  i64 diagonal = 0;
  bool upper = false, conj_a = false, conj_b = false;
  i64 a_row = 0, a_column = 0, b_row = 0, b_column = 0, out_row = 0, out_column = 0;
  c128 alpha;
};

template <class T>
__device__ T as_factor(const c128& v) {
  if constexpr (is_complex_v<T>)
    return T(v);
  else
    return static_cast<T>(v.re);
}

template <class T>
__device__ T sum_of_warp(T v) {
  for (int step = warp / 2; step > 0; step /= 2) {
    if constexpr (is_complex_v<T>)
      v = v +
          T(__shfl_down_sync(0xffffffffu, v.re, step), __shfl_down_sync(0xffffffffu, v.im, step));
    else
      v = v + __shfl_down_sync(0xffffffffu, v, step);
  }
  return v;
}

// T is computed in.
template <class T>
__global__ void corner_product(const __grid_constant__ CornerArgs s) {
  const i64 lane = threadIdx.x % warp, all = s.rows * s.n;
  for (i64 at = thread_position() / warp; at < all; at += thread_count() / warp) {
    const i64 row = s.row + at / s.n, j = at % s.n;
    const i64 right = s.column + s.columns;
    const i64 begin = s.upper ? max(s.column, row + s.diagonal) : s.column;
    const i64 end = s.upper ? right : min(right, row + s.diagonal + 1);
    T sum(0);
    for (i64 p = begin + lane; p < end; p += warp) {
      T x = load_as<T>(s.a, s.dtype, row * s.a_row + p * s.a_column);
      T y = load_as<T>(s.b, s.dtype, p * s.b_row + j * s.b_column);
      if constexpr (is_complex_v<T>) {
        if (s.conj_a) x = conj(x);
        if (s.conj_b) y = conj(y);
      }
      sum = sum + x * y;
    }
    sum = sum_of_warp(sum);
    if (lane == 0 && begin < end) {
      const i64 to = row * s.out_row + j * s.out_column;
      store_as(s.out, s.dtype, to, load_as<T>(s.out, s.dtype, to) + as_factor<T>(s.alpha) * sum);
    }
  }
}

struct FullBlock {
  Task task;
  i64 a = 0, b = 0, out = 0;  // bytes
};

struct TriangleState {
  Pass scale;
  bool reads = false;  // of the scaling: out itself
  std::vector<CornerArgs> corners;
  std::vector<FullBlock> full;
};

void run_corner(CornerArgs args, const Launch& launch) {
  args.a = launch.operand[0];
  args.b = launch.operand[1];
  args.out = launch.operand[2];
  const unsigned blocks = blocks_for(args.rows * args.n, block_threads / warp);
  const auto go = [&](auto* kernel) {
    kernel<<<blocks, block_threads, 0, stream_of(launch)>>>(args);
  };
  switch (args.dtype) {
    case DType::f16:
    case DType::bf16:
    case DType::f32: go(&corner_product<float>); break;
    case DType::f64: go(&corner_product<double>); break;
    case DType::c64: go(&corner_product<c64>); break;
    case DType::c128: go(&corner_product<c128>); break;
    default: go(&corner_product<std::int64_t>); break;  // wraps as NumPy's
  }
  check_launch("launching a product with a triangle");
}

void run_triangle(const void* state, const Launch& launch) {
  const auto& s = *static_cast<const TriangleState*>(state);
  void* const out = launch.operand[2];
  if (s.scale && s.reads) s.scale.run(launch, {out, out});
  if (s.scale && !s.reads) s.scale.run(launch, {out});
  for (const CornerArgs& corner : s.corners) run_corner(corner, launch);
  for (const FullBlock& block : s.full) {
    Launch part = launch;
    part.operand[0] = at_bytes(launch.operand[0], block.a);
    part.operand[1] = at_bytes(launch.operand[1], block.b);
    part.operand[2] = at_bytes(launch.operand[2], block.out);
    block.task.run(block.task.state.get(), part);
  }
}

CornerArgs corner_of(const MatmulSpec& spec, const TriangleBlock& block) {
  const Layout &a = spec.a.layout, &b = spec.b.layout, &out = spec.out.layout;
  CornerArgs s;
  s.dtype = spec.out.dtype;
  s.row = block.row;
  s.rows = block.rows;
  s.column = block.column;
  s.columns = block.columns;
  s.n = out.shape[1];
  s.diagonal = spec.diagonal;
  s.upper = spec.stored == MatmulSpec::Stored::upper;
  s.conj_a = spec.conj_a;
  s.conj_b = spec.conj_b;
  s.a_row = a.strides[0];
  s.a_column = a.strides[1];
  s.b_row = b.strides[0];
  s.b_column = b.strides[1];
  s.out_row = out.strides[0];
  s.out_column = out.strides[1];
  s.alpha = spec.alpha;
  return s;
}

}  // namespace
}  // namespace cuda

Prepared prepare_triangle_cuda(const MatmulSpec& spec, Device device) {
  using namespace cuda;
  auto state = std::make_shared<TriangleState>();
  TriangleState& s = *state;
  const DType t = spec.out.dtype;
  if (spec.beta == c128(0, 0))
    s.scale = element_pass(ElementOp::copy, t, {{{}, Value(0)}}, spec.out, device);
  else if (spec.beta != c128(1, 0))
    s.scale = scale_pass(spec.out, spec.out, Value(spec.beta), device);
  s.reads = spec.beta != c128(0, 0);
  Prepared p;
  for (const TriangleBlock& block : triangle_blocks(spec, most_of_a_corner)) {
    p.flops += (is_complex(t) ? 8.0 : 2.0) * static_cast<double>(block.rows * block.columns) *
               static_cast<double>(spec.out.layout.shape[1]) * (block.full ? 1 : 0.5);
    if (!block.full) {
      s.corners.push_back(corner_of(spec, block));
      continue;
    }
    const BlockProduct product = block_product(spec, block);
    Prepared part = prepare_matmul_cuda(product.spec, device);
    p.workspace = std::max(p.workspace, part.workspace);
    const i64 bytes = size_of(t);
    s.full.push_back(
        {std::move(part.task), product.a * bytes, product.b * bytes, product.out * bytes});
  }
  p.task = {&run_triangle, std::move(state)};
  return p;
}

}  // namespace tessera
