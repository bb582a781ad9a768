// SPDX-License-Identifier: Apache-2.0
// `inspect.signature` of compiled functions, methods and classes: nanobind keeps what they take in
// words of its own. Its types are immutable from Python and, as the module has a domain of its own,
// nobody else's: they get the attribute here, which tessera/_signatures.py answers when it is asked.
#include "linop/linop.hpp"

namespace tessera::python {

void give_signatures(const nb::module_& m) {
  const nb::object asked = nb::cpp_function([](nb::handle target) {
    return nb::module_::import_("tessera._signatures").attr("signature_of")(target);
  });
  const nb::object attribute = nb::module_::import_("builtins").attr("property")(asked);
  const nb::object array = m.attr("Array"), function = m.attr("zeros"),
                   method = array.attr("__dict__")["sum"],
                   bound = m.attr("float32").attr("__repr__");
  for (const nb::object& one : {array, function, method, bound}) {
    PyTypeObject* const type = Py_TYPE(one.ptr());
    if (PyDict_SetItemString(type->tp_dict, "__signature__", attribute.ptr()) != 0)
      throw nb::python_error();
    PyType_Modified(type);
  }
}

}  // namespace tessera::python
