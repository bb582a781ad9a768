// SPDX-License-Identifier: Apache-2.0
#pragma once
// Distributed arrays as text. to_text() writes what NumPy writes of the whole array, on every rank,
// and gathers only what is shown: the ends of the axes beyond a thousand elements. repr() tells
// what the array is, and asks nobody. Neither changes the array.
//   dist::to_text(x)  ->  [0 1 2 ... 997 998 999]
//   dist::repr(x)     ->  DNDarray(shape=(2000,), split=0, counts=[1000, 1000], dtype=int64, …)

#include <string>

#include "tessera/distributed/array/dnd_array.hpp"

namespace tessera::dist {

TESSERA_API std::string to_text(const DNDarray& x);  // collective
TESSERA_API std::string repr(const DNDarray& x);     // not collective

}  // namespace tessera::dist
