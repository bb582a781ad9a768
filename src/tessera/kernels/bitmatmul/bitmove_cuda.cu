// SPDX-License-Identifier: Apache-2.0
// Packing, unpacking and transposing bits on CUDA. A warp packs 32 elements with one vote; a block
// transposes 256 x 256 bits through shared memory, 32 x 32 at a time, with votes too.
#include "tessera/kernels/bitmatmul/bits.cuh"
#include "tessera/kernels/bitmatmul/parts.hpp"
#include "tessera/kernels/cuda/compose.hpp"
#include "tessera/kernels/cuda/grid.cuh"
#include "tessera/kernels/cuda/loops.cuh"
#include "tessera/kernels/cuda/typed.cuh"

namespace tessera {
namespace cuda {
namespace {

struct MoveArgs {
  Loops batch;  // in, out
  const void* in;
  void* out;
  DType type;  // of the elements that are no words
  i64 rows, columns, words;
  i64 in_row, in_column, out_row, out_column;
  bool merge;  // pack: keep the bits that are set
};

// 32 columns per warp; the halves of words lie in order on a little-endian device.
__global__ void __launch_bounds__(block_threads) pack_bits(const __grid_constant__ MoveArgs a) {
  const i64 halves = 2 * a.words, count = a.batch.count * a.rows * halves;
  const int lane = threadIdx.x % 32;
  for (i64 t = thread_position() / 32; t < count; t += thread_count() / 32) {
    const i64 half = t % halves, row = t / halves % a.rows, column = half * 32 + lane;
    i64 at[2];
    a.batch.offsets(t / halves / a.rows, at);
    const bool set = column < a.columns &&
                     load_as<bool>(a.in, a.type, at[0] + row * a.in_row + column * a.in_column);
    const unsigned bits = __ballot_sync(0xffffffffu, set);
    if (lane == 0) {
      unsigned* to = reinterpret_cast<unsigned*>(static_cast<std::uint64_t*>(a.out) + at[1] +
                                                 row * a.out_row) +
                     half;
      *to = a.merge ? *to | bits : bits;
    }
  }
}

__global__ void __launch_bounds__(block_threads) unpack_bits(const __grid_constant__ MoveArgs a) {
  const i64 count = a.batch.count * a.rows * a.columns;
  for (i64 t = thread_position(); t < count; t += thread_count()) {
    const i64 column = t % a.columns, row = t / a.columns % a.rows;
    i64 at[2];
    a.batch.offsets(t / a.columns / a.rows, at);
    const std::uint64_t word =
        static_cast<const std::uint64_t*>(a.in)[at[0] + row * a.in_row + column / 64];
    store_as(a.out, a.type, at[1] + row * a.out_row + column * a.out_column,
             static_cast<float>(word >> (column % 64) & 1));
  }
}

constexpr int side = 256;  // of the block of bits that a block of threads transposes

__global__ void __launch_bounds__(side) transpose_bits(const __grid_constant__ MoveArgs a) {
  __shared__ unsigned from[side][9], to[side][9];  // 8 and a gap against bank conflicts
  const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  const i64 down = bit_words(a.rows) / 4, across = (a.columns + side - 1) / side;
  for (i64 t = blockIdx.x; t < a.batch.count * down * across; t += gridDim.x) {
    const i64 i = t % down, j = t / down % across, row = i * side + thread,
              column = j * side + thread;
    i64 at[2];
    a.batch.offsets(t / down / across, at);
    const auto* in = static_cast<const std::uint64_t*>(a.in) + at[0] + row * a.in_row + j * 4;
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      const std::uint64_t word = row < a.rows ? in[w] : 0;
      from[thread][2 * w] = static_cast<unsigned>(word);
      from[thread][2 * w + 1] = static_cast<unsigned>(word >> 32);
    }
    __syncthreads();
#pragma unroll
    for (int r = 0; r < 8; ++r) {  // 32 x 32 bits: rows 32 r ..., columns 32 warp ...
      const unsigned x = from[32 * r + lane][warp];
      unsigned mine = 0;
#pragma unroll
      for (int b = 0; b < 32; ++b) {
        const unsigned votes = __ballot_sync(0xffffffffu, x >> b & 1);
        if (lane == b) mine = votes;
      }
      to[32 * warp + lane][r] = mine;
    }
    __syncthreads();
    if (column < a.columns) {
      auto* out = static_cast<std::uint64_t*>(a.out) + at[1] + column * a.out_row + i * 4;
#pragma unroll
      for (int w = 0; w < 4; ++w)
        out[w] = to[thread][2 * w] | static_cast<std::uint64_t>(to[thread][2 * w + 1]) << 32;
    }
    __syncthreads();
  }
}

struct MoveState {
  MoveArgs args;
  BitMove kind;
};

void run_move(const void* state, const Launch& launch) {
  const auto& s = *static_cast<const MoveState*>(state);
  MoveArgs a = s.args;
  a.in = launch.operand[0];
  a.out = launch.operand[1];
  const i64 rows = a.batch.count * a.rows;
  const cudaStream_t stream = stream_of(launch);
  if (s.kind == BitMove::pack)
    pack_bits<<<blocks_for(rows * a.words * 64, block_threads), block_threads, 0, stream>>>(a);
  else if (s.kind == BitMove::unpack)
    unpack_bits<<<blocks_for(rows * a.columns, block_threads), block_threads, 0, stream>>>(a);
  else
    transpose_bits<<<
        blocks_for(a.batch.count * (bit_words(a.rows) / 4) * ((a.columns + side - 1) / side), 1),
        side, 0, stream>>>(a);
  check_launch("launching a move of bits");
}

}  // namespace

Prepared prepare_bit_move(const BitMoveSpec& spec, bool merge) {
  check_bitmove(spec);
  const Layout &in = spec.in.layout, &out = spec.out.layout;
  const i64 last = in.ndim() - 1;
  if (in.size() == 0 || out.size() == 0) {
    // Columns without rows are nothing to pack, rows without columns have no words.
    return {{&run_nothing, nullptr}};
  }
  const Layout ib = batch_layout(in), ob = batch_layout(out);
  const std::array<Strides, 2> strides = {ib.strides, ob.strides};
  const MergedLoops merged = merge_loops(ob.shape, strides, 1);
  require<NotAvailable>(merged.size.size() <= loop_axes, "bits on cuda: a batch of shape ",
                        ob.shape, " has more than ", loop_axes, " axes that cannot be merged");
  auto s = std::make_shared<MoveState>();
  s->kind = spec.kind;
  MoveArgs& a = s->args;
  a = {};
  a.batch = device_loops(merged, loop_axes);
  a.type = spec.kind == BitMove::pack ? spec.in.dtype : spec.out.dtype;
  a.rows = in.shape[last - 1];
  a.columns = spec.columns;
  a.words = bit_words(spec.columns);
  a.in_row = in.strides[last - 1];
  a.in_column = in.strides[last];
  a.out_row = out.strides[last - 1];
  a.out_column = out.strides[last];
  a.merge = merge;
  Prepared p;
  p.task = {&run_move, s};
  return p;
}

}  // namespace cuda

Prepared prepare_bitmove_cuda(const BitMoveSpec& spec, Device) {
  return cuda::prepare_bit_move(spec, false);
}

}  // namespace tessera
