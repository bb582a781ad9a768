// SPDX-License-Identifier: Apache-2.0
// Named shapes and collections of them: attributes and items of Python over note [renaming by
// assignment].
#include "linop/linop.hpp"

namespace tessera::python {

namespace {

using nb::literals::operator""_a;
using Kind = NameGroup::Kind;

// A name alone, {name: number}, or a list of names.
NameGroup group_from(nb::handle h) {
  if (nb::isinstance<NamedDimension>(h) || PyUnicode_Check(h.ptr())) return dimension_from(h);
  if (!PyDict_Check(h.ptr())) return dims_from(h);
  std::vector<std::pair<NamedDimension, i64>> mapping;
  for (auto [key, value] : nb::borrow<nb::dict>(h))
    mapping.emplace_back(dimension_from(key), int_from(value, "a mapping of names"));
  return mapping;
}

nb::object group_object(const NameGroup& g) {
  if (g.kind == Kind::one) return nb::cast(g.dims[0]);
  if (g.kind == Kind::list) return tuple_of(g.dims);
  nb::dict d;
  for (i64 i = 0; i < g.dims.size(); ++i)
    d[nb::cast(g.dims[i])] = nb::int_(g.values[static_cast<std::size_t>(i)]);
  return d;
}

std::vector<NamedDimCollection::Entry> entries_from(nb::dict shapes) {
  std::vector<NamedDimCollection::Entry> entries;
  for (auto [name, value] : shapes)
    entries.emplace_back(nb::cast<std::string>(name), group_from(value));
  return entries;
}

nb::dict dict_of(const std::vector<NamedDimCollection::Entry>& entries) {
  nb::dict d;
  for (const auto& [name, group] : entries) d[name.c_str()] = group_object(group);
  return d;
}

// Attributes that are methods or properties of the class are no shapes.
void refuse_reserved(nb::handle self, const std::string& name) {
  if (nb::hasattr(self.type(), name.c_str()))
    raise(PyExc_AttributeError, cat(nb::type_name(self.type()).c_str(), ": '", name,
                                    "' is part of the class and cannot be the name of a shape"));
}

void bind_collection(nb::module_& m) {
  using C = NamedDimCollection;
  nb::class_<C> c(m, "NamedDimCollection",
                  "Several shapes over one pool of names: assigning other names to one shape\n"
                  "renames the same dims in all of them, at once or not at all.\n\n"
                  ">>> c = ts.NamedDimCollection(shape1=('A', 'B'), shape2=('B', 'C'))\n"
                  ">>> c.shape1 = ('B', 'A')\n>>> c\n"
                  "NamedDimCollection(shape1=(B, A), shape2=(A, C))\n");
  c.def(
       "__init__",
       [](C* self, nb::kwargs shapes) {
         C fresh;
         for (const auto& [name, group] : entries_from(shapes)) fresh.add(name, group);
         new (self) C(std::move(fresh));
       },
       nb::sig("def __init__(self, **shapes: typing.Any) -> None"))
      .def_prop_ro(
          "shapes", [](const C& a) { return dict_of(a.entries()); },
          nb::sig("def shapes(self) -> dict[str, typing.Any]"), "Every shape by its word.")
      .def(
          "update", [](C& a, nb::dict shapes) { a.update(entries_from(shapes)); }, "shapes"_a,
          nb::sig("def update(self, shapes: dict[str, typing.Any]) -> None"),
          "Several assignments, all or none.\n\n"
          ">>> c = ts.NamedDimCollection(a=('A', 'B')); c.update({'a': ('X', 'Y'), 'b': 'Y'}); c\n"
          "NamedDimCollection(a=(X, Y), b=Y)\n")
      .def(
          "__getattr__",
          [](const C& a, const std::string& name) {
            if (!a.contains(name))
              raise(PyExc_AttributeError, cat("NamedDimCollection has no shape '", name, "'"));
            return group_object(a[name]);
          },
          nb::sig("def __getattr__(self, name: str) -> typing.Any"))
      .def(
          "__setattr__",
          [](nb::handle self, const std::string& name, nb::handle value) {
            refuse_reserved(self, name);
            nb::inst_ptr<C>(self)->set(name, group_from(value));
          },
          nb::sig("def __setattr__(self, name: str, value: typing.Any) -> None"))
      .def(
          "__getitem__",
          [](const C& a, const std::string& name) {
            if (!a.contains(name))
              raise(PyExc_KeyError, cat("NamedDimCollection has no shape '", name, "'"));
            return group_object(a[name]);
          },
          nb::sig("def __getitem__(self, name: str) -> typing.Any"))
      .def(
          "__setitem__",
          [](C& a, const std::string& name, nb::handle value) { a.set(name, group_from(value)); },
          nb::sig("def __setitem__(self, name: str, value: typing.Any) -> None"))
      .def("__contains__", [](const C& a, const std::string& name) { return a.contains(name); })
      .def("__len__", [](const C& a) { return a.entries().size(); })
      .def("__copy__", [](const C& a) { return C(a); })
      .def("__repr__",
           [](const C& a) { return nb::str(cat("NamedDimCollection(", a, ")").c_str()); });
}

NamedShape shape_from(nb::handle ishape, nb::handle oshape, nb::dict others) {
  if (nb::isinstance<NamedShape>(ishape)) {
    require<ArgumentError>(oshape.is_none() && others.size() == 0,
                           "NamedShape: a copy of a NamedShape takes no other shapes");
    return nb::cast<NamedShape>(ishape);
  }
  const Dims in = dims_or_any(ishape);
  NamedShape s = oshape.is_none() ? NamedShape(in) : NamedShape(in, dims_or_any(oshape));
  for (const auto& [name, group] : entries_from(others)) s = s.with(name, group);
  return s;
}

void set_shape(nb::handle self, const std::string& name, nb::handle value) {
  NamedShape& s = *nb::inst_ptr<NamedShape>(self);
  const bool side = name == "ishape" || name == "oshape";
  if (!side) refuse_reserved(self, name);
  s = s.with(name, side ? NameGroup(dims_from(value)) : group_from(value));
}

nb::object other_shape(const NamedShape& s, const std::string& name) {
  for (const auto& [key, group] : s.others)
    if (key == name) return group_object(group);
  raise(PyExc_AttributeError, cat("NamedShape ", s, " has no shape '", name, "'"));
}

nb::str shape_text(const NamedShape& s) {
  std::string text = s.str();
  for (const auto& [name, group] : s.others) text += cat(", ", name, "=", group);
  return nb::str(cat("NS(", text, ")").c_str());
}

void bind_shape(nb::module_& m) {
  nb::class_<NamedShape> c(
      m, "NamedShape",
      "The named input and output of an operator, and other lists of its dims that follow them.\n\n"
      ">>> s = ts.NS(('A', 'B'), ('B', 'C')); s.H, s.N\n"
      "(NS((B, C) -> (A, B)), NS((A, B) -> (A1, B)))\n"
      ">>> s.ishape = ('X', 'Y'); s\nNS((X, Y) -> (Y, C))\n");
  c.def(
       "__init__",
       [](NamedShape* s, nb::handle in, nb::handle out, nb::kwargs others) {
         new (s) NamedShape(shape_from(in, out, others));
       },
       "ishape"_a.none() = nb::none(), "oshape"_a = nb::none(), "others"_a,
       nb::sig("def __init__(self, ishape: DimsLike | NamedShape | None = None, oshape: "
               "DimsLike | None = None, **others: typing.Any) -> None"))
      .def_prop_ro(
          "ishape", [](const NamedShape& s) { return tuple_of(s.ishape); },
          nb::sig("def ishape(self) -> tuple[NamedDimension, ...]"),
          "Names of the input; assigned, they change wherever these dims appear.")
      .def_prop_ro(
          "oshape", [](const NamedShape& s) { return tuple_of(s.oshape); },
          nb::sig("def oshape(self) -> tuple[NamedDimension, ...]"),
          "Names of the output; assigned, they change wherever these dims appear.")
      .def_prop_ro(
          "others", [](const NamedShape& s) { return dict_of(s.others); },
          nb::sig("def others(self) -> dict[str, typing.Any]"), "The other shapes by their words.")
      .def_prop_ro("H", &NamedShape::H, "Input and output exchanged.")
      .def_prop_ro("N", &NamedShape::N, "From the input to names that do not collide with it.")
      .def("__getattr__", &other_shape, nb::sig("def __getattr__(self, name: str) -> typing.Any"))
      .def("__setattr__", &set_shape,
           nb::sig("def __setattr__(self, name: str, value: typing.Any) -> None"))
      .def(
          "__add__", [](const NamedShape& a, const NamedShape& b) { return a + b; },
          nb::is_operator())
      .def(
          "__radd__", [](const NamedShape& a, std::nullptr_t) { return a; }, "other"_a.none(),
          nb::is_operator(), nb::sig("def __radd__(self, other: None, /) -> NamedShape"))
      .def(
          "__eq__",
          [](const NamedShape& a, nb::handle b) {
            return nb::isinstance<NamedShape>(b) && a == nb::cast<NamedShape>(b);
          },
          nb::arg("other").none(), nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__copy__", [](const NamedShape& a) { return NamedShape(a); })
      .def("__repr__", &shape_text);
  c.attr("__hash__") = nb::none();  // equal shapes need not be alike: wildcards match
  m.attr("NS") = m.attr("NamedShape");
}

}  // namespace

void bind_named_shapes(nb::module_& m) {
  bind_collection(m);
  bind_shape(m);
}

}  // namespace tessera::python
