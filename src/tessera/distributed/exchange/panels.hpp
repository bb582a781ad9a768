// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions of whole lines along the split axis, some lines at a time: those of a panel come
// together, are mapped, and the results go straight to where they belong. Each element moves twice,
// and what lies beside operand and result is a panel, not a copy. Private to dist.
//   by_panels(x, out, [](const Array& lines, i64) { return tessera::sort(lines, 0); });

#include <functional>

#include "tessera/distributed/array/dnd_array.hpp"

namespace tessera::dist {

// Whole lines along the split axis of x, some of all; the second number is how many entries of the
// axis that is split meanwhile come before them.
using OnLines = std::function<Array(const Array& lines, i64 first)>;

// The longest axis but the split one, which x must have: the one that is split meanwhile.
TESSERA_API i64 longest_other(const Shape& shape, i64 axis);

// `out` has the shape of x but for the split axis of x, along which it is split, or it has no
// split. It may be x itself. What `f` gives is cast to its dtype when it has arrived. `most`: bytes
// of a panel, per rank.
TESSERA_API void by_panels(const DNDarray& x, const DNDarray& out, const OnLines& f,
                           i64 most = i64{12} << 20);

}  // namespace tessera::dist
