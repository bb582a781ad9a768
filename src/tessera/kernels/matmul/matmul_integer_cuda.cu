// SPDX-License-Identifier: Apache-2.0
// Products of integer and bool matrices: 16 x 16 tiles in shared memory, sums in 64 bits that wrap
// as NumPy's.
#include "tessera/kernels/cuda/grid.cuh"
#include "tessera/kernels/cuda/loops.cuh"
#include "tessera/kernels/cuda/typed.cuh"
#include "tessera/kernels/matmul/matmul.hpp"

namespace tessera {
namespace cuda {
namespace {

constexpr int tile = 16;

struct IntegerArgs {
  Loops batch;  // operands a, b, out
  const void *a, *b;
  void* out;
  DType type_a, type_b, type_out;
  i64 m, n, k;
  i64 a_row, a_column, b_row, b_column, out_row, out_column;
  i64 alpha, beta;
};

// Signed and unsigned sums agree modulo 2^64, so one kernel serves both.
__global__ void integer_product(const __grid_constant__ IntegerArgs args) {
  __shared__ std::uint64_t left[tile][tile + 1], right[tile][tile + 1];
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  const i64 down = (args.m + tile - 1) / tile, across = (args.n + tile - 1) / tile;
  const i64 tiles = down * across * args.batch.count;
  for (i64 t = blockIdx.x; t < tiles; t += gridDim.x) {
    const i64 product = t / (down * across), rest = t % (down * across);
    const i64 row = rest / across * tile + y, column = rest % across * tile + x;
    i64 at[3];
    args.batch.offsets(product, at);
    std::uint64_t sum = 0;
    for (i64 k0 = 0; k0 < args.k; k0 += tile) {
      left[y][x] =
          row < args.m && k0 + x < args.k
              ? static_cast<std::uint64_t>(load_as<i64>(
                    args.a, args.type_a, at[0] + row * args.a_row + (k0 + x) * args.a_column))
              : 0;
      right[y][x] =
          column < args.n && k0 + y < args.k
              ? static_cast<std::uint64_t>(load_as<i64>(
                    args.b, args.type_b, at[1] + (k0 + y) * args.b_row + column * args.b_column))
              : 0;
      __syncthreads();
#pragma unroll
      for (int j = 0; j < tile; ++j) sum += left[y][j] * right[j][x];
      __syncthreads();
    }
    if (row < args.m && column < args.n) {
      const i64 out = at[2] + row * args.out_row + column * args.out_column;
      std::uint64_t r = static_cast<std::uint64_t>(args.alpha) * sum;
      if (args.beta != 0)
        r += static_cast<std::uint64_t>(args.beta) *
             static_cast<std::uint64_t>(load_as<i64>(args.out, args.type_out, out));
      store_as(args.out, args.type_out, out, static_cast<i64>(r));
    }
  }
}

void run_integer(const void* state, const Launch& launch) {
  IntegerArgs args = *static_cast<const IntegerArgs*>(state);
  args.a = launch.operand[0];
  args.b = launch.operand[1];
  args.out = launch.operand[2];
  const i64 tiles = ((args.m + tile - 1) / tile) * ((args.n + tile - 1) / tile) * args.batch.count;
  integer_product<<<blocks_for(tiles, 1), dim3(tile, tile), 0, stream_of(launch)>>>(args);
  check_launch("launching an integer matrix product");
}

}  // namespace
}  // namespace cuda

Prepared prepare_matmul_integer_cuda(const MatmulSpec& spec, Device) {
  using namespace cuda;
  const i64 last = spec.out.layout.ndim() - 1;
  auto s = std::make_shared<IntegerArgs>();
  const auto& a = spec.a.layout;
  const auto& b = spec.b.layout;
  const auto& out = spec.out.layout;
  s->type_a = spec.a.dtype;
  s->type_b = spec.b.dtype;
  s->type_out = spec.out.dtype;
  s->m = out.shape[last - 1];
  s->n = out.shape[last];
  s->k = a.shape[last];
  s->a_row = a.strides[last - 1];
  s->a_column = a.strides[last];
  s->b_row = b.strides[last - 1];
  s->b_column = b.strides[last];
  s->out_row = out.strides[last - 1];
  s->out_column = out.strides[last];
  s->alpha = static_cast<i64>(spec.alpha.re);
  s->beta = static_cast<i64>(spec.beta.re);
  const auto batch = [&](const Strides& v) { return Strides(v.begin(), v.begin() + (last - 1)); };
  const std::array<Strides, 3> strides = {batch(a.strides), batch(b.strides), batch(out.strides)};
  const MergedLoops merged =
      merge_loops(Shape(out.shape.begin(), out.shape.begin() + (last - 1)), strides, 2);
  require<NotAvailable>(merged.size.size() <= loop_axes,
                        "matmul on cuda: integer operands of shapes ", a.shape, " and ", b.shape,
                        " have more than ", loop_axes, " batch axes that cannot be merged");
  s->batch = device_loops(merged, loop_axes);
  Prepared p;
  p.flops = 2.0 * static_cast<double>(out.size()) * static_cast<double>(s->k);
  p.task = {&run_integer, s};
  return p;
}

}  // namespace tessera
