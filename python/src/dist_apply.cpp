// SPDX-License-Identifier: Apache-2.0
// Operators on distributed arrays: A(x) with a choice of the dim that is dealt out, what it does,
// and conjugate gradients.
#include "tessera/dist/apply.hpp"

#include "dist.hpp"
#include "linop.hpp"
#include "tessera/solve/cg_ranks.hpp"

namespace tessera::python {

namespace {

using nb::literals::operator""_a;

dist::ApplyOptions options_of(nb::handle along) {
  dist::ApplyOptions options;
  if (!along.is_none()) options.along = dimension_from(along);
  return options;
}

nb::object split_of(const Spread& spread) {
  if (!spread.split) return nb::none();
  return nb::int_(*spread.split);
}

// An exception of the callback stops the iterations of all ranks; it is this rank's alone.
RanksResult solve_cg(nb::handle a, nb::handle b, nb::handle x0, double rtol, double atol,
                     i64 maxiter, nb::handle callback, nb::handle along) {
  const NamedLinop& op = linop_from(a, "cg");
  const DNDarray rhs = as_dist(b, "cg");
  RanksOptions options{.rtol = rtol, .atol = atol, .maxiter = maxiter};
  if (!x0.is_none()) options.x0 = as_dist(x0, "cg", rhs.comm());
  options.along = options_of(along).along;
  std::optional<nb::python_error> failed;
  if (!callback.is_none()) {
    options.callback = [&](i64 iteration, double residual) {
      nb::gil_scoped_acquire locked;
      try {
        return callback(iteration, residual).ptr() != Py_False;
      } catch (nb::python_error& e) {
        failed.emplace(e);
        return false;
      }
    };
  }
  RanksResult r = released([&] { return cg(op, rhs, options); });
  if (failed) throw nb::python_error(*failed);
  return r;
}

void bind_cg(nb::module_& m) {
  nb::class_<RanksResult>(m, "SolveResult",
                          "What ``ts.dist.cg`` found.\n\n"
                          ">>> A = ts.Diagonal([1.0, 4.0], ('X',))\n"
                          ">>> ts.dist.cg(A, ts.dist.ones(2, split=0)).converged\nTrue\n")
      .def_prop_ro(
          "x", [](const RanksResult& r) { return wrap(r.x); }, nb::sig("def x(self) -> DNDarray"),
          "The solution; it lies as the right-hand side.")
      .def_ro("iterations", &RanksResult::iterations, "How many were made.")
      .def_ro("converged", &RanksResult::converged, "The residual is as small as was asked for.")
      .def_prop_ro(
          "reason", [](const RanksResult& r) { return r.reason; },
          nb::sig("def reason(self) -> str"), "Why it ended, in a sentence.")
      .def_prop_ro(
          "history",
          [](const RanksResult& r) {
            nb::list all;
            for (const double h : r.history) all.append(h);
            return all;
          },
          nb::sig("def history(self) -> list[float]"), "The relative residual of each iteration.")
      .def(
          "__repr__",
          [](const RanksResult& r) {
            return cat("<SolveResult: ", r.iterations, " iterations, ", r.reason, ">");
          },
          nb::sig("def __repr__(self) -> str"));
  m.def("cg", &solve_cg, "A"_a, "b"_a, "x0"_a = nb::none(), nb::kw_only(), "rtol"_a = 1e-6,
        "atol"_a = 0.0, "maxiter"_a = 100, "callback"_a = nb::none(), "along"_a = nb::none(),
        nb::sig("def cg(A: NamedLinop, b: ArrayLike, x0: ArrayLike | None = None, *, rtol: float = "
                "1e-6, atol: float = 0.0, maxiter: int = 100, callback: typing.Callable[[int, "
                "float], typing.Any] | None = None, along: DimLike | None = None) -> SolveResult"),
        "Conjugate gradients over ranks for A x = b with A Hermitian and positive "
        "(semi)definite. ``callback(iteration, residual)`` stops all ranks by returning False on "
        "one.\n\n"
        ">>> A = ts.Diagonal([1.0, 4.0], ('X',))\n"
        ">>> ts.dist.cg(A, ts.dist.array([1.0, 2.0], split=0)).x.numpy().round(6).tolist()\n"
        "[1.0, 0.5]\n");
}

}  // namespace

void bind_dist_apply(nb::module_& m) {
  bind_cg(m);
  nb::class_<dist::ApplyRoute>(
      m, "ApplyRoute",
      "What an operator will do with a distributed array: what moves, and what each rank "
      "applies.\n\n"
      ">>> A = ts.Diagonal(ts.ones(6), ('X',))\n"
      ">>> ts.dist.explain_apply(A, ts.dist.ones(6, split=0)).bytes\n0\n")
      .def_prop_ro(
          "shape", [](const dist::ApplyRoute& r) { return tuple_of(r.shape); },
          nb::sig("def shape(self) -> tuple[int, ...]"), "Of the result.")
      .def_prop_ro(
          "split", [](const dist::ApplyRoute& r) { return split_of(r.out); },
          nb::sig("def split(self) -> int | None"), "Of the result.")
      .def_prop_ro(
          "cut",
          [](const dist::ApplyRoute& r) -> nb::object {
            if (!r.cut) return nb::none();
            return nb::str(r.cut->str().c_str());
          },
          nb::sig("def cut(self) -> str | None"),
          "The dim along which each rank applies its part of the operator.")
      .def_ro("summed", &dist::ApplyRoute::summed, "The parts are terms of a sum over the ranks.")
      .def_prop_ro(
          "messages", [](const dist::ApplyRoute& r) { return r.moved.messages; },
          nb::sig("def messages(self) -> int"), "Before the sum, of all ranks together.")
      .def_prop_ro(
          "bytes", [](const dist::ApplyRoute& r) { return r.moved.bytes; },
          nb::sig("def bytes(self) -> int"), "Before the sum, of all ranks together.")
      .def_prop_ro(
          "reason", [](const dist::ApplyRoute& r) { return r.reason; },
          nb::sig("def reason(self) -> str"), "Why this one, in a sentence.")
      .def("__str__", &dist::ApplyRoute::str, nb::sig("def __str__(self) -> str"))
      .def(
          "__repr__", [](const dist::ApplyRoute& r) { return cat("<", r.str(), ">"); },
          nb::sig("def __repr__(self) -> str"));
  m.def(
      "apply",
      [](nb::handle a, nb::handle x, nb::handle along) {
        const NamedLinop& op = linop_from(a, "apply");
        const DNDarray input = as_dist(x, "apply");
        const dist::ApplyOptions options = options_of(along);
        return wrap(released([&] { return dist::apply(op, input, options); }));
      },
      "A"_a, "x"_a, "along"_a = nb::none(),
      nb::sig("def apply(A: NamedLinop, x: ArrayLike, along: DimLike | None = None) -> DNDarray"),
      "``A(x)``, with the work dealt out along a dim of the operator's if one is named.\n\n"
      ">>> A = ts.Diagonal(ts.arange(3.0), ('X',))\n"
      ">>> ts.dist.apply(A, ts.dist.ones(3, split=0)).tolist()\n[0.0, 1.0, 2.0]\n");
  m.def(
      "explain_apply",
      [](nb::handle a, nb::handle x, nb::handle along) {
        const NamedLinop& op = linop_from(a, "explain_apply");
        const DNDarray input = as_dist(x, "explain_apply");
        const dist::ApplyOptions options = options_of(along);
        return released([&] { return dist::explain_apply(op, input, options); });
      },
      "A"_a, "x"_a, "along"_a = nb::none(),
      nb::sig("def explain_apply(A: NamedLinop, x: ArrayLike, along: DimLike | None = None) -> "
              "ApplyRoute"),
      "What ``ts.dist.apply`` will do. Nothing is sent.\n\n"
      ">>> A = ts.Diagonal(ts.ones(6), ('X',))\n"
      ">>> ts.dist.explain_apply(A, ts.dist.ones(6, split=0)).cut\n'X'\n");
}

}  // namespace tessera::python
