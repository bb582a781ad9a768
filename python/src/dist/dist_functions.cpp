// SPDX-License-Identifier: Apache-2.0
// The element-wise functions of distributed arrays; see element_functions.hpp.
#include "array/element_functions.hpp"
#include "dist/dist_family.hpp"
#include "dist/dist_methods.hpp"

namespace tessera::python {

nb::object finished(DNDarray result, nb::handle out, std::string_view who) {
  if (out.is_none()) return wrap(std::move(result));
  const DNDarray& target = Distributed::target(out, who);
  require<ShapeError>(target.shape() == result.shape(), who, ": output array has shape ",
                      target.shape(), ", expected ", result.shape());
  const dist::Operand from(result);
  released([&] { dist::elementwise(ElementOp::copy, std::array{from}, target); });
  return nb::borrow(out);
}

void bind_dist_functions(nb::module_& m) { ElementFunctions<Distributed>::bind(m, "ts.dist"); }

}  // namespace tessera::python
