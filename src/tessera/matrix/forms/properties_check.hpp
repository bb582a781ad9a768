// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether the elements of a matrix really have a property. Reads them all unless the form says
// enough; declares nothing. Exact, but for is_unitary: to within rounding.
//   if (check(m, Property::is_symmetric)) m.properties().declare(Property::is_symmetric, true);

#include "tessera/matrix/forms/any_matrix.hpp"

namespace tessera {

TESSERA_API bool check(const AnyMatrix& m, Property p);

}  // namespace tessera
