// SPDX-License-Identifier: Apache-2.0
#pragma once
// Matrix products by plain loops, any strides, without workspace: for the types that BLAS lacks
// (integers wrap, bool is logical, half types accumulate in float) and for matrices too small or
// too thin to be worth a BLAS call. Private to matmul, and to matrix/ for products that are not
// worth the preparation of a kernel.
//   loop_product(DType::i32)(args, a, b, c, 0, args.m);

#include "tessera/base/dtype.hpp"

namespace tessera {

struct LoopArgs {
  i64 m = 0, n = 0, k = 0;
  i64 a_rows = 0, a_columns = 0, b_rows = 0, b_columns = 0, c_rows = 0, c_columns = 0;  // strides
  bool conj_a = false, conj_b = false;
  c128 alpha{1, 0}, beta{0, 0};
};

// Elements of b up to which its rows are put side by side on the stack where they do not lie so.
inline constexpr i64 most_turned = 1024;

// Whether loops of floats beat the call of a BLAS function. Portable code uses registers of 16
// bytes, BLAS on x86 longer ones; loops over single columns use none.
constexpr bool is_for_loops(DType dtype, i64 m, i64 n, i64 k) {
#if defined(__x86_64__)
  constexpr i64 in_registers = 1024;  // multiplications
#else
  constexpr i64 in_registers = 32768;
#endif
  const bool real = dtype == DType::f32 || dtype == DType::f64;
  const bool wide = n >= 4 && n <= most_turned && k <= most_turned && n * k <= most_turned;
  const i64 most = real && wide ? in_registers : 256;
  return m <= most && n <= most && k <= most && m * n <= most && m * n * k <= most;
}

// Rows [begin, end) of c = alpha * op(a) op(b) + beta * c.
using LoopFn = void (*)(const LoopArgs& s, const void* a, const void* b, void* c, i64 begin,
                        i64 end);
LoopFn loop_product(DType dtype);

}  // namespace tessera
