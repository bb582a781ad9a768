// SPDX-License-Identifier: Apache-2.0
// The class tessera.Array: what it is (shape, dtype, device), its views and its conversions.
// Operators are in number_slots.cpp, keys in index.cpp, functions that are also methods in
// reductions.cpp and functions.cpp.
#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "array/array_object.hpp"
#include "array/convert_out.hpp"
#include "core/docs.hpp"
#include "core/sequence.hpp"
#include "tessera/array/print.hpp"
#include "tessera/device/host_limits.hpp"
#include "tessera/device/tiny_readers.hpp"
#include "tessera/store/snapshot/snapshot_reader.hpp"
#include "tessera/store/snapshot/snapshot_writer.hpp"

namespace tessera::python {

PyTypeObject* array_type = nullptr;

namespace {

// Note [parked objects]
// Most arrays of Python live for one expression. An object that nobody holds any more is parked,
// with no array in it, and becomes the next result: nothing is asked of the allocator, of
// nanobind's map of objects or of the garbage collector, which finds no references in arrays
// anyway. Objects that nanobind made for itself are the collector's and go back to nanobind. The
// lock of the interpreter guards the list; without that lock nothing is parked.
#ifdef Py_GIL_DISABLED
constexpr std::size_t most_parked = 0;
#else
constexpr std::size_t most_parked = 256;
#endif
std::array<PyObject*, most_parked> parked;
std::size_t parked_count = 0;
destructor end_object = nullptr;  // nanobind's

// Note [parked numbers]
// x[i] is an array of one number, and most of its time went into memory for it. A few objects are
// for such numbers alone: they are parked with their array, into which the next number is written.
// What others hold the memory of, or what became something else, is a plain object from then on.
// Where other devices read numbers of the host, each gets memory of its own again.
constexpr std::size_t most_numbers = most_parked > 0 ? 8 : 0;
struct Objects {
  std::array<PyObject*, 8> list{};
  std::size_t count = 0;
  void add(PyObject* o) { list[count++] = o; }
  PyObject** find(PyObject* o) { return std::find(list.data(), list.data() + count, o); }
  PyObject** end() { return list.data() + count; }
};
Objects for_numbers, parked_numbers;

bool parks_number(PyObject* self, const Array& array) {
  PyObject** const at = for_numbers.find(self);
  if (at == for_numbers.end()) return false;
  const Storage& storage = array.storage();
  if (array.ndim() == 0 && storage && storage.use_count() == 1 && storage.device() == cpu &&
      storage.bytes() == size_of(array.dtype())) {
    parked_numbers.add(self);
    return true;
  }
  *at = for_numbers.list[--for_numbers.count];
  return false;
}

void park_or_end(PyObject* self) {
  if (PyObject_GC_IsTracked(self)) return end_object(self);
  PyObject** const references =
      reinterpret_cast<PyObject**>(reinterpret_cast<char*>(self) + array_type->tp_weaklistoffset);
  if (*references) PyObject_ClearWeakRefs(self);
  Array* const array = nb::inst_ptr<Array>(nb::handle(self));
  if (for_numbers.count > 0 && parks_number(self, *array)) return;
  if (parked_count == most_parked) return end_object(self);
  array->~Array();  // may end others, which are parked meanwhile
  new (array) Array();
  if (parked_count == most_parked) return end_object(self);
  parked[parked_count++] = self;
}

// What nanobind makes it keeps too, where it knows how to.
#if NB_VERSION_MAJOR > 3 || (NB_VERSION_MAJOR == 3 && NB_VERSION_MINOR >= 1)
const nb::pooled kept_objects(128);
#else
constexpr nb::is_final kept_objects{};
#endif

nb::object type_object() { return nb::borrow(reinterpret_cast<PyObject*>(array_type)); }

// reshape(2, 3), reshape((2, 3)): both spellings.
Shape shape_arguments(const nb::args& args) {
  if (args.size() == 1) return shape_from(args[0]);
  return shape_from(args);
}

Array transposed(const Array& x, const nb::args& axes) {
  if (axes.size() == 0 || (axes.size() == 1 && axes[0].is_none())) return x.transpose();
  return x.permute(shape_arguments(axes));
}

Array to_device(const Array& x, nb::handle device) {
  const Device d = device_from(device);
  return released([&] { return x.to(d); });
}

Array copied(const Array& x) {
  return released(is_large(x), [&] { return x.copy(); });
}

nb::object item(const Array& x, const nb::args& args) {
  if (args.size() == 0) {
    if (x.size() != 1)
      raise(PyExc_ValueError, "can only convert an array of size 1 to a Python scalar");
    return nb::steal(python_number(released([&] { return x.item(); })));
  }
  const Shape at = shape_arguments(args);
  const Array flat =
      at.size() == 1 && x.ndim() != 1 ? released([&] { return x.reshape({-1}); }) : x;
  require<ArgumentError>(at.size() == flat.ndim(), "incorrect number of indices for array");
  nb::object one = wrap(flat)[tuple_of(at)];
  return one.attr("item")();
}

nb::object as_numpy(nb::handle_t<Array> self, nb::handle dtype, nb::handle copy) {
  const Array& a = array_of(self.ptr());
  require<DeviceError>(a.device().kind == Kind::cpu, "__array__: the array is on ", a.device(),
                       "; copy it explicitly with x.numpy() or x.to('cpu')");
  const bool must = !copy.is_none() && flag_from(copy, "copy");
  nb::object out = numpy_of(self, must);
  if (dtype.is_none()) return out;
  if (!copy.is_none() && !must &&
      !out.attr("dtype").equal(nb::module_::import_("numpy").attr("dtype")(dtype)))
    raise(PyExc_ValueError, "Unable to avoid copy while creating an array as requested.");
  return out.attr("astype")(dtype, nb::arg("copy") = false);
}

nb::object dlpack(const Array& x, nb::handle stream, nb::handle max_version, nb::handle dl_device,
                  nb::handle copy) {
  const bool versioned =
      !max_version.is_none() && int_from(nb::object(max_version[0]), "max_version") >= 1;
  bool must = !copy.is_none() && flag_from(copy, "copy");
  Array a = x;
  if (!dl_device.is_none()) {
    const auto [type, id] = dlpack_device(x);
    const std::pair<i64, i64> wanted{int_from(nb::object(dl_device[0]), "dl_device"),
                                     int_from(nb::object(dl_device[1]), "dl_device")};
    if (wanted != std::pair<i64, i64>{type, id}) {
      // The host may be asked for from anywhere: that is not silent.
      if (wanted.first != 1 || (!copy.is_none() && !must))
        raise(PyExc_BufferError,
              cat("__dlpack__: the array is on ", x.device(), " and is not moved silently"));
      a = to_device(x, nb::str("cpu"));
      must = true;
    }
  }
  // Not everybody heeds the flag of read-only memory (PyTorch does not), so nobody gets such memory
  // unless it is asked for, and views that repeat elements are never shared: of what is read-only
  // others have a copy, which says so as well.
  const bool only_read = !must && !x.storage().writable();
  if (only_read && !copy.is_none() && x.layout().self_overlaps())
    raise(
        PyExc_BufferError,
        "__dlpack__: the array repeats elements (a broadcast view), so that it is given as a copy "
        "only, got copy=False");
  const bool frozen_copy = only_read && versioned && copy.is_none();
  if (frozen_copy) a = copied(a).broadcast_to(a.shape());  // broadcast views are read-only
  if (must && a.device() == x.device()) a = copied(a);
  // Of CUDA, None is the legacy default stream, which has the number 1; -1 asks for nothing.
  const i64 number = stream.is_none() ? 1 : int_from(stream, "stream");
  if (number != -1) released([&] { a.storage().wait(); });
  void* consumer = a.device().kind == Kind::cuda && number > 0
                       ? reinterpret_cast<void*>(static_cast<std::uintptr_t>(number))
                       : nullptr;
  return dlpack_capsule(a, versioned, must || frozen_copy, consumer);
}

// Pickles as (a .tessera file in memory, device): the memory travels once, in C order.
nb::tuple state(const Array& x) {
  const NamedArrays one = {{"array", x}};
  const i64 bytes = encoded_bytes(one, "");
  nb::object data = nb::steal(PyBytes_FromStringAndSize(nullptr, bytes));
  if (!data.is_valid()) throw nb::python_error();
  auto* to = reinterpret_cast<std::byte*>(PyBytes_AS_STRING(data.ptr()));
  released([&] { encode_snapshot(one, "", {to, static_cast<std::size_t>(bytes)}); });
  const std::string device = x.device().str();
  return nb::make_tuple(data, nb::str(device.c_str()));
}

void set_state(Array* self, const nb::tuple& state) {
  require<ArgumentError>(state.size() == 2 && PyBytes_Check(state[0].ptr()), "pickle: a state of ",
                         state.size(), " parts; expected bytes and the name of a device");
  const nb::bytes data = nb::borrow<nb::bytes>(state[0]);
  const std::span bytes(static_cast<const std::byte*>(data.data()), data.size());
  const Array a = released([&] { return Snapshot(bytes, "pickle").read(0); });
  new (self) Array(to_device(a, state[1]));
}

void set_part(const Array& x, nb::handle value, bool imaginary) {
  require<DTypeError>(!imaginary || is_complex(x.dtype()), "imag: an array of ", name(x.dtype()),
                      " has no imaginary part to set");
  const Array part = imaginary ? x.imag() : x.real();
  const Array v = as_array(value, "real");
  released([&] { part.copy_from(v.device() == part.device() ? v : v.to(part.device())); });
}

void bind_attributes(nb::class_<Array>& c) {
  c.def_prop_ro(
       "shape", [](const Array& x) { return tuple_of(x.shape()); },
       nb::sig("def shape(self) -> tuple[int, ...]"), "Sizes of the axes.")
      .def_prop_ro("ndim", &Array::ndim, "Number of axes.")
      .def_prop_ro("size", &Array::size, "Number of elements.")
      .def_prop_ro("nbytes", &Array::bytes, "Bytes of the elements.")
      .def_prop_ro(
          "itemsize", [](const Array& x) { return size_of(x.dtype()); }, "Bytes of one element.")
      .def_prop_ro(
          "dtype", [](const Array& x) { return dtype_object(x.dtype()); },
          nb::sig("def dtype(self) -> DType"), "The element type.")
      .def_prop_ro("device", &Array::device, "Where the elements are.")
      .def_prop_ro(
          "strides",
          [](const Array& x) {
            Strides s = x.layout().strides;
            for (i64& v : s) v *= size_of(x.dtype());
            return tuple_of(s);
          },
          nb::sig("def strides(self) -> tuple[int, ...]"),
          "Bytes between neighbours along each axis.")
      .def_prop_ro("T", &Array::transpose, "The axes in reverse order: a view.")
      .def_prop_ro(
          "mT",
          [](const Array& x) {
            require<ShapeError>(x.ndim() >= 2, "matrix transpose with ndim < 2 is undefined");
            return x.swap_axes(-2, -1);
          },
          "The last two axes swapped: a view.")
      .def_prop_rw(
          "real", &Array::real, [](const Array& x, nb::handle v) { set_part(x, v, false); },
          nb::for_getter(nb::sig("def real(self) -> Array")),
          nb::for_setter(nb::sig("def real(self, value: typing.Any, /) -> None")),
          "The real part: a view.")
      .def_prop_rw(
          "imag", &Array::imag, [](const Array& x, nb::handle v) { set_part(x, v, true); },
          nb::for_getter(nb::sig("def imag(self) -> Array")),
          nb::for_setter(nb::sig("def imag(self, value: typing.Any, /) -> None")),
          "The imaginary part: a view; zeros for real arrays.")
      .def_prop_ro("is_contiguous", &Array::is_contiguous, "Row-major without gaps.")
      .def_prop_ro("is_pinned", &Array::is_pinned,
                   "In page-locked host memory, which transfers move at full speed.")
      .def_prop_ro(
          "writable", [](const Array& x) { return x.storage().writable(); },
          "False for arrays over read-only memory.");
}

void bind_conversions(nb::class_<Array>& c) {
  c.def(
       "to_device",
       [](const Array& x, nb::handle device, nb::handle stream) {
         require<ArgumentError>(stream.is_none(), "to_device: stream is ", nb::repr(stream).c_str(),
                                "; arrays move in the order of their devices' own streams");
         return to_device(x, device);
       },
       nb::arg("device"), nb::kw_only(), nb::arg("stream") = nb::none(),
       nb::sig("def to_device(self, device: DeviceLike, /, *, stream: None = None) -> Array"),
       "The standard's name of :meth:`to`.\n\n"
       ">>> ts.arange(3).to_device('sim:0').device == 'sim:0'\nTrue\n")
      .def("to", &to_device, nb::arg("device"),
           nb::sig("def to(self, device: DeviceLike) -> Array"),
           "The array on another device; itself when it is there already.\n\n"
           ">>> x = ts.arange(3).to('sim:0')\n>>> x.device == 'sim:0', x.to('cpu').tolist()\n"
           "(True, [0, 1, 2])\n")
      .def(
          "astype",
          [](const Array& x, nb::handle dtype, bool copy) {
            const DType t = dtype_from(dtype);
            return released(is_large(x),
                            [&] { return copy && t == x.dtype() ? x.copy() : x.astype(t); });
          },
          nb::arg("dtype"), nb::kw_only(), nb::arg("copy") = false,
          nb::sig("def astype(self, dtype: DTypeLike, *, copy: bool = False) -> Array"),
          "The elements converted as NumPy converts; the array itself when it has that dtype.\n\n"
          ">>> ts.array([1.7, -2.5]).astype('int32').tolist()\n[1, -2]\n")
      .def(
          "pin_memory", [](const Array& x) { return released([&] { return x.pin_memory(); }); },
          "The same numbers in page-locked host memory; the array itself when it is there.\n\n"
          ">>> ts.zeros(3).pin_memory().is_pinned, ts.zeros(3).is_pinned\n(True, False)\n")
      .def(
          "contiguous", [](const Array& x) { return released([&] { return x.contiguous(); }); },
          "Row-major without gaps; the array itself when it is.\n\n"
          ">>> ts.zeros((2, 3)).T.contiguous().strides\n(16, 8)\n")
      .def("copy", &copied,
           "A new array with the same elements.\n\n"
           ">>> x = ts.zeros(2); y = x.copy(); y[0] = 1; x.tolist()\n[0.0, 0.0]\n")
      .def(
          "numpy", [](nb::handle_t<Array> self) { return numpy_of(self, false); },
          nb::sig("def numpy(self) -> typing.Any"),
          "A NumPy array: of the same memory on the cpu, a copy from other devices.\n\n"
          ">>> x = ts.zeros(2); x.numpy()[0] = 5; x.tolist()\n[5.0, 0.0]\n")
      .def("item", &item, nb::sig("def item(self, *index: int) -> typing.Any"),
           "One element as a Python number.\n\n>>> ts.array([[1.5]]).item()\n1.5\n")
      .def(
          "tolist", [](const Array& x) { return tolist(x); },
          nb::sig("def tolist(self) -> typing.Any"),
          "Nested lists of Python numbers.\n\n>>> ts.eye(2, dtype='int8').tolist()\n[[1, 0], [0, "
          "1]]\n")
      .def(
          "_parts",
          [](const Array& x) {
            constexpr i64 each = 256;  // bytes of a view and its object
            check_host_memory("unstack", std::min(x.shape(0), i64{1} << 50) * each);
            nb::object parts = nb::steal(PyTuple_New(x.shape(0)));
            if (!parts.is_valid()) throw nb::python_error();
            for (i64 i = 0; i < x.shape(0); ++i)
              PyTuple_SET_ITEM(parts.ptr(), i, wrap(x.select(0, i)).release().ptr());
            return parts;
          },
          nb::sig("def _parts(self) -> tuple[Array, ...]"),
          "Views of all elements of the first axis; of elements too, which x[i] would copy.")
      .def(
          "fill",
          [](const Array& x, nb::handle v) {
            const Value value = value_from(v, "fill", x.dtype());
            check_fits(value, x.dtype());
            released([&] { x.fill(value); });
          },
          nb::arg("value"), nb::sig("def fill(self, value: complex) -> None"),
          "Sets every element.\n\n>>> x = ts.empty(2); x.fill(3); x.tolist()\n[3.0, 3.0]\n");
}

void bind_protocols(nb::class_<Array>& c) {
  c.def("__array__", &as_numpy, nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none(),
        nb::sig("def __array__(self, dtype: typing.Any = None, copy: bool | None = None) -> "
                "typing.Any"))
      .def(
          "__array_ufunc__",
          [](nb::args args, nb::kwargs kwargs) {
            return nb::module_::import_("tessera._numpy").attr("array_ufunc")(*args, **kwargs);
          },
          nb::sig(
              "def __array_ufunc__(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any"))
      .def(
          "__array_function__",
          [](nb::args args) {
            return nb::module_::import_("tessera._numpy").attr("array_function")(*args);
          },
          nb::sig("def __array_function__(self, *args: typing.Any) -> typing.Any"))
      .def_prop_ro(
          "__array_interface__",
          [](const Array& x) { return interface_of(x, Kind::cpu, "__array_interface__"); },
          nb::sig("def __array_interface__(self) -> dict[str, typing.Any]"))
      .def_prop_ro(
          "__cuda_array_interface__",
          [](const Array& x) { return interface_of(x, Kind::cuda, "__cuda_array_interface__"); },
          nb::sig("def __cuda_array_interface__(self) -> dict[str, typing.Any]"))
      .def("__format__", &formatted, nb::arg("spec"),
           nb::sig("def __format__(self, spec: str, /) -> str"))
      .def("__round__", &rounded, nb::arg("digits") = nb::none(),
           nb::sig("def __round__(self, digits: int | None = None, /) -> typing.Any"))
      .def(
          "__array_namespace__",
          [](nb::args args, nb::kwargs kwargs) {
            return nb::module_::import_("tessera._numpy").attr("array_namespace")(*args, **kwargs);
          },
          nb::sig("def __array_namespace__(self, *, api_version: str | None = None) -> "
                  "typing.Any"))
      .def("__dlpack__", &dlpack, nb::kw_only(), nb::arg("stream") = nb::none(),
           nb::arg("max_version") = nb::none(), nb::arg("dl_device") = nb::none(),
           nb::arg("copy") = nb::none(),
           nb::sig(
               "def __dlpack__(self, *, stream: int | None = None, max_version: tuple[int, int] | "
               "None = None, "
               "dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> typing.Any"))
      .def(
          "__dlpack_device__",
          [](const Array& x) {
            const auto [type, id] = dlpack_device(x);
            return nb::make_tuple(type, id);
          },
          nb::sig("def __dlpack_device__(self) -> tuple[int, int]"))
      .def(
          "__complex__",
          [](const Array& x) {
            if (x.size() != 1)
              raise(PyExc_TypeError, "only length-1 arrays can be converted to Python scalars");
            const c128 z = released([&] { return x.item().as<c128>(); });
            return nb::steal(PyComplex_FromDoubles(z.re, z.im));
          },
          nb::sig("def __complex__(self) -> complex"))
      .def(
          "__repr__", [](const Array& x) { return released([&] { return repr(x); }); },
          nb::sig("def __repr__(self) -> str"))
      .def(
          "_repr_html_",
          [](nb::handle x) { return nb::module_::import_("tessera._views").attr("array")(x); },
          nb::sig("def _repr_html_(self) -> str"))
      .def(
          "__str__", [](const Array& x) { return released([&] { return to_text(x); }); },
          nb::sig("def __str__(self) -> str"))
      .def("__copy__", &copied)
      .def(
          "__deepcopy__", [](const Array& x, nb::handle) { return copied(x); }, nb::arg("memo"))
      .def("__getstate__", &state, nb::sig("def __getstate__(self) -> tuple[typing.Any, ...]"))
      .def("__setstate__", &set_state,
           nb::sig("def __setstate__(self, state: tuple[typing.Any, ...], /) -> None"));
}

void bind_views(nb::class_<Array>& c) {
  c.def(
       "reshape",
       [](const Array& x, nb::args shape) {
         const Shape s = shape_arguments(shape);
         return released(!x.is_contiguous() && is_large(x), [&] { return x.reshape(s); });
       },
       nb::sig("def reshape(self, *shape: int | typing.Sequence[int]) -> Array"),
       "Another shape of the same elements: a view where strides allow it.\n\n"
       ">>> ts.arange(6).reshape(2, -1).tolist()\n[[0, 1, 2], [3, 4, 5]]\n")
      .def("transpose", &transposed,
           nb::sig("def transpose(self, *axes: int | typing.Sequence[int]) -> Array"),
           "The axes in another order: a view.\n\n>>> ts.zeros((2, 3, 4)).transpose(2, 0, "
           "1).shape\n(4, 2, 3)\n")
      .def("swapaxes", &Array::swap_axes, nb::arg("axis1"), nb::arg("axis2"),
           "Two axes exchanged: a view.\n\n>>> ts.zeros((2, 3)).swapaxes(0, 1).shape\n(3, 2)\n")
      .def(
          "squeeze",
          [](const Array& x, nb::handle axis) {
            return axis.is_none() ? x.squeeze() : x.squeeze(int_from(axis, "squeeze"));
          },
          nb::arg("axis") = nb::none(),
          nb::sig("def squeeze(self, axis: int | None = None) -> Array"),
          "Without axes of size 1: a view.\n\n>>> ts.zeros((1, 3, 1)).squeeze().shape\n(3,)\n")
      .def(
          "ravel",
          [](const Array& x) {
            return released(!x.is_contiguous() && is_large(x),
                            [&] { return (x.is_contiguous() ? x : x.copy()).reshape({-1}); });
          },
          "One axis: a view of a contiguous array, a copy of any other.\n\n>>> "
          "ts.eye(2).ravel().tolist()\n[1.0, 0.0, "
          "0.0, 1.0]\n")
      .def(
          "flatten",
          [](const Array& x) { return released([&] { return x.copy().reshape({-1}); }); },
          "One axis, always a copy.\n\n>>> ts.eye(2).flatten().shape\n(4,)\n");
}

}  // namespace

nb::object wrap(Array a) { return wrapped(std::move(a)); }

nb::object array_object() {
  if (parked_count > 0) {
    PyObject* const o = parked[--parked_count];
    _Py_NewReference(o);
    return nb::steal(o);
  }
  nb::object o = nb::inst_alloc(type_object());
  new (nb::inst_ptr<Array>(o)) Array();
  nb::inst_mark_ready(o);
  PyObject_GC_UnTrack(o.ptr());
  return o;
}

nb::object number_object(DType dtype) {
  if (parked_numbers.count > 0) {
    PyObject* const o = parked_numbers.list[parked_numbers.count - 1];
    Array& array = *nb::inst_ptr<Array>(nb::handle(o));
    if (array.dtype() != dtype || tiny_storages_had_readers())
      array = Array(Storage::allocate(cpu, size_of(dtype)), Layout{}, dtype);
    --parked_numbers.count;
    _Py_NewReference(o);
    return nb::steal(o);
  }
  nb::object o = wrapped(Storage::allocate(cpu, size_of(dtype)), Layout{}, dtype);
  if (for_numbers.count < most_numbers) for_numbers.add(o.ptr());
  return o;
}

nb::class_<Array> bind_array(nb::module_& m) {
  static std::vector<PyType_Slot> slots = number_slots();
  nb::class_<Array> c(m, "Array", nb::type_slots(slots.data()), nb::is_final(),
                      nb::is_weak_referenceable(), array_doc, kept_objects);
  array_type = reinterpret_cast<PyTypeObject*>(c.ptr());
  end_object = array_type->tp_dealloc;
  array_type->tp_dealloc = &park_or_end;
  bind_attributes(c);
  bind_conversions(c);
  bind_protocols(c);
  bind_views(c);
  return c;
}

}  // namespace tessera::python
