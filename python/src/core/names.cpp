// SPDX-License-Identifier: Apache-2.0
// Named dimensions and named shapes. A dimension is equal to its text and hashed as it.
#include "core/repr.hpp"
#include "linop/linop.hpp"

namespace tessera::python {

namespace {

using nb::literals::operator""_a;

nb::str text_of(NamedDimension d) { return nb::str(d.str().c_str()); }

nb::object infer(nb::handle h) {
  if (PyTuple_Check(h.ptr())) return tuple_of(dims_from(h));
  if (PyList_Check(h.ptr())) return nb::list(tuple_of(dims_from(h)));
  return nb::cast(dimension_from(h));
}

NamedDimension next_unused(NamedDimension d, nb::handle avoid) {
  return avoid.is_none() ? d + 1 : d.next_unused(dims_from(avoid));
}

nb::object match_result(const Match& m) {
  if (!m) return nb::make_tuple(false, nb::none());
  nb::dict map;
  for (std::size_t i = 0; i < m.map.size(); ++i) {
    nb::list partners;
    for (const i64 j : m.map[i]) partners.append(j);
    map[nb::int_(i)] = partners;
  }
  return nb::make_tuple(true, map);
}

void bind_dimension(nb::module_& m) {
  nb::class_<NamedDimension>(
      m, "NamedDimension",
      "The name of a dimension: a word and a number; equal to its text.\n\n"
      ">>> ts.ND('Nx', 1) == 'Nx1', ts.ND('Nx').next_unused(('Nx',))\n(True, Nx1)\n")
      .def(
          "__init__",
          [](NamedDimension* d, nb::handle name, i64 i) {
            if (i == 0) {
              new (d) NamedDimension(dimension_from(name));
            } else {
              new (d) NamedDimension(dimension_from(name).str(), i);
            }
          },
          "name"_a, "i"_a = 0, nb::sig("def __init__(self, name: DimLike, i: int = 0) -> None"))
      .def_static("infer", &infer, "x"_a, nb::sig("def infer(x: typing.Any) -> typing.Any"),
                  "A name from text, or from each item of a tuple or list.\n\n>>> "
                  "ts.ND.infer('Nx1').i\n1\n")
      .def_prop_ro(
          "name", [](NamedDimension d) { return std::string(d.word()); },
          "The word, without the number.")
      .def_prop_ro("i", &NamedDimension::number, "The number; 0 is not written.")
      .def_prop_ro("is_wildcard", &NamedDimension::is_wildcard, "One of '...', '()', '(1)' …")
      .def("next_unused", &next_unused, "avoid"_a = nb::none(),
           nb::sig("def next_unused(self, avoid: DimsLike | None = None) -> NamedDimension"),
           "The next name with this word that avoid does not hold.\n\n>>> "
           "ts.ND('A').next_unused(('A', 'A1'))\nA2\n")
      .def(
          "__add__", [](NamedDimension d, i64 k) { return d + k; }, nb::is_operator())
      .def(
          "__eq__",
          [](NamedDimension d, nb::handle o) {
            if (nb::isinstance<NamedDimension>(o)) return nb::cast<NamedDimension>(o) == d;
            return PyUnicode_Check(o.ptr()) && text_of(d).equal(o);
          },
          nb::arg("other").none(), nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__", [](NamedDimension d) { return PyObject_Hash(text_of(d).ptr()); })
      .def("__str__", &text_of)
      .def("__repr__", &text_of)
      .def(
          "__reduce__",
          [](NamedDimension d) {
            return nb::make_tuple(nb::type<NamedDimension>(), nb::make_tuple(text_of(d)));
          },
          nb::sig("def __reduce__(self) -> tuple[typing.Any, ...]"));
  m.attr("ND") = m.attr("NamedDimension");
  m.def(
      "Dim",
      [](nb::handle text) {
        if (text.is_none()) return nb::tuple();
        require<DimError>(PyUnicode_Check(text.ptr()) || nb::isinstance<NamedDimension>(text),
                          "Dim: expected a text such as 'NxNy', got ", repr_of(text));
        return tuple_of(dims(nb::cast<std::string_view>(nb::str(nb::borrow(text)))));
      },
      "text"_a = nb::none(),
      nb::sig("def Dim(text: str | None = None) -> tuple[NamedDimension, ...]"),
      "A tuple of names; each starts with a capital letter, '(' or '...'. Commas and blanks may "
      "stand between them.\n\n>>> ts.Dim('CNxNy')\n(C, Nx, Ny)\n>>> ts.Dim('C, Nx, Ny')\n(C, Nx, "
      "Ny)\n");
  m.attr("ELLIPSES") = "...";
  m.attr("ANY") = "()";
}

}  // namespace

NamedDimension dimension_from(nb::handle h) {
  if (nb::isinstance<NamedDimension>(h)) return nb::cast<NamedDimension>(h);
  if (!PyUnicode_Check(h.ptr())) throw DimError(cat("a dimension is a name, got ", repr_of(h)));
  return NamedDimension(nb::cast<std::string_view>(nb::str(nb::borrow(h))));
}

Dims dims_from(nb::handle h) {
  if (h.is_none()) return {};
  if (nb::isinstance<NamedDimension>(h)) return {nb::cast<NamedDimension>(h)};
  if (PyUnicode_Check(h.ptr())) return dims(nb::cast<std::string_view>(nb::str(nb::borrow(h))));
  Dims d;
  if (!nb::hasattr(h, "__iter__"))
    throw DimError(cat("a list of dims is a text or names, got ", repr_of(h)));
  for (nb::handle item : nb::iter(h)) {
    require<DimError>(d.size() < max_rank, "a list of more than ", max_rank,
                      " dims; arrays have no more axes");
    d.push_back(dimension_from(item));
  }
  return d;
}

Dims dims_or_any(nb::handle h) {
  return h.is_none() ? Dims{NamedDimension::ellipses()} : dims_from(h);
}

nb::tuple tuple_of(const Dims& d) {
  nb::list l;
  for (const NamedDimension n : d) l.append(n);
  return nb::tuple(l);
}

void bind_names(nb::module_& m) {
  bind_dimension(m);
  m.def(
      "_isequal",
      [](nb::handle a, nb::handle b) { return match_result(isequal(dims_from(a), dims_from(b))); },
      nb::sig(
          "def _isequal(a: DimsLike, b: DimsLike) -> tuple[bool, dict[int, list[int]] | None]"));
  m.def(
      "_iscompatible",
      [](nb::handle a, nb::handle b) {
        return match_result(iscompatible(dims_from(a), dims_from(b)));
      },
      nb::sig("def _iscompatible(a: DimsLike, b: DimsLike) -> tuple[bool, dict[int, list[int]] | "
              "None]"));
  m.def(
      "_resolve_wildcards",
      [](nb::handle a, nb::handle b) {
        return tuple_of(resolve_wildcards(dims_from(a), dims_from(b)));
      },
      nb::sig("def _resolve_wildcards(shape: DimsLike, target: DimsLike) -> tuple[NamedDimension, "
              "...]"));
  m.def(
      "_max_shape",
      [](nb::handle shapes) {
        std::vector<Dims> all;
        for (nb::handle s : nb::iter(shapes)) all.push_back(dims_from(s));
        return tuple_of(max_shape(all));
      },
      nb::sig("def _max_shape(shapes: typing.Iterable[DimsLike]) -> tuple[NamedDimension, ...]"));
  m.def(
      "_nd_shape", [](i64 ndim, bool kspace) { return tuple_of(nd_shape(ndim, kspace)); },
      nb::sig("def _nd_shape(ndim: int, kspace: bool) -> tuple[NamedDimension, ...]"));
}

}  // namespace tessera::python
