// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sorted runs that lie one behind the other become one: bit for bit what a stable sort of all makes
// of them, in fewer passes and without work space. For what comes from several ranks in order.
//   Array all = merged(came, {{3, 0, 5}});

#include <span>

#include "tessera/array/array.hpp"

namespace tessera {

// The runs are used as memory to merge in: what is in `runs` afterwards is nobody's business. One
// run is itself the result. ShapeError where the lengths are not those of the array.
TESSERA_API Array merged(const Array& runs, std::span<const i64> lengths);

}  // namespace tessera
