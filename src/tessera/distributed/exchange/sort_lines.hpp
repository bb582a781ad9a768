// SPDX-License-Identifier: Apache-2.0
#pragma once
// A distributed array as lines along its split axis, and flattened: the shapes in which the
// ordering functions of dist work. Private to them.
//   Array lines = lines_of(x.local(), axis);   // (entries along the axis, number of lines)

#include "tessera/distributed/array/dnd_array.hpp"

namespace tessera::dist {

// The parts of x are intervals of x flattened, or x has no split.
bool flat_in_place(const DNDarray& x);
// The distribution of ravel(x): where the parts are, if those are intervals, else even.
Distribution flat_distribution(const DNDarray& x);
std::vector<i64> local_sizes(const DNDarray& x);  // elements by rank

// Column j of the result is line j of x along `axis`; row-major over the other axes. Local.
Array lines_of(const Array& local, i64 axis);
Array from_lines(const Array& lines, const Shape& local_shape, i64 axis);

}  // namespace tessera::dist
