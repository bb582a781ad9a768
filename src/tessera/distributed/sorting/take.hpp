// SPDX-License-Identifier: Apache-2.0
#pragma once
// Choosing and writing elements of distributed arrays by position or by condition: NumPy's
// functions of these names (mode="raise"), with the results and errors of the local ones. What is a
// key is done by x[key] and x.assign, with its routes and its rules for the split of the result.
// The *_along_axis functions work where x lies when the axis is not split, and their results lie
// there too. What writes keeps the layout of x. Errors are raised on all ranks before anything is
// written.
//   DNDarray y = dist::take(x, indices, 1);   dist::put(x, indices, values);

#include "tessera/distributed/array/dnd_array.hpp"

namespace tessera::dist {

// Integers or booleans (0 and 1). No axis: of the flattened array.
TESSERA_API DNDarray take(const DNDarray& x, const DNDarray& indices,
                          std::optional<i64> axis = std::nullopt);
// x[flattened positions] = values, repeated or cut to the number of positions; the last of equal
// positions wins.
TESSERA_API void put(const DNDarray& x, const DNDarray& indices, const DNDarray& values);

TESSERA_API DNDarray take_along_axis(const DNDarray& x, const DNDarray& indices,
                                     std::optional<i64> axis = -1);
TESSERA_API void put_along_axis(const DNDarray& x, const DNDarray& indices, const DNDarray& values,
                                std::optional<i64> axis);

// Slices along an axis where a condition of rank 1 (any dtype) is not zero; it may be shorter than
// the axis. No axis: of the flattened array.
TESSERA_API DNDarray compress(const DNDarray& condition, const DNDarray& x,
                              std::optional<i64> axis = std::nullopt);
// The elements of x flattened where the condition flattened is not zero.
TESSERA_API DNDarray extract(const DNDarray& condition, const DNDarray& x);

}  // namespace tessera::dist
