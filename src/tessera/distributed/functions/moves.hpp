// SPDX-License-Identifier: Apache-2.0
#pragma once
// Elements of distributed arrays in other places: axes exchanged, added and dropped, turned and
// rolled; arrays padded, repeated and tiled; differences; diagonals and triangles. NumPy's results
// and errors. The split follows its axis. What the layout alone can say sends nothing and is a view
// that shares writes; elsewhere only what changes its rank travels, once. Joining is in join.hpp.
//   DNDarray t = dist::transpose(x);   DNDarray d = dist::diff(x, 1, 0);
//
//   function                                            messages
//   transpose permute swapaxes moveaxis expand_dims     none: views
//   squeeze                                             none: a view; without its split axis it is
//                                                       the owner's (DNDarray::owned_by_one_rank)
//   broadcast_to                                        none: a view; a split axis of length 1 that
//                                                       is repeated: its entry, to all
//   flip                                                a view, unless the split axis is turned
//   roll                                                along the split axis, what changes its rank
//   pad                                                 constant: none. edge, reflect, symmetric,
//                                                       wrap: along the split axis what is repeated
//   repeat tril triu diagonal diag                      none; diagonal of a matrix is a view
//   tile                                                where the split axis is repeated
//   diff                                                along the split axis, n entries per rank
// Layouts: flip, roll, broadcast_to, tril and triu keep x's; pad gives the first rank what comes
// before and the last what comes after; repeat and diagonal keep entries where they are; tile of
// the split axis is balanced; diff keeps the place of the first of two entries.

#include <optional>
#include <utility>
#include <vector>

#include "tessera/distributed/array/dnd_array.hpp"

namespace tessera::dist {

TESSERA_API DNDarray transpose(const DNDarray& x);  // all axes reversed
TESSERA_API DNDarray permute(const DNDarray& x, const Shape& axes);
TESSERA_API DNDarray swapaxes(const DNDarray& x, i64 a, i64 b);
TESSERA_API DNDarray moveaxis(const DNDarray& x, const Shape& source, const Shape& destination);
TESSERA_API DNDarray expand_dims(const DNDarray& x, i64 axis);
TESSERA_API DNDarray squeeze(const DNDarray& x, const std::optional<Shape>& axes = {});
TESSERA_API DNDarray broadcast_to(const DNDarray& x, const Shape& shape);

TESSERA_API DNDarray flip(const DNDarray& x, const std::optional<Shape>& axes = {});  // none: all
// No axes: over the flattened array. One shift for all axes, or one each.
TESSERA_API DNDarray roll(const DNDarray& x, const Shape& shifts, const Shape& axes);

enum class PadMode : std::uint8_t { constant, edge, reflect, symmetric, wrap };
// One pair (before, after) per axis, or one for all.
using PadWidths = std::vector<std::pair<i64, i64>>;
TESSERA_API DNDarray pad(const DNDarray& x, const PadWidths& widths,
                         PadMode mode = PadMode::constant, const Value& value = Value(0));

// No axis: over the flattened array. `repeats`: one number, or an array of integers that is the
// same on every rank, one per entry of the axis.
TESSERA_API DNDarray repeat(const DNDarray& x, i64 repeats, std::optional<i64> axis = {});
TESSERA_API DNDarray repeat(const DNDarray& x, const Array& repeats, std::optional<i64> axis = {});
TESSERA_API DNDarray tile(const DNDarray& x, const Shape& repeats);
TESSERA_API DNDarray diff(const DNDarray& x, i64 order = 1, i64 axis = -1);

TESSERA_API DNDarray diagonal(const DNDarray& x, i64 offset = 0, i64 axis1 = 0, i64 axis2 = 1);
// Of a vector the matrix with this diagonal, split along its rows; of a matrix its diagonal.
TESSERA_API DNDarray diag(const DNDarray& x, i64 offset = 0);
TESSERA_API DNDarray tril(const DNDarray& x, i64 offset = 0);
TESSERA_API DNDarray triu(const DNDarray& x, i64 offset = 0);

}  // namespace tessera::dist
