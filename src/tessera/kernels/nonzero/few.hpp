// SPDX-License-Identifier: Apache-2.0
#pragma once
// Counting and finding what is not zero among few dense elements on the host, without a plan.
// Private to the array functions.
//   if (i64 found = 0; count_few(x, found)) ...

#include <vector>

#include "tessera/array/array.hpp"

namespace tessera {

// False: they are many, or of another layout, device or dtype.
bool count_few(const Array& x, i64& found);
// One array per axis, as of nonzero(); rank 1 or higher.
bool find_few(const Array& x, std::vector<Array>& positions);

}  // namespace tessera
