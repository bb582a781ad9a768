// SPDX-License-Identifier: Apache-2.0
// The module tessera._dist, which stands beside tessera._tessera and is made with it: names of
// ts.dist do not mix with those of local arrays.
#include "dist/dist.hpp"

#include "linop/linop.hpp"

namespace tessera::python {

void bind_dist(nb::module_& m) {
  std::string name = nb::cast<std::string>(m.attr("__name__"));
  name = cat(name.substr(0, name.rfind('.') + 1), "_dist");
  PyObject* made = PyImport_AddModule(name.c_str());  // borrowed from sys.modules
  if (!made) throw nb::python_error();
  nb::module_ d = nb::borrow<nb::module_>(made);
  d.doc() = "The compiled part of tessera.dist; import tessera.dist instead.";
  bind_dist_comm(d);
  auto array = bind_dist_array(d);
  bind_dist_explain(d, array);
  bind_dist_creation(d);
  bind_dist_random(d);
  bind_dist_functions(d);
  bind_dist_reductions(d, array);
  bind_dist_order(d, array);
  bind_dist_moves(d, array);
  bind_dist_join(d, array);
  bind_dist_fft(d);
  bind_dist_io(d);
  bind_dist_apply(d);
  bind_dist_solve(d);
  bind_dist_linalg(d);
  explain_calls(d);
}

}  // namespace tessera::python
