// SPDX-License-Identifier: Apache-2.0
// The element-wise functions of local arrays; see element_functions.hpp.
#include "array/array_family.hpp"
#include "array/element_functions.hpp"

namespace tessera::python {

// Every operation has its line in element_docs, except copy and where, which have their own
// functions.
constexpr int operation_count = 0
#define ELEMENT(name, arity, family) +1
    TESSERA_ELEMENT_OPS(ELEMENT)
#undef ELEMENT
    ;
static_assert(std::size(element_docs) == operation_count - 2);

void bind_functions(nb::module_& m) { ElementFunctions<Local>::bind(m, "ts"); }

}  // namespace tessera::python
