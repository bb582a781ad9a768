// SPDX-License-Identifier: Apache-2.0
// Solvers with vectors on disk: conversion only; tessera/_stored_solve.py has their faces.
#include "solve/stored_solve.hpp"

#include "linop/linop.hpp"
#include "solve/solve.hpp"
#include "streaming/stored_array.hpp"
#include "streaming/stored_operators.hpp"
#include "tessera/solve/stored/stored_solvers.hpp"

namespace tessera::python {

namespace {

using nb::literals::operator""_a;
using streaming::StoredArray;
using Options = const SolveOptions&;

StoredSolveOptions with_guess(Options o, nb::handle x0) {
  StoredSolveOptions all{o};
  if (!x0.is_none()) all.first_guess = *nb::inst_ptr<StoredArray>(x0);
  return all;
}

nb::tuple told(const StoredSolveResult& r) {
  return nb::make_tuple(r.x, r.iterations, r.converged, r.reason, list_of(r.history));
}

nb::tuple solve_stored_cg(nb::handle linop, const StoredArray& b, nb::handle x0, Options o,
                          nb::handle m) {
  const NamedLinop a = linop_from(linop, "cg");
  const CgSettings s{linop_or_none(m, "cg")};
  const StoredSolveOptions all = with_guess(o, x0);
  return told(released([&] { return stored_cg(a, b, all, s); }));
}

template <auto solver>
nb::tuple solve_stored_squares(nb::handle linop, const StoredArray& b, nb::handle x0, Options o,
                               double damp, double conlim) {
  const NamedLinop a = linop_from(linop, "least squares");
  const StoredSolveOptions all = with_guess(o, x0);
  return told(released([&] { return solver(a, b, all, LeastSquaresSettings{damp, conlim}); }));
}

nb::tuple solve_stored_minres(nb::handle linop, const StoredArray& b, nb::handle x0, Options o,
                              double shift, nb::handle m) {
  const NamedLinop a = linop_from(linop, "minres");
  const MinresSettings s{shift, linop_or_none(m, "minres")};
  const StoredSolveOptions all = with_guess(o, x0);
  return told(released([&] { return stored_minres(a, b, all, s); }));
}

nb::tuple solve_stored_gmres(nb::handle linop, const StoredArray& b, nb::handle x0, Options o,
                             i64 restart, nb::handle m) {
  const NamedLinop a = linop_from(linop, "gmres");
  const GmresSettings s{restart, linop_or_none(m, "gmres")};
  const StoredSolveOptions all = with_guess(o, x0);
  return told(released([&] { return stored_gmres(a, b, all, s); }));
}

nb::tuple solve_stored_fista(nb::handle linop, const StoredArray& b, nb::handle x0, Options o,
                             nb::handle g, nb::handle step, bool momentum, bool restart) {
  const NamedLinop a = linop_from(linop, "fista");
  const Prox map = prox_from(g, "fista");
  const StoredSolveOptions all = with_guess(o, x0);
  const FistaSettings s = fista_settings(step, momentum, restart);
  return told(released([&] { return stored_fista(a, b, map, all, s); }));
}

nb::tuple solve_stored_admm(nb::handle linop, const StoredArray& b, nb::handle x0, Options o,
                            nb::handle g, nb::handle G, double rho, i64 inner) {
  const NamedLinop a = linop_from(linop, "admm");
  const Prox map = prox_from(g, "admm");
  const AdmmSettings s{linop_or_none(G, "admm"), rho, inner};
  const StoredSolveOptions all = with_guess(o, x0);
  return told(released([&] { return stored_admm(a, b, map, all, s); }));
}

nb::tuple solve_stored_pdhg(nb::handle linops, nb::handle b, nb::handle x0, Options o, nb::handle f,
                            nb::handle g, double tau, double sigma, double theta) {
  const PdhgParts parts(linops, b, f);
  const NamedLinop a = linop_from(parts.operators.front(), "pdhg");
  const StoredArray right = *nb::inst_ptr<StoredArray>(parts.bs.front());
  const Prox data = parts.f(0), map = prox_from(g, "pdhg");
  std::vector<StoredPdhgTerm> more;
  for (std::size_t i = 1; i < parts.operators.size(); ++i) {
    more.push_back({linop_from(parts.operators[i], "pdhg"), parts.f(i)});
    if (!parts.bs[i].is_none()) more.back().b = *nb::inst_ptr<StoredArray>(parts.bs[i]);
  }
  const StoredSolveOptions all = with_guess(o, x0);
  return told(released([&] {
    return stored_pdhg(a, right, data, map, all, {tau, sigma, theta}, more);
  }));
}

nb::tuple solve_stored_power(nb::handle linop, nb::handle x0, Options o, nb::handle shape,
                             nb::handle dtype, std::uint64_t seed) {
  const NamedLinop a = linop_from(linop, "power_method");
  const StoredSolveOptions all = with_guess(o, x0);
  Space space;
  if (!dtype.is_none()) space.dtype = dtype_from(dtype);
  space.shape = shape_from(shape);
  const StoredEigenResult r =
      released([&] { return stored_power_method(a, space, {.axes = {}, .seed = seed}, all); });
  return nb::make_tuple(wrap(r.eigenvalues), told(r));
}

#define TESSERA_TOLD "tuple[StoredArray, int, bool, str, list[float]]"

void bind_linear(nb::module_& m) {
  m.def("_stored_cg", &solve_stored_cg, "A"_a, "b"_a, "x0"_a.none(), "options"_a, "M"_a.none(),
        nb::sig("def _stored_cg(A: NamedLinop, b: StoredArray, x0: StoredArray | None, options: "
                "_SolveOptions, M: NamedLinop | None) -> " TESSERA_TOLD));
  m.def("_stored_lsqr", &solve_stored_squares<&stored_lsqr>, "A"_a, "b"_a, "x0"_a.none(),
        "options"_a, "damp"_a, "conlim"_a,
        nb::sig("def _stored_lsqr(A: NamedLinop, b: StoredArray, x0: StoredArray | None, options: "
                "_SolveOptions, damp: float, conlim: float) -> " TESSERA_TOLD));
  m.def("_stored_lsmr", &solve_stored_squares<&stored_lsmr>, "A"_a, "b"_a, "x0"_a.none(),
        "options"_a, "damp"_a, "conlim"_a,
        nb::sig("def _stored_lsmr(A: NamedLinop, b: StoredArray, x0: StoredArray | None, options: "
                "_SolveOptions, damp: float, conlim: float) -> " TESSERA_TOLD));
  m.def("_stored_minres", &solve_stored_minres, "A"_a, "b"_a, "x0"_a.none(), "options"_a, "shift"_a,
        "M"_a.none(),
        nb::sig("def _stored_minres(A: NamedLinop, b: StoredArray, x0: StoredArray | None, "
                "options: _SolveOptions, shift: float, M: NamedLinop | None) -> " TESSERA_TOLD));
  m.def("_stored_gmres", &solve_stored_gmres, "A"_a, "b"_a, "x0"_a.none(), "options"_a, "restart"_a,
        "M"_a.none(),
        nb::sig("def _stored_gmres(A: NamedLinop, b: StoredArray, x0: StoredArray | None, "
                "options: _SolveOptions, restart: int, M: NamedLinop | None) -> " TESSERA_TOLD));
}

}  // namespace

void bind_stored_solve(nb::module_& m) {
  bind_linear(m);
  m.def(
      "_stored_fista", &solve_stored_fista, "A"_a, "b"_a, "x0"_a.none(), "options"_a, "g"_a.none(),
      "step"_a.none(), "momentum"_a, "restart"_a,
      nb::sig(
          "def _stored_fista(A: NamedLinop, b: StoredArray, x0: StoredArray | None, options: "
          "_SolveOptions, g: typing.Any, step: float | str | None, momentum: bool, restart: bool) "
          "-> " TESSERA_TOLD));
  m.def("_stored_admm", &solve_stored_admm, "A"_a, "b"_a, "x0"_a.none(), "options"_a, "g"_a.none(),
        "G"_a.none(), "rho"_a, "inner"_a,
        nb::sig("def _stored_admm(A: NamedLinop, b: StoredArray, x0: StoredArray | None, options: "
                "_SolveOptions, g: typing.Any, G: NamedLinop | None, rho: float, inner: int) "
                "-> " TESSERA_TOLD));
  m.def("_stored_pdhg", &solve_stored_pdhg, "A"_a, "b"_a, "x0"_a.none(), "options"_a, "f"_a.none(),
        "g"_a.none(), "tau"_a, "sigma"_a, "theta"_a,
        nb::sig("def _stored_pdhg(A: typing.Any, b: typing.Any, x0: StoredArray | None, options: "
                "_SolveOptions, f: typing.Any, g: typing.Any, tau: float, sigma: float, theta: "
                "float) -> " TESSERA_TOLD));
  m.def("_stored_power_method", &solve_stored_power, "A"_a, "x0"_a.none(), "options"_a, "shape"_a,
        "dtype"_a.none(), "seed"_a,
        nb::sig("def _stored_power_method(A: NamedLinop, x0: StoredArray | None, options: "
                "_SolveOptions, shape: ShapeLike, dtype: DTypeLike | None, seed: int) -> "
                "tuple[Array, " TESSERA_TOLD "]"));
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
      "A"_a, "x"_a.none(), nb::sig("def _works_on_disk(A: NamedLinop, x: typing.Any) -> bool"));
}

}  // namespace tessera::python
