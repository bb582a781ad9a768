// SPDX-License-Identifier: Apache-2.0
#pragma once
// The elements of a distributed array in another shape, in row-major order as NumPy's.
//   DNDarray m = dist::reshape(x, {-1, 3});   DNDarray v = dist::ravel(m);
//
// Note [split of a reshape]: the part of the shape before the split axis tells. If the new shape
// has an axis before which stand as many rows as before the old split axis, that one is split (of
// several the one with the old length, else the last): the same rows are cut, finer or coarser.
// Otherwise the first axis longer than 1 is. The rule looks at shapes only, an array without a
// split stays so, and one of rank 0 has none.
//
// Where the old cuts are cuts of the new axis too, they stay and nothing moves: always so where the
// split axis and all before it are kept. Otherwise the result is balanced and each element moves
// once at most, straight to where it is wanted.
//
// Note [views of a reshape]: a view where NumPy has one (by DNDarray::whole()) and every cut of the
// old split axis is one of the new: the same rows before both, and an entry of the new axis no
// longer than one of the old. That follows from shapes and splits; on few ranks, or by chance, the
// cuts may fit elsewhere too, and the result is a copy all the same. Where NumPy has a view it
// cannot be written: Note [views and copies].

#include <optional>

#include "tessera/distributed/array/dnd_array.hpp"

namespace tessera::dist {

// One -1 allowed. ShapeError as the local function's. With `new_split` the result is split along
// that axis instead (negative axes count from the end; IndexError).
TESSERA_API DNDarray reshape(const DNDarray& x, const Shape& shape,
                             std::optional<i64> new_split = {});
TESSERA_API DNDarray ravel(const DNDarray& x);    // of rank 1; NumPy copies what has gaps
TESSERA_API DNDarray flatten(const DNDarray& x);  // of rank 1; always a copy

// The split axis that the rule gives; shapes of one size, old split in range.
TESSERA_API std::optional<i64> split_of_reshape(const Shape& from, i64 split, const Shape& to);

}  // namespace tessera::dist
