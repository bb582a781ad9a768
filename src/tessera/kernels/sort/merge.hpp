// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sorted runs that lie one behind the other become one: bit for bit what a stable sort of all makes
// of them, in fewer passes and without work space. For what comes from several ranks in order.
//   Array all = merged(came, {{3, 0, 5}});

#include <span>
#include <vector>

#include "tessera/array/array.hpp"

namespace tessera {

// The runs are used as memory to merge in: what is in `runs` afterwards is nobody's business. One
// run is itself the result. ShapeError where the lengths are not those of the array.
TESSERA_API Array merged(const Array& runs, std::span<const i64> lengths);
// The same with `room`, of the shape of `runs` and apart from it, instead of memory of its own: the
// result is one of the two. Both dense, on the cpu.
TESSERA_API Array merged(const Array& runs, std::span<const i64> lengths, const Array& room);

// Of sorted runs of which only the next items are in memory, one behind the other in the order in
// which equal items stay: how many of each come before all that is not in memory yet. `goes_on`:
// there is more of the run; its window is not empty then. At least one window is taken whole.
TESSERA_API std::vector<i64> mergeable(std::span<const Array> windows,
                                       const std::vector<bool>& goes_on);

}  // namespace tessera
