// SPDX-License-Identifier: Apache-2.0
// The class NamedLinop: its properties and methods. Application and algebra are in
// linop_algebra.cpp, the operators themselves in operators.cpp.
#include "linop/linop.hpp"
#include "streaming/stored_operators.hpp"

#include <nanobind/stl/optional.h>

#include "core/repr.hpp"
#include "linop/operators.hpp"
#include "linop/written.hpp"
#include "tessera/linop/core/repr_html.hpp"

namespace tessera::python {

namespace {

using nb::literals::operator""_a;

// {dim: slice}
Tile tile_from(const NamedLinop& a, nb::handle given) {
  require<DTypeError>(PyDict_Check(given.ptr()), a.kind(), ".split: expected {dim: slice}, got ",
                      Py_TYPE(given.ptr())->tp_name);
  Tile tile;
  for (const auto& [key, value] : nb::borrow<nb::dict>(given)) {
    if (const auto cut = cut_from(a, dimension_from(key), value, ".split"))
      tile.cuts.push_back(*cut);
  }
  return tile;
}

nb::object split_along(nb::handle self, nb::handle given) {
  const NamedLinop& a = held(self);
  const Tile tile = tile_from(a, given);
  return wrap_linop(released([&] { return a.split(tile); }));
}

nb::object normal(nb::handle self, nb::handle inner) {
  const NamedLinop& a = held(self);
  return wrap_linop(inner.is_none() ? a.N() : a.normal(linop_from(inner, "normal")));
}

nb::object renamed(nb::handle self, nb::dict names) {
  const NamedLinop& a = held(self);
  const Dims own = a.dims();
  Renames r;
  for (auto [from, to] : names) {
    r.emplace_back(dimension_from(from), dimension_from(to));
    require<DimError>(contains(own, r.back().first), "rename: ", a, " has no dim '", r.back().first,
                      "'; it has ", to_text(own));
  }
  return wrap_linop(a.rename(r));
}

// A.ishape = names: the Python object is the same operator under other names from now on. What was
// made of it before, A.H or a chain, has the names that it had.
void set_names(nb::handle self, const char* side, nb::handle value) {
  const NamedLinop& a = held(self);
  const NamedShape was = a.shape(), now = was.with(side, NameGroup(dims_from(value)));
  Renames r;
  for (const auto& [from, to] : {std::pair(was.ishape, now.ishape), {was.oshape, now.oshape}}) {
    require<DimError>(from.size() == to.size(), a, ".", side, " = ", repr_of(value),
                      ": expected as many names as in ", to_text(from));
    for (i64 i = 0; i < from.size(); ++i)
      if (!(from[i] == to[i])) r.emplace_back(from[i], to[i]);
  }
  show_instead(self, a.rename(r));
}

// The input's shape from what the operator knows; "..." is nothing.
Shape known_shape(const NamedLinop& a, std::string_view who) {
  Shape s;
  for (const NamedDimension d : a.ishape()) {
    if (d.is_ellipses()) continue;
    const auto n = a.size(d);
    require<DimError>(n.has_value(), who, ": the size of ", d, " is not known to ", a.str(),
                      "; give shape=");
    s.push_back(*n);
  }
  return s;
}

Array dense(nb::handle self, nb::handle shape, nb::handle dtype) {
  const NamedLinop& a = held(self);
  const Shape s = shape.is_none() ? known_shape(a, "to_dense") : shape_from(shape);
  const DType t = dtype.is_none() ? DType::c128 : dtype_from(dtype);
  return released([&] { return a.to_dense(s, t); });
}

nb::list parts(nb::handle self) {
  nb::list l;
  for (const NamedLinop& p : held(self).parts()) l.append(wrap_linop(p));
  return l;
}

void bind_properties(nb::class_<LinopObject>& c) {
  const auto dims_of = [](const Dims& d) { return tuple_of(d); };
  c.def_prop_ro(
       "H", [](nb::handle a) { return wrap_linop(held(a).H()); },
       nb::sig("def H(self) -> NamedLinop"), "The adjoint; ``A.H.H is A``.")
      .def_prop_ro(
          "N", [](nb::handle a) { return wrap_linop(held(a).N()); },
          nb::sig("def N(self) -> NamedLinop"), "The normal operator, A.H A simplified.")
      .def_prop_ro(
          "T",
          [](nb::handle a) -> nb::object {
            raise(PyExc_AttributeError,
                  cat(held(a),
                      " has no transpose T; H is the adjoint, the same for a real "
                      "operator"));
          },
          nb::sig("def T(self) -> typing.NoReturn"),
          "AttributeError: operators have an adjoint, H, and no transpose.")
      .def_prop_ro(
          "shape", [](nb::handle a) { return held(a).shape(); },
          nb::sig("def shape(self) -> NamedShape"), "Names of input and output.")
      .def_prop_rw(
          "ishape", [dims_of](nb::handle a) { return dims_of(held(a).ishape()); },
          [](nb::handle a, nb::handle names) { set_names(a, "ishape", names); },
          nb::for_getter(nb::sig("def ishape(self) -> tuple[NamedDimension, ...]")),
          nb::for_setter(nb::sig("def ishape(self, names: DimsLike, /) -> None")),
          "Names of the input; assigned, the operator has other names, on both sides where it has "
          "them.\n\n>>> A = ts.Diagonal([1.0, 2.0], ('X',)); A.ishape = ('Y',); A.oshape\n(Y,)\n")
      .def_prop_rw(
          "oshape", [dims_of](nb::handle a) { return dims_of(held(a).oshape()); },
          [](nb::handle a, nb::handle names) { set_names(a, "oshape", names); },
          nb::for_getter(nb::sig("def oshape(self) -> tuple[NamedDimension, ...]")),
          nb::for_setter(nb::sig("def oshape(self, names: DimsLike, /) -> None")),
          "Names of the output; assigned, the operator has other names, on both sides where it has "
          "them.\n\n>>> A = ts.Diagonal([1.0, 2.0], ('X',)); A.oshape = ('Y',); A.oshape\n(Y,)\n")
      .def_prop_ro(
          "dims", [dims_of](nb::handle a) { return nb::set(dims_of(held(a).dims())); },
          nb::sig("def dims(self) -> set[NamedDimension]"), "Names of both sides.")
      .def_prop_ro(
          "name", [](nb::handle a) { return held(a).name(); }, nb::sig("def name(self) -> str"),
          "The name it was given; 'L.H' for the adjoint of 'L'; its kind without one.")
      .def_prop_ro("linops", &parts, nb::sig("def linops(self) -> list[NamedLinop]"),
                   "The operators it is made of, in order of application.")
      .def_prop_ro(
          "device",
          [](nb::handle a) {
            const auto d = held(a).device();
            return d ? nb::cast(*d) : nb::none();
          },
          nb::sig("def device(self) -> Device | None"), "Where its arrays are; None: anywhere.")
      .def_prop_ro(
          "start_event", [](nb::handle a) { return held(a).start_event(); },
          nb::sig("def start_event(self) -> RepeatedEvent"),
          "Recorded whenever an application of it starts, alone or as part of a larger operator:\n"
          "``input_listener=(A, 'start_event')`` of a ToDevice makes the transfer wait for the "
          "latest.\nShared with A.H, A.N and parts of A; a deep copy has its own.\n\n"
          ">>> A = ts.Diagonal([1.0, 2.0], ('X',)); start = A.start_event\n"
          ">>> _ = A([1.0, 1.0]), A.H([1.0, 1.0]); start.records\n2\n")
      .def_prop_rw(
          "input_listener", [](nb::handle a) { return held(a).input_listener(); },
          [](nb::handle a, nb::handle event) {
            held(a).listen_to(listener_from(event, held(a).kind()));
          },
          nb::arg().none(),
          nb::for_getter(nb::sig("def input_listener(self) -> RepeatedEvent | None")),
          nb::for_setter(nb::sig("def input_listener(self, event: RepeatedEvent | "
                                 "tuple[typing.Any, str] | None, /) -> None")),
          "The event whose latest record the operator waits for before it starts, or None. "
          "Assigned, "
          "an\nevent or (owner, name): the event that the owner has under that name. It may be set "
          "at any time,\nalso when others were made of the operator; A.H and parts of A wait for "
          "it too.\n\n"
          ">>> go = ts.ToDevice('sim:0', 'sim:1', ('X',)); back = ts.ToDevice('sim:1', 'sim:0', "
          "('X',))\n"
          ">>> A = back @ go; go.input_listener = (A, 'start_event')\n"
          ">>> go.input_listener == A.linops[0].input_listener == A.start_event\nTrue\n");
}

void bind_methods(nb::class_<LinopObject>& c) {
  c.def(
       "size",
       [](nb::handle a, nb::handle d) {
         const NamedLinop& op = held(a);
         const NamedDimension dim = dimension_from(d);
         const bool by_super = nb::inst_ptr<LinopObject>(a)->written && overrides(a, "size");
         const auto n = by_super ? std::nullopt : op.size(dim);
         return n ? nb::object(nb::int_(*n)) : nb::none();
       },
       "dim"_a, nb::sig("def size(self, dim: DimLike) -> int | None"),
       "The size of a dim where the operator knows it.\n\n>>> ts.Diagonal(ts.ones(5), "
       "('Nx',)).size('Nx')\n5\n")
      .def(
          "split", &split_along, "tile"_a,
          nb::sig("def split(self, tile: dict[DimLike, slice]) -> NamedLinop"),
          "The part of the operator between slices of its dims.\n\n"
          ">>> ts.Diagonal([1, 2, 3], ('X',)).split({'X': slice(1, 3)})([1, 1]).tolist()\n[2, 3]\n")
      .def(
          "split",
          [](nb::handle, nb::handle linop, nb::handle tile) {
            (void)linop_from(linop, "split");
            return split_along(linop, tile);
          },
          "linop"_a, "tile"_a,
          nb::sig("def split(self, linop: NamedLinop, tile: dict[DimLike, slice]) -> NamedLinop"),
          "The part of another operator, as NamedLinop.split(linop, tile) gives it.\n\n"
          ">>> A = ts.Diagonal([1, 2, 3], ('X',))\n"
          ">>> A.split(A, {'X': slice(1, 3)})([1, 1]).tolist()\n[2, 3]\n")
      .def(
          "adj_split",
          [](nb::handle, nb::handle linop, nb::handle tile) {
            const NamedLinop& a = linop_from(linop, "adj_split");
            const Tile t = tile_from(a, tile);
            return wrap_linop(released([&] { return a.adj_split(t); }));
          },
          "linop"_a, "tile"_a,
          nb::sig(
              "def adj_split(self, linop: NamedLinop, tile: dict[DimLike, slice]) -> NamedLinop"),
          "The part of another operator, as NamedLinop.adj_split(linop, tile) gives it.\n\n"
          ">>> A = ts.Diagonal([1, 2, 3], ('X',))\n"
          ">>> A.adj_split(A, {'X': slice(1, 3)})([1, 1]).tolist()\n[2, 3]\n")
      .def(
          "adj_split",
          [](nb::handle a, nb::handle tile) {
            const Tile t = tile_from(held(a), tile);
            return wrap_linop(released([&] { return held(a).adj_split(t); }));
          },
          "tile"_a, nb::sig("def adj_split(self, tile: dict[DimLike, slice]) -> NamedLinop"),
          "The same part, cut through the adjoint.\n\n"
          ">>> ts.Diagonal([1, 2], ('X',)).adj_split({'X': slice(1, 2)}).size('X') is None\nTrue\n")
      .def("normal", &normal, "inner"_a = nb::none(),
           nb::sig("def normal(self, inner: NamedLinop | None = None) -> NamedLinop"),
           "A.H inner A.\n\n>>> D = ts.Diagonal([1, 2j], ('Nx',))\n>>> D.normal(ts.Scalar(3))([1, "
           "1]).real.tolist()\n[3.0, 12.0]\n")
      .def("rename", &renamed, "names"_a,
           nb::sig("def rename(self, names: dict[DimLike, DimLike]) -> NamedLinop"),
           "The same operator under other names; DimError for a name that it does not have.\n\n>>> "
           "ts.Identity(('A',)).rename({'A': "
           "'B'}).ishape\n(B,)\n")
      .def(
          "to",
          [](nb::handle a, nb::handle d) {
            const Device device = device_from(d);
            return wrap_linop(released([&] { return held(a).to(device); }));
          },
          "device"_a, nb::sig("def to(self, device: DeviceLike) -> NamedLinop"),
          "The operator with its arrays on another device; DeviceError for one that says itself "
          "which devices\nit runs on, such as a batched one.\n\n>>> ts.Diagonal(ts.ones(2), "
          "('X',)).to('sim:0').device\nDevice('sim:0')\n")
      .def(
          "with_start_event",
          [](nb::handle a, const RepeatedEvent& event) {
            return wrap_linop(held(a).with_start_event(event));
          },
          "event"_a, nb::sig("def with_start_event(self, event: RepeatedEvent) -> NamedLinop"),
          "The same operator, which records this event when it starts: so a transfer that was "
          "made\n"
          "before can listen to the operator that it is part of.\n\n"
          ">>> start = ts.RepeatedEvent('sim:0')\n"
          ">>> go = ts.ToDevice('sim:0', 'sim:1', ('X',), input_listener=start)\n"
          ">>> A = (ts.ToDevice('sim:1', 'sim:0', ('X',)) @ go).with_start_event(start)\n"
          ">>> A.start_event == start, A.linops[0].input_listener == start\n(True, True)\n")
      .def("to_dense", &dense, "shape"_a = nb::none(), "dtype"_a = nb::none(),
           nb::sig("def to_dense(self, shape: ShapeLike | None = None, dtype: DTypeLike | None = "
                   "None) -> Array"),
           "The matrix (outputs, inputs) of a small operator.\n\n"
           ">>> ts.Diagonal([1, 2], ('X',)).to_dense(dtype='float64').tolist()\n[[1.0, 0.0], [0.0, "
           "2.0]]\n");
}

void bind_planning(nb::class_<LinopObject>& c) {
  c.def(
       "plan",
       [](nb::handle a, nb::handle x, nb::handle shape, nb::handle dtype, nb::handle device,
          nb::handle budget) {
         if (budget.is_none()) return make_plan(held(a), x, shape, dtype, device);
         const nb::object fit = nb::module_::import_("tessera._tessera").attr("fit");
         const nb::object fitted = fit(a, x, budget, nb::none(), shape, dtype);
         return make_plan(held(fitted), x, shape, dtype, device);
       },
       "x"_a = nb::none(), nb::kw_only(), "shape"_a = nb::none(), "dtype"_a = nb::none(),
       "device"_a = nb::none(), "budget"_a = nb::none(),
       nb::sig("def plan(self, x: ArrayLike | None = None, *, shape: ShapeLike | None = None, "
               "dtype: DTypeLike | None = None, device: DeviceLike | None = None, "
               "budget: dict[DeviceLike, int | str] | None = None) -> Plan"),
       "The steps of one application, for an input like x or of a shape; run it as often as you "
       "like.\nbudget: the operator is cut so that no device holds more bytes, as ts.fit() "
       "does.\n\n"
       ">>> p = ts.FFT(1).plan(shape=8, dtype='complex64'); p(ts.ones(8, "
       "'complex64')).shape\n(8,)\n")
      .def(
          "explain",
          [](nb::handle a, nb::handle x, nb::handle shape, nb::handle dtype, nb::handle device,
             const std::string& format) -> nb::object {
            if (x.is_none() && shape.is_none() && format == "text")
              return nb::str(explain(held(a)).c_str());
            if (!x.is_none() && format == "text" && works_on_disk(held(a), x, nb::none()))
              return nb::str(explained_on_disk(held(a), x).c_str());
            return make_plan(held(a), x, shape, dtype, device).attr("explain")(format);
          },
          "x"_a = nb::none(), nb::kw_only(), "shape"_a = nb::none(), "dtype"_a = nb::none(),
          "device"_a = nb::none(), "format"_a = "text",
          nb::sig(
              "def explain(self, x: ArrayLike | None = None, *, shape: ShapeLike | None = None, "
              "dtype: DTypeLike | None = None, device: DeviceLike | None = None, "
              "format: str = 'text') -> str"),
          "What was rewritten and why; for an input or a shape the plan in words, or in another\n"
          "format of Plan.explain.\n\n"
          ">>> F = ts.FFT(1, (), ('X', 'K'))\n>>> print(F.N.explain())\n"
          "Identity (X,) -> (X,)\nrewritten:\n"
          "  FFT (X,) -> (K,) and its adjoint cancel\n<BLANKLINE>\n"
          ">>> 'fft' in ts.FFT(1).explain(shape=8).lower()\nTrue\n")
      .def(
          "tree", [](nb::handle a) { return held(a).tree(); }, nb::sig("def tree(self) -> str"),
          "The operator with its parts, one a line.\n\n>>> 'Diagonal' in ts.Diagonal([1.0], "
          "('X',)).tree()\nTrue\n")
      .def(
          "__len__", [](nb::handle a) { return held(a).parts().size(); },
          nb::sig("def __len__(self) -> int"))
      .def(
          "__bool__", [](nb::handle) { return true; }, nb::sig("def __bool__(self) -> bool"))
      .def(
          "__str__", [](nb::handle a) { return nb::str(held(a).str().c_str()); },
          nb::sig("def __str__(self) -> str"))
      .def(
          "__repr__", [](nb::handle a) { return nb::str(held(a).tree().c_str()); },
          nb::sig("def __repr__(self) -> str"));
}

}  // namespace

std::optional<RepeatedEvent> listener_from(nb::handle given, std::string_view who) {
  nb::object event = nb::borrow(given);
  if (nb::isinstance<nb::tuple>(given) && nb::len(given) == 2)
    event = nb::getattr(given[0], nb::str(given[1]), nb::none());
  require<ArgumentError>(
      given.is_none() || nb::isinstance<RepeatedEvent>(event), who,
      ": input_listener is a ts.RepeatedEvent, (owner, name of one) or None, got ", repr_of(given));
  if (given.is_none()) return std::nullopt;
  return nb::cast<RepeatedEvent>(event);
}

std::optional<Cut> cut_from(const NamedLinop& a, NamedDimension d, nb::handle slice,
                            std::string_view what) {
  require<DTypeError>(PySlice_Check(slice.ptr()), a.kind(), what, ": expected a slice for dim '", d,
                      "', got ", Py_TYPE(slice.ptr())->tp_name);
  if (slice.equal(nb::slice(nb::none(), nb::none(), nb::none()))) return std::nullopt;
  const std::optional<i64> n = a.size(d);
  Py_ssize_t start = 0, stop = 0, step = 0;
  if (PySlice_Unpack(slice.ptr(), &start, &stop, &step) < 0) nb::raise_python_error();
  require<SplitError>(step == 1, a, ": the slice of dim '", d, "' has step ", step,
                      "; only whole ranges can be cut");
  require<SplitError>(n || (start >= 0 && stop >= 0 && stop < PY_SSIZE_T_MAX), a, ": dim '", d,
                      "' has no size of its own; give the slice a start and a stop");
  if (n) {
    require<SplitError>(stop <= *n || stop == PY_SSIZE_T_MAX, a, ": the slice ", start, ":", stop,
                        " of dim '", d, "' is beyond its size ", *n);
    PySlice_AdjustIndices(static_cast<Py_ssize_t>(*n), &start, &stop, step);
  }
  return Cut{d, start, stop};
}

void bind_linop(nb::module_& m) {
  nb::class_<LinopObject> c(
      m, "NamedLinop", nb::is_weak_referenceable(), nb::type_slots(linop_slots),
      documented(
          "NamedLinop",
          "A linear operator with named input and output; made by ts.Diagonal, ts.FFT, … and by\n"
          "composing: ``A @ B``, ``A + B``, ``2j * A``, ``A.H``, ``A.N``.\n\n"
          ">>> A = ts.FFT(1) @ ts.Diagonal([1, 2], ('Nx',))\n>>> A.H.H is A, A([1, "
          "1]).real.tolist()[1] < 0\n(True, True)\n\n"
          "Subclasses with fn and adj_fn are operators too; docs/guide/extending.md tells what "
          "else "
          "they may have.\n\n"
          ">>> class Scaled(ts.NamedLinop):\n"
          "...     factor = 3\n"
          "...     def fn(self, x): return self.factor * x\n"
          "...     adj_fn = fn\n"
          ">>> A = Scaled(('X',)); bool(ts.check_adjoint(A, (4,))), A.N([1.0]).tolist()\n"
          "(True, [9.0])\n"));
  set_linop_class(c);
  bind_algebra(c);
  bind_properties(c);
  bind_methods(c);
  bind_planning(c);
  bind_repr_html(c);
  bind_parts(c);
  bind_split_forward(c);
  bind_written(c);
  bind_pickle(m, c);
  bind_memory_map(m);
  bind_operators(m, c);
}

}  // namespace tessera::python
