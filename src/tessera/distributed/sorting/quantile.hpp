// SPDX-License-Identifier: Apache-2.0
#pragma once
// Medians, quantiles and percentiles of distributed arrays: NumPy's functions of these names with
// method="linear", NaN where there is a NaN. Nothing is sorted over the ranks: of a line that is
// distributed only samples travel, of many lines each goes to one rank. Over the split axis, and of
// the flattened array (no axes), every rank has the result; over other axes nothing is sent and the
// split stays with its axis.
//   DNDarray m = dist::median(x, Axes{0});
//   DNDarray q = dist::quantile(x, Array::of<double>({.1, .9}), Axes{0, 2});

#include "tessera/distributed/array/dnd_array.hpp"
#include "tessera/kernels/reduce/reduce.hpp"

namespace tessera::dist {

// The mean of the middle one or two; NaN of nothing.
TESSERA_API DNDarray median(const DNDarray& x, const std::optional<Axes>& axes = {},
                            bool keepdims = false);
// `q` is the same on every rank; its axes come first in the result. The dtype is that of x (float64
// for integers) promoted with q's. DTypeError for bool and complex x, ArgumentError for q outside
// [0, 1], IndexError where there is nothing.
TESSERA_API DNDarray quantile(const DNDarray& x, const Array& q,
                              const std::optional<Axes>& axes = {}, bool keepdims = false);
// The same for q of 0 to 100.
TESSERA_API DNDarray percentile(const DNDarray& x, const Array& q,
                                const std::optional<Axes>& axes = {}, bool keepdims = false);

}  // namespace tessera::dist
