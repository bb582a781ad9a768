// SPDX-License-Identifier: Apache-2.0
// Solvers with vectors on disk: conversion only; tessera/_stored_solve.py has their faces.
#include "solve/stored_solve.hpp"

#include "linop/linop.hpp"
#include "streaming/stored_array.hpp"
#include "streaming/stored_operators.hpp"
#include "tessera/solve/stored/stored_cg.hpp"

namespace tessera::python {

namespace {

using nb::literals::operator""_a;
using streaming::StoredArray;

nb::tuple solve_stored_cg(nb::handle linop, const StoredArray& b, nb::handle x0, nb::handle m,
                          double rtol, double atol, i64 maxiter) {
  const NamedLinop a = linop_from(linop, "cg");
  StoredSolveOptions o{.rtol = rtol, .atol = atol, .maxiter = maxiter};
  if (!x0.is_none()) o.x0 = *nb::inst_ptr<StoredArray>(x0);
  if (!m.is_none()) o.preconditioner = linop_from(m, "cg");
  const StoredSolveResult r = released([&] { return stored_cg(a, b, o); });
  nb::list history;
  for (const double h : r.history) history.append(h);
  return nb::make_tuple(r.x, r.iterations, r.converged, r.reason, history);
}

}  // namespace

void bind_stored_solve(nb::module_& m) {
  m.def("_stored_cg", &solve_stored_cg, "A"_a, "b"_a, "x0"_a.none(), "M"_a.none(), "rtol"_a,
        "atol"_a, "maxiter"_a,
        nb::sig("def _stored_cg(A: NamedLinop, b: StoredArray, x0: StoredArray | None, M: "
                "NamedLinop | None, rtol: float, atol: float, maxiter: int) -> tuple[StoredArray, "
                "int, bool, str, list[float]]"));
  m.def(
      "_stored_apply",
      [](nb::handle a, const StoredArray& x, const std::string& path) {
        return applied_as_job(linop_from(a, "apply"), x, path);
      },
      "A"_a, "x"_a, "path"_a,
      nb::sig("def _stored_apply(A: NamedLinop, x: StoredArray, path: str) -> StoredArray"));
  m.def(
      "_works_on_disk",
      [](nb::handle a, nb::handle x) {
        return works_on_disk(linop_from(a, "solve"), x, nb::none());
      },
      "A"_a, "x"_a, nb::sig("def _works_on_disk(A: NamedLinop, x: typing.Any) -> bool"));
}

}  // namespace tessera::python
