// SPDX-License-Identifier: Apache-2.0
#pragma once
// Matrix products by plain loops, any strides, without workspace: for the types that BLAS lacks
// (integers wrap, bool is logical, half types accumulate in float) and for matrices too small or
// too thin to be worth a BLAS call. Private to matmul.
//   loop_product(DType::i32, args, a, b, c, 0, args.m);

#include "tessera/base/dtype.hpp"

namespace tessera {

struct LoopArgs {
  i64 m = 0, n = 0, k = 0;
  i64 a_rows = 0, a_columns = 0, b_rows = 0, b_columns = 0, c_rows = 0, c_columns = 0;  // strides
  bool conj_a = false, conj_b = false;
  c128 alpha{1, 0}, beta{0, 0};
};

// Rows [begin, end) of c = alpha * op(a) op(b) + beta * c.
using LoopFn = void (*)(const LoopArgs& s, const void* a, const void* b, void* c, i64 begin,
                        i64 end);
LoopFn loop_product(DType dtype);

}  // namespace tessera
