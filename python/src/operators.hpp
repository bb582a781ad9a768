// SPDX-License-Identifier: Apache-2.0
#pragma once
// The catalogue of operators as Python classes: constructors, and which class shows which kind.
//   bind_operators(m, base);   nb::handle c = class_of_kind("Diagonal");

#include "linop.hpp"

namespace tessera::python {

void bind_operators(nb::module_& m, nb::class_<LinopObject>& base);
// The class of a kind; NamedLinop for kinds without their own.
nb::handle class_of_kind(std::string_view kind);

}  // namespace tessera::python
