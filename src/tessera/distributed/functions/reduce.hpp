// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sums, products, extrema, truth values, positions, means and norms of distributed arrays: the
// dtypes, errors and NaN rules of the local functions of the same names. Each rank reduces its own
// part; where the split axis is not among the reduced ones that is all, nothing is sent and the
// split moves down with its axis. Otherwise the partial results of the ranks are joined and every
// rank has the whole (no split). Nothing of x moves in either case.
//   DNDarray s = dist::sum(x, Axes{0});   double d = dist::norm(x).item().as<double>();
//
// Note [order of a distribution reduction]: partial results are joined in the order of the ranks, by
// the local reduction. Integers, truth values, extrema and positions do not depend on the number of
// ranks; sums of floats are the same bits on every rank and in every run with the same counts, but
// rounded differently for another number of ranks. float16 and bfloat16 travel as float32 and are
// rounded once, at the end.

#include <optional>

#include "tessera/distributed/array/dnd_array.hpp"
#include "tessera/kernels/reduce/reduce.hpp"

namespace tessera::dist {

TESSERA_API DNDarray reduce(ReduceOp op, const DNDarray& x, const std::optional<Axes>& axes = {},
                            bool keepdims = false, std::optional<DType> dtype = {});

// dist::sum(x), dist::argmax(x, Axes{1}), …
#define TESSERA_REDUCE_BY_NAME(op)                                             \
  inline DNDarray op(const DNDarray& x, const std::optional<Axes>& axes = {},  \
                     bool keepdims = false, std::optional<DType> dtype = {}) { \
    return reduce(ReduceOp::op, x, axes, keepdims, dtype);                     \
  }
TESSERA_REDUCE_BY_NAME(sum)
TESSERA_REDUCE_BY_NAME(prod)
TESSERA_REDUCE_BY_NAME(max)
TESSERA_REDUCE_BY_NAME(min)
TESSERA_REDUCE_BY_NAME(any)
TESSERA_REDUCE_BY_NAME(all)
TESSERA_REDUCE_BY_NAME(argmax)
TESSERA_REDUCE_BY_NAME(argmin)
TESSERA_REDUCE_BY_NAME(count_nonzero)
#undef TESSERA_REDUCE_BY_NAME

TESSERA_API DNDarray mean(const DNDarray& x, const std::optional<Axes>& axes = {},
                          bool keepdims = false);
// One round of messages: means and squares of the parts are joined (Chan, Golub and LeVeque).
TESSERA_API DNDarray variance(const DNDarray& x, const std::optional<Axes>& axes = {}, i64 ddof = 0,
                              bool keepdims = false);
TESSERA_API DNDarray deviation(const DNDarray& x, const std::optional<Axes>& axes = {},
                               i64 ddof = 0, bool keepdims = false);  // NumPy's std
// sum conj(a) b over all elements, of rank 0. Where the two lie differently, b is brought to a; of
// different shapes both are flattened.
TESSERA_API DNDarray vdot(const DNDarray& a, const DNDarray& b);
// sqrt(sum |x|^2).
TESSERA_API DNDarray norm(const DNDarray& x, const std::optional<Axes>& axes = {},
                          bool keepdims = false);

// The ranks that hold any of x's entries along its split axis; all ranks know them.
TESSERA_API std::vector<int> ranks_with_entries(const DNDarray& x);

}  // namespace tessera::dist
