// SPDX-License-Identifier: Apache-2.0
#pragma once
// Index arrays of gathers and scatters on CUDA: one flat position per index tuple j, with negative
// indices counted from the end, in a dense int64 array of the workspace. Bounds were checked
// before.
//   FlatIndex flat(indices, sizes, weights);   flat.run(pointers, workspace, stream);

#include <vector>

#include "tessera/kernels/cuda/grid.cuh"
#include "tessera/kernels/cuda/loops.cuh"
#include "tessera/kernels/kernel.hpp"

namespace tessera::cuda {

struct FlatArgs {
  Loops loops;  // operand 0: the index array
  const i64* index;
  i64* flat;
  i64 size, weight;
  bool first;
};

#ifdef __CUDACC__
// Internal linkage: each file that gathers has its own.
static __global__ void __launch_bounds__(block_threads)
    flatten_indices(const __grid_constant__ FlatArgs args) {
  for (i64 j = thread_position(); j < args.loops.count; j += thread_count()) {
    i64 at[1];
    args.loops.offsets(j, at);
    const i64 i = args.index[at[0]], wrapped = (i < 0 ? i + args.size : i) * args.weight;
    args.flat[j] = args.first ? wrapped : args.flat[j] + wrapped;
  }
}

// flat[j] = sum over k of weight[k] * index_k[j]; j counts in row-major order.
struct FlatIndex {
  std::vector<FlatArgs> passes;
  i64 count = 1;

  FlatIndex(const std::vector<Operand>& indices, const Shape& sizes, const Strides& weights) {
    for (std::size_t k = 0; k < indices.size(); ++k) {
      const MergedLoops m =
          merge_loops(indices[k].layout.shape, {&indices[k].layout.strides, 1}, -1);
      require<NotAvailable>(m.size.size() <= loop_axes,
                            "indexing on cuda: an index array of shape ", indices[k].layout.shape,
                            " has more than ", loop_axes, " axes that cannot be merged");
      FlatArgs a{device_loops(m, loop_axes),   nullptr, nullptr, sizes[static_cast<i64>(k)],
                 weights[static_cast<i64>(k)], k == 0};
      count = a.loops.count;
      passes.push_back(a);
    }
  }
  // pointer[k] are the index arrays.
  void run(void* const* pointer, i64* flat, cudaStream_t stream) const {
    for (std::size_t k = 0; k < passes.size(); ++k) {
      FlatArgs a = passes[k];
      a.index = static_cast<const i64*>(pointer[k]);
      a.flat = flat;
      flatten_indices<<<blocks_for(count, block_threads), block_threads, 0, stream>>>(a);
      check_launch("launching the pass over an index array");
    }
  }
};
#endif

// Row-major loops over (j, r): `both` splits a linear position into r (operand 0) and j (operand
// 1).
struct PairLoops {
  Loops both;
  Loops outer;  // over j, in row-major order
  Loops inner;  // over r
};

// Operand 0: the indexed array (strides of its remaining axes); operand 3: the array of shape
// (j..., r...).
inline PairLoops pair_loops(const Layout& indexed, i64 indexed_axes, const Layout& other,
                            std::string_view who) {
  const i64 outer_rank = other.ndim() - (indexed.ndim() - indexed_axes);
  const auto part = [](const auto& v, i64 from, i64 to) {
    return Shape(v.begin() + from, v.begin() + to);
  };
  Strides none(outer_rank, 0);
  const std::array<Strides, 4> outer_strides = {none, none, none,
                                                part(other.strides, 0, outer_rank)};
  const i64 rest = other.ndim() - outer_rank;
  const Strides zero(rest, 0);
  const std::array<Strides, 4> inner_strides = {part(indexed.strides, indexed_axes, indexed.ndim()),
                                                zero, zero,
                                                part(other.strides, outer_rank, other.ndim())};
  const MergedLoops outer = merge_loops(part(other.shape, 0, outer_rank), outer_strides, -1);
  const MergedLoops inner =
      merge_loops(part(other.shape, outer_rank, other.ndim()), inner_strides, 3);
  require<NotAvailable>(outer.size.size() <= loop_axes && inner.size.size() <= loop_axes, who,
                        " on cuda: shape ", other.shape, " has more than ", loop_axes,
                        " axes that cannot be merged");
  MergedLoops both;
  both.size = {std::max<i64>(1, inner.count), std::max<i64>(1, outer.count)};
  both.stride = {Strides{1, 0}, Strides{0, 1}, Strides{0, 0}, Strides{0, 0}};
  both.count = inner.count * outer.count;
  return {device_loops(both, loop_axes), device_loops(outer, loop_axes),
          device_loops(inner, loop_axes)};
}

}  // namespace tessera::cuda
