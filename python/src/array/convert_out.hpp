// SPDX-License-Identifier: Apache-2.0
#pragma once
// What other protocols of Python ask of an array beside buffers: texts, rounding, addresses.
//   nb::dict d = interface_of(x, Kind::cpu, "__array_interface__");

#include "core/common.hpp"

namespace tessera::python {

// "{:.3f}" of one number is Python's; of several the text that print shows, and no format.
nb::object formatted(const Array& x, nb::str spec);
// A Python number as its own __format__ says.
nb::object formatted_number(const Value& value, nb::handle spec);
// round(x) of one number is an int, as of NumPy's scalars; everything else is ts.round.
nb::object rounded(nb::handle_t<Array> self, nb::handle digits);
// Where the elements lie, for libraries that ask for addresses. Absent (AttributeError) where the
// memory is of another kind, or NumPy has no such elements.
nb::dict interface_of(const Array& x, Kind kind, const char* name);

}  // namespace tessera::python
