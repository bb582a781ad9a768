// SPDX-License-Identifier: Apache-2.0
#pragma once
// x[key] for those who have looked at the positions of the key themselves.
//   const Array y = read_within(x, Index(positions));

#include "tessera/array/array.hpp"

namespace tessera {

class Index;  // array/index.hpp

// The positions of all index arrays are within bounds: nobody looks at them again.
TESSERA_API Array read_within(const Array& x, const Index& key);

}  // namespace tessera
