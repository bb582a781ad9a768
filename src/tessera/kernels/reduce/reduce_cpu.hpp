// SPDX-License-Identifier: Apache-2.0
#pragma once
// The seam inside the cpu kernel: what a reduction does to contiguous elements of its work type.
// Only the files of this folder include it.
//   ReduceFns f = reduce_fns(ReduceOp::sum, DType::f32);

#include "tessera/kernels/reduce/reduce.hpp"

namespace tessera {

struct ReduceFns {
  i64 accumulator = 0;        // bytes of one accumulator
  DType result = DType::f32;  // what finish writes
  // One accumulator from n > 0 elements (of two inputs for vdot); `first` is the position of the
  // first.
  void (*row)(const void* a, const void* b, i64 n, i64 first, void* accumulator) = nullptr;
  // n accumulators side by side, each from one element (of two inputs for vdot); null for
  // positions.
  void (*spread)(const void* a, const void* b, i64 n, void* accumulators) = nullptr;
  // accumulators[j] = accumulators[j] (op) a[j].
  void (*lanes)(const void* a, const void* b, i64 n, void* accumulators) = nullptr;
  // For positions, which have no lanes, and truths: n accumulators from `rows` rows of neighbouring
  // elements, `step` bytes apart; fewer rows than 31 bits count.
  void (*columns)(const void* a, i64 step, i64 rows, i64 n, void* accumulators) = nullptr;
  // Whether nothing that follows can change an accumulator: null where everything may.
  bool (*settled)(const void* accumulator) = nullptr;
  // left[j] = left[j] (op) right[j]; the left ones stand for earlier positions.
  void (*combine)(void* left, const void* right, i64 n) = nullptr;
  void (*finish)(const void* accumulators, i64 n, void* results) = nullptr;
  void (*identity)(void* accumulator) = nullptr;
};

// `work` is never float16 or bfloat16: rows are converted to float before. Null rows: no such
// reduction.
ReduceFns reduce_sums(ReduceOp op, DType work);       // sum, prod, sum_abs2, vdot, count_nonzero
ReduceFns widened_sums(ReduceOp op);                  // sum, sum_abs2, vdot of float32 in float64
ReduceFns reduce_extrema(ReduceOp op, DType work);    // max, min, any, all
ReduceFns reduce_positions(ReduceOp op, DType work);  // argmax, argmin

}  // namespace tessera
