// SPDX-License-Identifier: Apache-2.0
// The class DNDarray: what it is and where its parts are, its other distributions, its conversions.
// Operators are in dist_slots.cpp, keys in dist_index.cpp, functions in dist_functions.cpp and the
// files beside it.
#include "array/convert_out.hpp"
#include "core/sequence.hpp"
#include "dist/dist.hpp"
#include "dist/dist_docs.hpp"
#include "tessera/distributed/array/create.hpp"
#include "tessera/distributed/array/print.hpp"
#include "tessera/distributed/array/repr_html.hpp"
#include "tessera/distributed/exchange/halo.hpp"

namespace tessera::python {

PyTypeObject* dist_type = nullptr;

namespace {

using nb::literals::operator""_a;

nb::object type_object() { return nb::borrow(reinterpret_cast<PyObject*>(dist_type)); }

nb::object optional_int(std::optional<i64> v) {
  if (!v) return nb::none();
  return nb::int_(*v);
}

// Nobody else's memory: what is written into it reaches no array, and no reading that is kept of a
// row of another rank, whatever the number of ranks.
nb::object numpy_copy(const DNDarray& x) {
  const Array whole = released([&] {
    Array all = x.gathered();
    const bool shared = !x.split() || (x.resident() && may_share_memory(all, x.resident()));
    return all.device().kind == Kind::cpu && shared ? all.copy() : all;
  });
  return numpy_of(wrap(whole), false);
}

nb::object as_numpy(const DNDarray& x, nb::handle dtype, nb::handle copy) {
  if (!copy.is_none() && !flag_from(copy, "copy"))
    raise(PyExc_ValueError, "Unable to avoid copy while creating an array as requested.");
  nb::object out = numpy_copy(x);
  return dtype.is_none() ? out : out.attr("astype")(dtype, "copy"_a = false);
}

Value single(const DNDarray& x) {
  if (x.size() != 1)
    raise(PyExc_TypeError, "only length-1 arrays can be converted to Python scalars");
  return released([&] { return x.item(); });
}

// One element is formatted and rounded as the Python number that it is; arrays have a text only.
nb::object formatted(nb::handle_t<DNDarray> self, nb::str spec) {
  const DNDarray& x = dist_of(self.ptr());
  if (x.ndim() == 0) return formatted_number(released([&] { return x.item(); }), spec);
  if (nb::len(spec) > 0)
    raise(PyExc_TypeError, "unsupported format string passed to DNDarray.__format__");
  return nb::str(self);
}

nb::object rounded(const DNDarray& x, nb::handle digits) {
  if (x.ndim() > 0) raise(PyExc_TypeError, "only 0-d arrays are rounded; see ts.dist.round");
  const nb::object number = nb::steal(python_number(released([&] { return x.item(); })));
  return digits.is_none() ? number.attr("__round__")() : number.attr("__round__")(digits);
}

// The position of the element with this number in C order.
Shape unflattened(i64 number, const Shape& shape) {
  const i64 size = count_of(shape);
  if (number < -size || number >= size)
    throw IndexError(cat("index ", number, " is out of bounds for size ", size));
  if (number < 0) number += size;
  Shape at(shape.begin(), shape.end());
  for (i64 axis = shape.size(); axis-- > 0; number /= shape[axis]) at[axis] = number % shape[axis];
  return at;
}

nb::object item(nb::handle_t<DNDarray> self, const nb::args& args) {
  const DNDarray& x = dist_of(self.ptr());
  if (args.size() == 0) {
    if (x.size() != 1)
      raise(PyExc_ValueError, "can only convert an array of size 1 to a Python scalar");
    return nb::steal(python_number(released([&] { return x.item(); })));
  }
  Shape at = args.size() == 1 ? shape_from(args[0]) : shape_from(args);
  if (at.size() == 1 && x.ndim() != 1) at = unflattened(at[0], x.shape());
  require<ArgumentError>(at.size() == x.ndim(), "incorrect number of indices for array");
  return item(nb::object(self[tuple_of(at)]), nb::args());
}

void fill(const DNDarray& x, nb::handle v) {
  const Value value = value_from(v, "fill", x.dtype());
  check_fits(value, x.dtype());
  x.require_writable();
  released([&] {
    if (x.resident()) x.resident().fill(value);
    x.touch();
  });
}

// A view of complex arrays, as local ones have it.
DNDarray part_of(const DNDarray& x, bool imaginary) {
  if (!is_complex(x.dtype())) return imaginary ? dist::zeros_like(x).read_only() : x;
  const Array& here = x.resident();
  Array part = !here ? Array() : imaginary ? here.imag() : here.real();
  Layout whole = x.whole();
  for (i64& s : whole.strides) s *= 2;
  whole.offset = 2 * whole.offset + (imaginary && x.size() > 0);
  if (x.owner()) return x.owner_view(std::move(part), whole, *x.owner(), real_of(x.dtype()));
  return x.with(std::move(part), whole, x.distribution());
}

void set_part(const DNDarray& x, nb::handle value, bool imaginary) {
  require<DTypeError>(!imaginary || is_complex(x.dtype()), "imag: an array of ", name(x.dtype()),
                      " has no imaginary part to set");
  wrap(released([&] { return part_of(x, imaginary); }))[nb::ellipsis()] = nb::borrow(value);
}

void bind_parts(nb::class_<DNDarray>& c) {
  for (const bool imaginary : {false, true}) {
    const std::string get = cat("def ", imaginary ? "imag" : "real", "(self) -> DNDarray");
    const std::string set =
        cat("def ", imaginary ? "imag" : "real", "(self, value: ArrayLike, /) -> None");
    c.def_prop_rw(
        imaginary ? "imag" : "real",
        [imaginary](const DNDarray& x) {
          return wrap(released([&] { return part_of(x, imaginary); }));
        },
        [imaginary](const DNDarray& x, nb::handle v) { set_part(x, v, imaginary); },
        nb::for_getter(nb::sig(get.c_str())), nb::for_setter(nb::sig(set.c_str())),
        imaginary ? "The imaginary part: a view; zeros for real arrays."
                  : "The real part: a view.");
  }
}

void bind_attributes(nb::class_<DNDarray>& c) {
  c.def_prop_ro(
       "shape", [](const DNDarray& x) { return tuple_of(x.shape()); },
       nb::sig("def shape(self) -> tuple[int, ...]"), "Sizes of the axes of the whole array.")
      .def_prop_ro(
          "lshape", [](const DNDarray& x) { return tuple_of(x.lshape()); },
          nb::sig("def lshape(self) -> tuple[int, ...]"), "Sizes of the axes of this rank's part.")
      .def_prop_ro("ndim", &DNDarray::ndim, "Number of axes.")
      .def_prop_ro("size", &DNDarray::size, "Number of elements of the whole array.")
      .def_prop_ro(
          "nbytes", [](const DNDarray& x) { return x.size() * size_of(x.dtype()); },
          "Bytes of the elements of the whole array.")
      .def_prop_ro(
          "itemsize", [](const DNDarray& x) { return size_of(x.dtype()); }, "Bytes of one element.")
      .def_prop_ro(
          "dtype", [](const DNDarray& x) { return dtype_object(x.dtype()); },
          nb::sig("def dtype(self) -> DType"), "The element type.")
      .def_prop_ro("device", &DNDarray::device, nb::sig("def device(self) -> Device"),
                   "Where this rank's part is.")
      .def_prop_ro("comm", &DNDarray::comm, nb::sig("def comm(self) -> Communicator"),
                   "The group of ranks that hold the array.")
      .def_prop_ro(
          "split", [](const DNDarray& x) { return optional_int(x.split()); },
          nb::sig("def split(self) -> int | None"),
          "The axis that is split over the ranks; None: every rank has the whole array.")
      .def_prop_ro(
          "counts",
          [](const DNDarray& x) {
            const std::vector<i64> n = x.counts();
            return tuple_of(Shape(n.begin(), n.end()));
          },
          nb::sig("def counts(self) -> tuple[int, ...]"),
          "Entries of the split axis on each rank; known without a message.")
      .def_prop_ro("writable", &DNDarray::writable,
                   "False for broadcast views, and for copies where NumPy has a view (a reshape "
                   "across the cuts, a split axis turned around): on all ranks alike.")
      .def_prop_ro("balanced", &DNDarray::balanced,
                   "The counts differ by one at most, the larger ones first.")
      .def_prop_ro(
          "owner",
          [](const DNDarray& x) {
            return optional_int(x.owner() ? std::optional<i64>(*x.owner()) : std::nullopt);
          },
          nb::sig("def owner(self) -> int | None"),
          "The rank whose memory a row such as ``x[3]`` is; None for other arrays.")
      .def_prop_ro(
          "local", [](const DNDarray& x) { return wrap(released([&] { return x.local(); })); },
          nb::sig("def local(self) -> Array"),
          "This rank's part, as a local array over the same memory; of a row that one rank owns, "
          "the "
          "whole of it (collective). After writing into it, on any rank, every rank calls "
          "``touch()``.");
}

// A copy whatever the counts were: whether they change depends on the number of ranks.
DNDarray apart(const DNDarray& x, const DNDarray& y) {
  return y.distribution() == x.distribution() ? y.copy() : y;
}

void bind_spreads(nb::class_<DNDarray>& c) {
  c.def(
       "resplit",
       [](const DNDarray& x, nb::handle axis) {
         const auto to =
             axis.is_none() ? std::nullopt : std::optional<i64>(int_from(axis, "resplit"));
         return wrap(released([&] { return x.resplit(to); }));
       },
       "axis"_a = nb::none(), nb::sig("def resplit(self, axis: int | None = None) -> DNDarray"),
       "The same array split along another axis; None: whole on every rank. A copy; the array "
       "itself where nothing changes.\n\n"
       ">>> x = ts.dist.zeros((4, 6), split=0)\n>>> x.resplit(1).split, x.resplit().split, "
       "x.split\n"
       "(1, None, 0)\n")
      .def(
          "balance",
          [](const DNDarray& x) { return wrap(released([&] { return apart(x, x.balance()); })); },
          nb::sig("def balance(self) -> DNDarray"),
          "A copy with counts that differ by one at most.\n\n"
          ">>> ts.dist.arange(10, split=0)[3:].balance().balanced\nTrue\n")
      .def(
          "redistribute",
          [](const DNDarray& x, nb::handle counts) {
            const Shape n = shape_from(counts);
            return wrap(released([&] {
              return apart(x, x.redistribute({n.data(), static_cast<std::size_t>(n.size())}));
            }));
          },
          "counts"_a, nb::sig("def redistribute(self, counts: typing.Sequence[int]) -> DNDarray"),
          "A copy with these counts, one per rank.\n\n"
          ">>> x = ts.dist.arange(10, split=0)\n"
          ">>> x.redistribute([0] * (x.comm.size - 1) + [10]).counts[-1]\n10\n")
      .def(
          "to",
          [](const DNDarray& x, nb::handle device) {
            const Device d = device_from(device);
            return wrap(released([&] { return x.to(d); }));
          },
          "device"_a, nb::sig("def to(self, device: DeviceLike) -> DNDarray"),
          "The parts on another device; itself when they are there already.\n\n"
          ">>> ts.dist.arange(3, split=0).to('sim:0').device\nDevice('sim:0')\n")
      .def(
          "to_device",
          [](const DNDarray& x, nb::handle device, nb::handle stream) {
            require<ArgumentError>(stream.is_none(), "to_device: stream is ",
                                   nb::repr(stream).c_str(),
                                   "; arrays move in the order of their devices' own streams");
            const Device d = device_from(device);
            return wrap(released([&] { return x.to(d); }));
          },
          "device"_a, nb::kw_only(), "stream"_a = nb::none(),
          nb::sig("def to_device(self, device: DeviceLike, /, *, stream: None = None) -> DNDarray"),
          "The standard's name of :meth:`to`.\n\n"
          ">>> ts.dist.arange(3, split=0).to_device('sim:0').device\nDevice('sim:0')\n")
      .def(
          "astype",
          [](const DNDarray& x, nb::handle dtype, bool copy) {
            const DType t = dtype_from(dtype);
            return wrap(released([&] { return copy && t == x.dtype() ? x.copy() : x.astype(t); }));
          },
          "dtype"_a, nb::kw_only(), "copy"_a = false,
          nb::sig("def astype(self, dtype: DTypeLike, *, copy: bool = False) -> DNDarray"),
          "The elements converted as NumPy converts; the array itself when it has that dtype.\n\n"
          ">>> ts.dist.array([1.7, -2.5], split=0).astype('int32').tolist()\n[1, -2]\n")
      .def(
          "copy", [](const DNDarray& x) { return wrap(released([&] { return x.copy(); })); },
          nb::sig("def copy(self) -> DNDarray"),
          "A new array with the same elements and counts.\n\n"
          ">>> x = ts.dist.zeros(2, split=0); y = x.copy(); y[0] = 1; x.tolist()\n[0.0, 0.0]\n");
}

void bind_halo(nb::class_<DNDarray>& c) {
  c.def(
       "halo",
       [](const DNDarray& x, i64 width, bool previous, bool next) {
         const dist::Halo h = released([&] { return dist::halo(x, width, previous, next); });
         return nb::make_tuple(wrap(h.previous), wrap(h.next));
       },
       "width"_a, "previous"_a = true, "next"_a = true,
       nb::sig("def halo(self, width: int, previous: bool = True, next: bool = True) -> "
               "tuple[Array, Array]"),
       "The entries beside this rank's block: the last of the rank before it, the first of the one "
       "after it; nothing at the ends.\n\n"
       ">>> before, after = ts.dist.arange(10, split=0).halo(2)\n"
       ">>> before.shape, after.shape  # on one rank there is nobody\n((0,), (0,))\n")
      .def(
          "with_halo",
          [](const DNDarray& x, i64 width) {
            return wrap(released([&] { return dist::with_halo(x, width); }));
          },
          "width"_a, nb::sig("def with_halo(self, width: int) -> Array"),
          "This rank's block between the entries beside it, as one local array: a copy.\n\n"
          ">>> ts.dist.arange(4, split=0).with_halo(1).tolist()\n[0, 1, 2, 3]\n");
}

void bind_conversions(nb::class_<DNDarray>& c) {
  c.def("numpy", &numpy_copy, nb::sig("def numpy(self) -> typing.Any"),
        "The whole array as a NumPy array, on every rank: always a copy.\n\n"
        ">>> ts.dist.arange(4, split=0).numpy()\narray([0, 1, 2, 3])\n")
      .def("item", &item, nb::sig("def item(self, *index: int) -> typing.Any"),
           "One element as a Python number, on every rank.\n\n"
           ">>> ts.dist.arange(4, split=0).item(2)\n2\n")
      .def(
          "tolist",
          [](const DNDarray& x) { return tolist(released([&] { return x.gathered(); })); },
          nb::sig("def tolist(self) -> typing.Any"),
          "The whole array as nested lists, on every rank.\n\n"
          ">>> ts.dist.eye(2, split=0).tolist()\n[[1.0, 0.0], [0.0, 1.0]]\n")
      .def("fill", &fill, "value"_a, nb::sig("def fill(self, value: complex) -> None"),
           "Sets every element.\n\n"
           ">>> x = ts.dist.empty(2, split=0); x.fill(3); x.tolist()\n[3.0, 3.0]\n")
      .def(
          "touch", [](const DNDarray& x) { x.touch(); }, nb::sig("def touch(self) -> None"),
          "Forgets what the ranks remember of the elements: rows that were read, positions and "
          "masks "
          "that were told. For writes that they cannot know of, such as into ``local``; every rank "
          "calls it. Until then all of them go on with what was told.\n\n"
          ">>> m = ts.dist.zeros(3, dtype='bool', split=0); m.local[:] = True; m.touch()\n"
          ">>> ts.dist.arange(3, split=0)[m].tolist()\n[0, 1, 2]\n")
      .def("__array__", &as_numpy, "dtype"_a = nb::none(), "copy"_a = nb::none(),
           nb::sig("def __array__(self, dtype: typing.Any = None, copy: bool | None = None) -> "
                   "typing.Any"))
      .def(
          "__complex__",
          [](const DNDarray& x) {
            const c128 z = single(x).as<c128>();
            return nb::steal(PyComplex_FromDoubles(z.re, z.im));
          },
          nb::sig("def __complex__(self) -> complex"))
      .def("__format__", &formatted, "spec"_a, nb::sig("def __format__(self, spec: str, /) -> str"))
      .def("__round__", &rounded, "ndigits"_a = nb::none(),
           nb::sig("def __round__(self, ndigits: int | None = None) -> typing.Any"))
      .def(
          "__dlpack__",
          [](const DNDarray& x, nb::kwargs options) {
            return wrap(released([&] { return x.local(); })).attr("__dlpack__")(**options);
          },
          nb::sig("def __dlpack__(self, **options: typing.Any) -> typing.Any"))
      .def(
          "__dlpack_device__",
          [](const DNDarray& x) {
            return wrap(released([&] { return x.local(); })).attr("__dlpack_device__")();
          },
          nb::sig("def __dlpack_device__(self) -> tuple[int, int]"))
      .def(
          "__repr__", [](const DNDarray& x) { return dist::repr(x); },
          nb::sig("def __repr__(self) -> str"))
      .def(
          "__str__", [](const DNDarray& x) { return released([&] { return dist::to_text(x); }); },
          nb::sig("def __str__(self) -> str"))
      .def(
          "_repr_html_", [](const DNDarray& x) { return repr_html(x); },
          nb::sig("def _repr_html_(self) -> str"));
}

// What unpickling makes of this rank's part; nothing is sent.
nb::object of_part(nb::handle local, nb::handle shape, i64 split, nb::handle counts) {
  const Shape whole = shape_from(shape), n = shape_from(counts);
  const Communicator comm = comm_from(nb::none());
  require<ArgumentError>(split >= 0 && split < whole.size() && n.size() == comm.size(),
                         "DNDarray: split ", split, " and counts ", n, " do not fit the shape ",
                         whole, " over ", comm.size(), " ranks");
  return wrap(DNDarray(as_array(local, "DNDarray"), whole,
                       {split, Partition::of({n.data(), static_cast<std::size_t>(n.size())})},
                       comm));
}

void bind_copies(nb::module_& m, nb::class_<DNDarray>& c) {
  m.def("_of_part", &of_part, "local"_a, "shape"_a, "split"_a, "counts"_a,
        nb::sig("def _of_part(local: ArrayLike, shape: ShapeLike, split: int, counts: "
                "typing.Sequence[int]) -> DNDarray"));
  c.def(
       "__copy__", [](const DNDarray& x) { return wrap(released([&] { return x.copy(); })); },
       nb::sig("def __copy__(self) -> DNDarray"))
      .def(
          "__deepcopy__",
          [](const DNDarray& x, nb::handle) { return wrap(released([&] { return x.copy(); })); },
          "memo"_a, nb::sig("def __deepcopy__(self, memo: object) -> DNDarray"))
      .def(
          "__reduce__",
          [](nb::handle x) {
            return nb::module_::import_("tessera.dist._pickle").attr("reduced")(x);
          },
          nb::sig("def __reduce__(self) -> tuple[typing.Any, ...]"));
}

// What NumPy asks of arrays that are not its own is Python's business: tessera/_numpy.py.
void bind_protocols(nb::class_<DNDarray>& c) {
  const auto forward = [](const char* name) {
    return [name](nb::args args, nb::kwargs kwargs) {
      return nb::module_::import_("tessera._numpy").attr(name)(*args, **kwargs);
    };
  };
  c.def("__array_ufunc__", forward("dist_ufunc"),
        nb::sig("def __array_ufunc__(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any"))
      .def("__array_function__", forward("dist_function"),
           nb::sig("def __array_function__(self, *args: typing.Any, **kwargs: typing.Any) -> "
                   "typing.Any"))
      .def("__array_namespace__", forward("dist_namespace"),
           nb::sig("def __array_namespace__(self, *, api_version: str | None = None) -> "
                   "typing.Any"));
}

}  // namespace

nb::object wrap(DNDarray a) {
  nb::object o = nb::inst_alloc(type_object());
  new (nb::inst_ptr<DNDarray>(o)) DNDarray(std::move(a));
  nb::inst_mark_ready(o);
  return o;
}

bool is_passing(PyObject* o) {
#if PY_VERSION_HEX >= 0x030E0000  // names lend their references there
  const bool named = !PyUnstable_Object_IsUniqueReferencedTemporary(o);
#else
  const bool named = Py_REFCNT(o) > 1;
#endif
  return !named && is_dist(o) && dist_of(o).sole();
}

Communicator group_of(std::initializer_list<nb::handle> objects) {
  for (nb::handle h : objects)
    if (is_dist(h.ptr())) return dist_of(h.ptr()).comm();
  return comm_from(nb::none());
}

DNDarray as_dist(nb::handle h, std::string_view who, const Communicator& comm) {
  if (is_dist(h.ptr())) return dist_of(h.ptr());
  return DNDarray::replicated(as_array(h, who), comm);
}

nb::class_<DNDarray> bind_dist_array(nb::module_& m) {
  static std::vector<PyType_Slot> slots = dist_slots();
  nb::class_<DNDarray> c(m, "DNDarray", nb::type_slots(slots.data()), nb::is_final(),
                         dist_array_doc);
  dist_type = reinterpret_cast<PyTypeObject*>(c.ptr());
  bind_attributes(c);
  bind_parts(c);
  bind_spreads(c);
  bind_halo(c);
  bind_conversions(c);
  bind_copies(m, c);
  bind_protocols(c);
  return c;
}

}  // namespace tessera::python
