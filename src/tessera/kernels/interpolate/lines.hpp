// SPDX-License-Identifier: Apache-2.0
#pragma once
// Values between given ones, by straight lines (NumPy's interp), in one pass over the places that are
// asked for.
//   if (Array y = interpolate_lines(x, xp, fp, {}, {})) return y;

#include <optional>

#include "tessera/array/array.hpp"

namespace tessera {

// fp at the rising places xp; before them `left`, behind them `right`, unless told its first and its
// last value. Real places, all arrays on the host, xp and fp of one positive length; no array for all
// others. float64, or complex128 where fp is complex.
TESSERA_API Array interpolate_lines(const Array& x, const Array& xp, const Array& fp,
                                    const std::optional<Value>& left,
                                    const std::optional<Value>& right);

}  // namespace tessera
