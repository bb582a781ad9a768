// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is a function of the module and a method of the array, from one callable.
//   both(m, c, "sum", "axis: int | None = None) -> Array", doc, f, "axis"_a = nb::none());

#include "core/common.hpp"

namespace tessera::python {

// ts.name(x, …) and x.name(…). `arguments` are those behind x, to the end of the signature.
template <class A, class F, class... Extra>
void both(nb::module_& m, nb::class_<A>& c, const char* name, std::string_view arguments,
          const char* doc, const F& f, const Extra&... extra) {
  const char* comma = sizeof...(Extra) > 0 ? ", " : "";
  const std::string function = cat("def ", name, "(x: ArrayLike", comma, arguments);
  const std::string method = cat("def ", name, "(self", comma, arguments);
  m.def(name, f, nb::arg("x"), extra..., nb::sig(function.c_str()), doc);
  c.def(name, f, extra..., nb::sig(method.c_str()), doc);
}

}  // namespace tessera::python
