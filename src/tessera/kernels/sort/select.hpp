// SPDX-License-Identifier: Apache-2.0
#pragma once
// Some entries of sorted lines, without sorting them: what medians, quantiles and the best few
// need. In the order of sort (NaN last). On the host.
//   Array middle = entries_in_order(x, 0, {{n / 2}});   Best top = best_entries(x, 10, -1, true);

#include <span>

#include "tessera/array/array.hpp"

namespace tessera {

// Entry places[j] of every line along an axis is row j of the result along that axis: the values of
// take(sort(x, axis), places, axis). Places ascend. Of zeros those with a sign come first.
TESSERA_API Array entries_in_order(const Array& x, i64 axis, std::span<const i64> places);

struct Best {
  Array values, indices;
};
// The k largest or smallest of every line in order, equal ones by their indices; k of 1 to the
// length. Not of complex numbers.
TESSERA_API Best best_entries(const Array& x, i64 k, i64 axis, bool largest);

}  // namespace tessera
