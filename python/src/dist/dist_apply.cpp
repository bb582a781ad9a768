// SPDX-License-Identifier: Apache-2.0
// Operators on distributed arrays: A(x) with a choice of the dim that is split, and what it
// does.
#include "tessera/distributed/operators/apply.hpp"

#include "dist/dist.hpp"
#include "linop/linop.hpp"

namespace tessera::python {

namespace {

using nb::literals::operator""_a;

dist::ApplyOptions options_of(nb::handle along) {
  dist::ApplyOptions options;
  if (!along.is_none()) options.along = dimension_from(along);
  return options;
}

nb::object split_of(const dist::Distribution& distribution) {
  if (!distribution.split) return nb::none();
  return nb::int_(*distribution.split);
}

}  // namespace

void bind_dist_apply(nb::module_& m) {
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
          "bytes", [](const dist::ApplyRoute& r) { return r.moved.bytes(); },
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
      "``A(x)``, with the work split along a dim of the operator's if one is named.\n\n"
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
