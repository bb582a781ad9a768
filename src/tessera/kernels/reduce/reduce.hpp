// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sums, products, extrema, truth values and positions over any set of axes, and the inner product.
// NumPy's dtypes (small integers are summed in 64 bits), its errors for empty extrema, NaN handling
// as NumPy's plain functions. Sums are pairwise or blocked: error grows with log n, not n.
//   Array s = reduce(ReduceOp::sum, x, {0, 2}, /*keepdims=*/false);   Value d = vdot(x, y).item();

#include <optional>

#include "tessera/array/array.hpp"
#include "tessera/kernels/kernel.hpp"

namespace tessera {

#define TESSERA_REDUCE_OPS(REDUCE)       \
  REDUCE(sum)                            \
  REDUCE(prod)                           \
  REDUCE(max)                            \
  REDUCE(min)                            \
  REDUCE(any)                            \
  REDUCE(all)                            \
  REDUCE(argmax)                         \
  REDUCE(argmin)                         \
  REDUCE(count_nonzero)                  \
  REDUCE(sum_abs2) /* sum |x|^2, real */ \
  REDUCE(vdot)     /* sum conj(a) b: two inputs */
enum class ReduceOp : std::uint8_t {
#define REDUCE(name) name,
  TESSERA_REDUCE_OPS(REDUCE)
#undef REDUCE
};
TESSERA_API std::string_view name(ReduceOp op);

// Operands of a launch: in, (in2 for vdot), out. `out` has the rank of `in`; reduced axes have
// size 1. argmax/argmin: exactly the reduced axes, position counted in row-major order over them,
// int64 out. out.dtype is the dtype of the accumulation's result as NumPy's (sum of int8 -> int64);
// accumulate in it (float16 and bfloat16 accumulate in float32).
struct ReduceSpec {
  ReduceOp op = ReduceOp::sum;
  Operand in;
  Operand in2;
  Operand out;
};

using Axes = Shape;  // nullopt = all axes
TESSERA_API Array reduce(ReduceOp op, const Array& x, const std::optional<Axes>& axes = {},
                         bool keepdims = false, std::optional<DType> dtype = {});
TESSERA_API Array mean(const Array& x, const std::optional<Axes>& axes = {}, bool keepdims = false);
TESSERA_API Array variance(const Array& x, const std::optional<Axes>& axes = {}, i64 ddof = 0,
                           bool keepdims = false);
TESSERA_API Array vdot(const Array& a, const Array& b);  // rank 0, on the operands' device
TESSERA_API Array norm(const Array& x);                  // sqrt(sum |x|^2), rank 0, real
TESSERA_API DType reduce_dtype(ReduceOp op, DType in);

}  // namespace tessera
