// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the binding files of the solvers share, also of those over ranks.
//   Prox g = prox_from(h, "fista");

#include "linop/linop.hpp"
#include "tessera/solve/core/options.hpp"
#include "tessera/solve/proximal/fista.hpp"
#include "tessera/solve/proximal/prox.hpp"
#include "tessera/solve/spectra/eigen.hpp"
#include "tessera/solve/spectra/lanczos.hpp"

namespace tessera::python {

// Classes of options and results.
void bind_solve_options(nb::module_& m);
// A Checkpoint, a path, or None.
Checkpoint checkpoint_from(nb::handle h);
// A Prox, a function of (array, t), or None for no regulariser.
Prox prox_from(nb::handle h, std::string_view who);
// `step`: a number, "search", or None for the power method's.
FistaSettings fista_settings(nb::handle step, bool momentum, bool restart);
// What a solver takes one or several of: the items of a list or tuple; nothing for anything else.
std::optional<std::vector<nb::object>> several(nb::handle h);
// The terms of pdhg: one of each, or lists as long as that of the operators.
struct PdhgParts {
  std::vector<nb::object> operators, bs, fs;
  PdhgParts(nb::handle a, nb::handle b, nb::handle f);
  Prox f(std::size_t i) const;
};
std::optional<NamedLinop> linop_or_none(nb::handle h, std::string_view who);
Which which_from(const std::string& name);  // of lanczos
// A docstring with a paragraph on each argument before its examples; ArgumentError for one of which nothing is
// said. `over_ranks` adds what all solvers over ranks take: `before` and `after` are what one takes around it.
std::string with_parameters(const std::string& solver, const std::vector<std::string>& arguments,
                            std::string_view doc, bool ranks = false);
const char* over_ranks(const char* solver, std::vector<std::string> before,
                       const std::vector<std::string>& after, const char* doc);
nb::list list_of(const std::vector<double>& v);

}  // namespace tessera::python
