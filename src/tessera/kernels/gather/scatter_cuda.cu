// SPDX-License-Identifier: Apache-2.0
// Scatters on CUDA. Assignment: each index tuple claims its position with its number j, the highest
// claim wins, only winners write, so the result does not depend on timing. Claims live in a table
// with one entry per position, or in a hash table where the positions are many more than the
// tuples. Addition: atomics.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <bit>

#include "tessera/kernels/cuda/compose.hpp"
#include "tessera/kernels/cuda/index.cuh"
#include "tessera/kernels/cuda/typed.cuh"
#include "tessera/kernels/gather/gather.hpp"

namespace tessera {
namespace cuda {
namespace {

using Word = unsigned long long;
constexpr Word nobody = ~Word{0};

struct Claims {
  Word* key;          // positions, open addressing; null: entry number = position
  long long* winner;  // highest j, -1 = none
  i64 mask;           // entries - 1 (a power of two) when there are keys

  __device__ long long* entry(i64 position, bool insert) const {
    if (!key) return winner + position;
    Word h = static_cast<Word>(position) * 0x9E3779B97F4A7C15ull;
    for (i64 at = static_cast<i64>(h >> 20) & mask;; at = (at + 1) & mask) {
      const Word held = insert ? atomicCAS(key + at, nobody, static_cast<Word>(position)) : key[at];
      if (held == static_cast<Word>(position) || (insert && held == nobody)) return winner + at;
    }
  }
};

struct ScatterArgs {
  PairLoops loops;
  Loops place;  // position in the indexed axes -> offset of the target (operand 0)
  const i64* flat;
  i64 tuples;
  Claims claims;
  const void* value;
  void* target;
  DType type;
};

__global__ void __launch_bounds__(block_threads)
    claim_kernel(const __grid_constant__ ScatterArgs args) {
  for (i64 j = thread_position(); j < args.tuples; j += thread_count())
    atomicMax(args.claims.entry(args.flat[j], true), static_cast<long long>(j));
}

template <class T>
__global__ void __launch_bounds__(block_threads)
    assign_kernel(const __grid_constant__ ScatterArgs args) {
  for (i64 p = thread_position(); p < args.loops.both.count; p += thread_count()) {
    i64 rj[2], outer[4], inner[4], at[1];
    args.loops.both.offsets(p, rj);
    const i64 position = args.flat[rj[1]];
    if (*args.claims.entry(position, false) != rj[1]) continue;
    args.loops.outer.offsets(rj[1], outer);
    args.loops.inner.offsets(rj[0], inner);
    args.place.offsets(position, at);
    static_cast<T*>(args.target)[at[0] + inner[0]] =
        static_cast<const T*>(args.value)[outer[3] + inner[3]];
  }
}

// Types without an atomic addition of their own: exchange the aligned 32-bit word around them.
template <class T>
__device__ void add_in_word(T* to, T v) {
  static_assert(sizeof(T) < 4);
  const auto address = reinterpret_cast<std::uintptr_t>(to);
  auto* word = reinterpret_cast<unsigned*>(address & ~std::uintptr_t{3});
  const unsigned shift = static_cast<unsigned>(address & 3) * 8;
  constexpr unsigned ones = sizeof(T) == 1 ? 0xffu : 0xffffu;
  unsigned seen = *word, before;
  do {
    before = seen;
    const auto sum = static_cast<T>(static_cast<T>(before >> shift) + v);
    const unsigned after =
        (before & ~(ones << shift)) | ((static_cast<unsigned>(sum) & ones) << shift);
    seen = atomicCAS(word, before, after);
  } while (seen != before);
}

template <class T>
__device__ void add_atomic(T* to, T v) {
  if constexpr (is_complex_v<T>) {
    atomicAdd(&to->re, v.re);
    atomicAdd(&to->im, v.im);
  } else if constexpr (std::is_same_v<T, bool>) {
    if (v) *reinterpret_cast<volatile unsigned char*>(to) = 1;  // every writer writes the same byte
  } else if constexpr (std::is_same_v<T, Half>) {
    atomicAdd(reinterpret_cast<__half*>(to), __float2half(static_cast<float>(v)));
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    atomicAdd(reinterpret_cast<__nv_bfloat16*>(to), __float2bfloat16(static_cast<float>(v)));
  } else if constexpr (std::is_floating_point_v<T>) {
    atomicAdd(to, v);
  } else if constexpr (sizeof(T) == 8) {
    atomicAdd(reinterpret_cast<Word*>(to), static_cast<Word>(v));
  } else if constexpr (sizeof(T) == 4) {
    atomicAdd(reinterpret_cast<unsigned*>(to), static_cast<unsigned>(v));
  } else {
    add_in_word(to, v);
  }
}

__global__ void __launch_bounds__(block_threads)
    add_kernel(const __grid_constant__ ScatterArgs args) {
  for (i64 p = thread_position(); p < args.loops.both.count; p += thread_count()) {
    i64 rj[2], outer[4], inner[4], at[1];
    args.loops.both.offsets(p, rj);
    args.loops.outer.offsets(rj[1], outer);
    args.loops.inner.offsets(rj[0], inner);
    args.place.offsets(args.flat[rj[1]], at);
    with_type(args.type, [&]<class T>() {
      add_atomic(static_cast<T*>(args.target) + at[0] + inner[0],
                 load_raw<T>(args.value, outer[3] + inner[3]));
    });
  }
}

struct ScatterState {
  ScatterArgs args;
  FlatIndex flat;
  ScatterOp op;
  i64 key_at = -1, winner_at = 0, entries = 0;
};

void run_assign(const ScatterState& s, const ScatterArgs& args, cudaStream_t stream) {
  if (args.claims.key)
    check(cudaMemsetAsync(args.claims.key, 0xFF, static_cast<std::size_t>(s.entries) * 8, stream),
          "clearing claims");
  check(cudaMemsetAsync(args.claims.winner, 0xFF, static_cast<std::size_t>(s.entries) * 8, stream),
        "clearing claims");
  claim_kernel<<<blocks_for(args.tuples, block_threads), block_threads, 0, stream>>>(args);
  check_launch("launching the claims of a scatter");
  const unsigned blocks = blocks_for(args.loops.both.count, block_threads);
  const auto start = [&]<class T>() {
    assign_kernel<T><<<blocks, block_threads, 0, stream>>>(args);
  };
  switch (size_of(args.type)) {
    case 1: start.operator()<std::uint8_t>(); break;
    case 2: start.operator()<std::uint16_t>(); break;
    case 4: start.operator()<std::uint32_t>(); break;
    case 8: start.operator()<std::uint64_t>(); break;
    default: start.operator()<c128>(); break;
  }
  check_launch("launching a scatter");
}

void run_scatter(const void* state, const Launch& launch) {
  const auto& s = *static_cast<const ScatterState*>(state);
  const cudaStream_t stream = stream_of(launch);
  ScatterArgs args = s.args;
  auto* flat = static_cast<i64*>(launch.workspace);
  s.flat.run(&launch.operand[1], flat, stream);
  args.flat = flat;
  args.value = launch.operand[0];
  args.target = launch.operand[1 + s.flat.passes.size()];
  if (s.op == ScatterOp::assign) {
    args.claims.winner = static_cast<long long*>(at_bytes(launch.workspace, s.winner_at));
    if (s.key_at >= 0) args.claims.key = static_cast<Word*>(at_bytes(launch.workspace, s.key_at));
    run_assign(s, args, stream);
    return;
  }
  add_kernel<<<blocks_for(args.loops.both.count, block_threads), block_threads, 0, stream>>>(args);
  check_launch("launching a scatter that adds");
}

// Space for the claims: by position where that is small, else twice as many hashed entries as
// tuples.
void plan_claims(ScatterState& s, i64 positions, WorkspacePlan& ws) {
  const i64 tuples = s.flat.count;
  s.entries = positions;
  if (positions > 4 * tuples && positions > 1 << 16) {
    s.entries = static_cast<i64>(std::bit_ceil(static_cast<std::uint64_t>(2 * tuples)));
    s.args.claims.mask = s.entries - 1;
    s.key_at = ws.take(s.entries * 8);
  }
  s.winner_at = ws.take(s.entries * 8);
}

}  // namespace
}  // namespace cuda

Prepared prepare_scatter_cuda(const ScatterSpec& spec, Device) {
  using namespace cuda;
  if (spec.value.layout.size() == 0) return {{&run_nothing, nullptr}};
  const auto k = static_cast<i64>(spec.indices.size());
  const Layout& target = spec.target.layout;
  const Shape indexed(target.shape.begin(), target.shape.begin() + k);
  Strides weights(k, 1), steps(target.strides.begin(), target.strides.begin() + k);
  for (i64 i = k - 2; i >= 0; --i) weights[i] = weights[i + 1] * indexed[i + 1];
  require<DTypeError>(spec.value.dtype == spec.target.dtype,
                      "scatter on cuda: ", name(spec.value.dtype), " into ",
                      name(spec.target.dtype));
  auto s = std::make_shared<ScatterState>(
      ScatterState{{}, FlatIndex(spec.indices, indexed, weights), spec.op});
  s->args.loops = pair_loops(target, k, spec.value.layout, "scatter");
  const MergedLoops place = merge_loops(indexed, {&steps, 1}, -1);
  require<NotAvailable>(place.size.size() <= loop_axes, "scatter on cuda: more than ", loop_axes,
                        " indexed axes that cannot be merged in shape ", target.shape);
  s->args.place = device_loops(place, loop_axes);
  s->args.tuples = s->flat.count;
  s->args.type = spec.target.dtype;
  WorkspacePlan ws;
  ws.take(s->flat.count * 8);
  if (spec.op == ScatterOp::assign) plan_claims(*s, place.count, ws);
  Prepared p;
  p.workspace = ws.total();
  p.task = {&run_scatter, s};
  return p;
}

}  // namespace tessera
