// SPDX-License-Identifier: Apache-2.0
// The extension module tessera._tessera: one call per topic.
#include "array/array_object.hpp"
#include "array/linalg.hpp"
#include "core/budgets.hpp"
#include "core/compute.hpp"
#include "core/reports.hpp"
#include "dist/dist.hpp"
#include "linop/linop.hpp"
#include "matrix/matrix.hpp"
#include "store/snapshot.hpp"
#include "streaming/io_accelerator.hpp"
#include "streaming/stored_array.hpp"

NB_MODULE(_tessera, m) {
  using namespace tessera::python;
  m.doc() = "The compiled part of tessera; import tessera instead.";
  m.attr("_version") = TESSERA_VERSION;
  nb::set_leak_warnings(false);  // arrays in globals at exit are no leak
  bind_errors(m);
  bind_dtype(m);
  bind_device(m);
  bind_budgets(m);
  auto array = bind_array(m);
  bind_creation(m);
  bind_functions(m);
  bind_reductions(m, array);
  bind_manipulation(m, array);
  bind_fft(m);
  bind_matrix_solving(m);
  bind_linalg(m);
  bind_random(m);
  bind_config(m);
  bind_compute(m);
  bind_reports(m);
  bind_io(m);
  bind_snapshot(m);
  bind_names(m);
  bind_named_shapes(m);
  bind_linop(m);
  bind_plan(m);
  bind_fit(m);
  bind_solve(m);
  bind_split(m);
  bind_matrix(m);
  bind_stored(m);
  bind_io_accelerator(m);
  bind_dist(m);
  explain_calls(m);  // after all else: a further signature makes a function anew
  quicken_calls(m);
  bind_host_calls(m);
  give_signatures(m);
}
