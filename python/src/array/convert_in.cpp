// SPDX-License-Identifier: Apache-2.0
// Python objects that are, or could be, arrays: buffers are shared, everything else is read once.
#include <cstring>

#include "core/beside.hpp"
#include "core/sequence.hpp"
#include "dist/dist.hpp"
#include "linop/linop.hpp"
#include "matrix/matrix.hpp"
#include "streaming/stored_array.hpp"
#include "tessera/kernels/copy/copy.hpp"

namespace tessera::python {

namespace {

// The format of a buffer as one of ours; nothing for byte-swapped, structured or unknown elements.
std::optional<DType> buffer_dtype(const Py_buffer& b) {
  const char* f = b.format ? b.format : "B";
  if (*f == '@' || *f == '=' || *f == '<') ++f;
  if (f[0] == 'Z' && f[1] && !f[2]) {
    return f[1] == 'f'   ? std::optional(DType::c64)
           : f[1] == 'd' ? std::optional(DType::c128)
                         : std::nullopt;
  }
  if (!f[0] || f[1]) return std::nullopt;
  const Py_ssize_t n = b.itemsize;
  switch (*f) {
    case '?': return DType::b1;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
    case 'n': return n == 1 ? DType::i8 : n == 2 ? DType::i16 : n == 4 ? DType::i32 : DType::i64;
    case 'B':
    case 'c':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
    case 'N': return n == 1 ? DType::u8 : n == 2 ? DType::u16 : n == 4 ? DType::u32 : DType::u64;
    case 'e': return DType::f16;
    case 'f': return DType::f32;
    case 'd': return DType::f64;
    case 'F': return DType::c64;  // Python 3.14 and later
    case 'D': return DType::c128;
    default: return std::nullopt;
  }
}

// Element strides, or nothing when a stride or the address is no multiple of the element.
std::optional<Layout> buffer_layout(const Py_buffer& b) {
  Layout l;
  // NumPy's dates and spans of time export their bytes, without the strides that were asked for.
  if (b.ndim > 0 && !b.strides) return std::nullopt;
  for (int i = 0; i < b.ndim; ++i) {
    if (b.shape[i] != 1 && b.strides[i] % b.itemsize) return std::nullopt;
    l.shape.push_back(b.shape[i]);
    l.strides.push_back(b.shape[i] == 1 ? 0 : b.strides[i] / b.itemsize);
  }
  // Complex numbers too: kernels load both parts at once.
  if (reinterpret_cast<std::uintptr_t>(b.buf) % static_cast<std::size_t>(b.itemsize))
    return std::nullopt;
  return l;
}

struct Released {
  Py_buffer* view;
  void operator()() const {
    if (Py_IsInitialized()) {
      nb::gil_scoped_acquire locked;
      PyBuffer_Release(view);
    }
    delete view;
  }
};

Array adopt_buffer(Py_buffer* view, DType dtype, Layout layout) {
  const auto [low, high] = layout.span();
  std::byte* first = static_cast<std::byte*>(view->buf) + low * view->itemsize;
  layout.offset = -low;
  if (high < low) layout.offset = 0;
  const i64 bytes = (high - low + 1) * view->itemsize;
  Storage s = Storage::adopt(cpu, first, bytes, Released{view}, !view->readonly);
  return Array(std::move(s), std::move(layout), dtype);
}

nb::object numpy() { return nb::module_::import_("numpy"); }

// Shares the memory of an object with the buffer protocol; nothing when its elements are not ours.
std::optional<Array> from_buffer(PyObject* o) {
  auto view = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(o, view.get(), PyBUF_RECORDS_RO) != 0) {
    PyErr_Clear();
    return std::nullopt;
  }
  const auto dtype = buffer_dtype(*view);
  auto layout = dtype ? buffer_layout(*view) : std::nullopt;
  if (!layout) {
    PyBuffer_Release(view.get());
    return std::nullopt;
  }
  return adopt_buffer(view.release(), *dtype, std::move(*layout));
}

// Byte-swapped, unaligned or foreign arrays: NumPy makes a plain one, which is then shared.
std::optional<Array> through_numpy(nb::handle h) {
  nb::object array = numpy().attr("asarray")(h);
  nb::object dtype = array.attr("dtype");
  if (nb::cast<std::string>(dtype.attr("name")) == "bfloat16") {  // of ml_dtypes: no buffers
    const auto bits = from_buffer(array.attr("view")("uint16").ptr());
    if (!bits) return std::nullopt;
    return Array(bits->storage(), bits->layout(), DType::bf16);
  }
  nb::object native = dtype.attr("newbyteorder")("=");
  if (std::strchr("biufc", nb::cast<std::string>(dtype.attr("kind"))[0]) == nullptr)
    return std::nullopt;
  nb::object plain = numpy().attr("require")(array, native, "CA");
  if (auto shared = from_buffer(plain.ptr())) return shared;
  // Aligned for NumPy, not for us: complex numbers between the boundaries of their size.
  return from_buffer(plain.attr("copy")().ptr());
}

bool has(nb::handle h, const char* attribute) {
  return PyObject_HasAttrString(h.ptr(), attribute) == 1;
}

// What every rank has is an ordinary array here; a part of an array never passes for the whole.
Array whole_of(const DNDarray& x) {
  require<DTypeError>(!x.split(), "a distributed array of shape ", x.shape(), ", split along axis ",
                      x.split().value_or(0),
                      ", was given to a function of local arrays: use that of ts.dist, x.local for "
                      "this rank's part, or x.numpy() for the whole");
  return released([&] { return x.local(); });
}

std::optional<Array> find_array(nb::handle h, std::optional<DType> dtype) {
  PyObject* o = h.ptr();
  if (is_array(o)) return array_of(o);
  if (is_dist(o)) return whole_of(dist_of(o));
  if (auto v = weak_value(o, dtype)) {
    const DType t = dtype.value_or(v->dtype());
    check_fits(*v, t);
    return Array::scalar(*v, t);
  }
  if (PyList_Check(o) || PyTuple_Check(o) || PyRange_Check(o)) return array_from_nested(h, dtype);
  if (PyObject_CheckBuffer(o)) {
    if (auto a = from_buffer(o)) return a;
    if (has(h, "__array_interface__")) return through_numpy(h);
  }
  if (is_matrix(h)) {  // where it lies, and of dtypes that NumPy does not have
    const AnyMatrix& m = matrix_of(h);
    return released([&] { return full_copy(m, {}, {}); });
  }
  if (is_stored(o) || is_stored_matrix(o)) return std::nullopt;  // not silently into memory
  if (is_linop(h)) return std::nullopt;                          // whose __array__ says so
  if (PyType_Check(o)) return std::nullopt;  // classes have the attributes below, unbound
  // DLPack first: its producers make our stream wait for what theirs still compute.
  if (has(h, "__dlpack__")) return array_from_dlpack(h);
  if (has(h, "__cuda_array_interface__")) return array_from_cuda_interface(h);
  if (has(h, "__array_interface__") || has(h, "__array__")) return through_numpy(h);
  return std::nullopt;
}

}  // namespace

std::optional<DType> float_dtype(PyObject* o) {
  if (!o || !(is_array(o) || is_dist(o))) return std::nullopt;
  const DType t = is_array(o) ? array_of(o).dtype() : dist_of(o).dtype();
  return is_float(t) || is_complex(t) ? std::optional(t) : std::nullopt;
}

std::optional<Value> weak_value(PyObject* o, std::optional<DType> meets) {
  if (PyFloat_CheckExact(o)) return Value(PyFloat_AS_DOUBLE(o));
  if (PyBool_Check(o)) return Value(o == Py_True);
  // Subclasses that carry a dtype (np.float64, np.complex128) are arrays of rank 0, not weak
  // numbers.
  if (PyLong_Check(o)) {
    int overflow = 0;
    const long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (!overflow) return Value(static_cast<i64>(v));
    if (overflow > 0) {
      const unsigned long long u = PyLong_AsUnsignedLongLong(o);
      if (!PyErr_Occurred()) return Value(static_cast<std::uint64_t>(u));
      PyErr_Clear();
    }
    require<OverflowError>(meets && !is_integer(*meets),
                           "Python int too large to convert to C long");
    const double d = PyLong_AsDouble(o);
    if (d == -1 && PyErr_Occurred()) throw nb::python_error();
    return Value(d);
  }
  if (PyObject_CheckBuffer(o)) return std::nullopt;
  if (PyFloat_Check(o)) return Value(PyFloat_AS_DOUBLE(o));
  if (PyComplex_Check(o)) return Value(c128(PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o)));
  return std::nullopt;
}

Value value_from(nb::handle h, std::string_view who, std::optional<DType> meets) {
  if (auto v = weak_value(h.ptr(), meets)) return *v;
  auto a = find_array(h, {});
  require<DTypeError>(a.has_value(), who, ": expected a number, got ", Py_TYPE(h.ptr())->tp_name);
  require<ShapeError>(a->size() == 1, who, ": expected a number, got an array of shape ",
                      a->shape());
  return released([&] { return a->item(); });
}

std::optional<Array> try_array(nb::handle h, std::optional<DType> dtype) {
  auto a = find_array(h, dtype);
  if (a && dtype && a->dtype() != *dtype) return released([&] { return a->astype(*dtype); });
  return a;
}

Array as_array(nb::handle h, std::string_view who, std::optional<DType> dtype) {
  auto a = try_array(h, dtype);
  if (!a) {
    std::string of;
    if (has(h, "dtype")) {
      const nb::object dtype = h.attr("dtype");
      of = cat(" of dtype ", nb::str(nb::handle(dtype)).c_str());
    }
    throw DTypeError(
        cat(who, ": expected an array or numbers, got ", Py_TYPE(h.ptr())->tp_name, of));
  }
  return std::move(*a);
}

const Array& target_array(nb::handle h, std::string_view who) {
  require<DTypeError>(is_array(h.ptr()), who, ": out must be a tessera.Array, got ",
                      Py_TYPE(h.ptr())->tp_name);
  const Array& out = array_of(h.ptr());
  require<ArgumentError>(out.storage().writable(), who, ": output array is read-only");
  return out;
}

ArrayOrValue operand(nb::handle h, std::string_view who, nb::handle other) {
  if (is_array(h.ptr())) return array_of(h.ptr());
  if (auto v = weak_value(h.ptr(), float_dtype(other.ptr()))) return *v;
  return beside(as_array(h, who), h, other);
}

i64 int_from(nb::handle h, std::string_view who) {
  nb::object index = nb::steal(PyNumber_Index(h.ptr()));
  if (!index.is_valid()) {
    PyErr_Clear();
    throw DTypeError(cat(who, ": expected an integer, got ", Py_TYPE(h.ptr())->tp_name));
  }
  const long long v = PyLong_AsLongLong(index.ptr());
  if (v == -1 && PyErr_Occurred()) throw nb::python_error();
  return v;
}

Shape shape_from(nb::handle h) {
  Shape s;
  PyObject* o = h.ptr();
  if (PyTuple_Check(o) || PyList_Check(o) || has_items(h)) {
    const nb::object items = held_items(h, "expected a sequence of integers");
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(items.ptr());
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* const item = PySequence_Fast_GET_ITEM(items.ptr(), i);
      require<DTypeError>(!PyBool_Check(item), "shape: expected an integer, got bool");
      s.push_back(int_from(item, "shape"));
    }
  } else {
    s.push_back(int_from(h, "shape"));
  }
  return s;
}

std::optional<Shape> shape_or_none(nb::handle h) {
  if (h.is_none()) return std::nullopt;
  return shape_from(h);
}

i64 bytes_from(nb::handle h) {
  if (PyUnicode_Check(h.ptr())) return parse_bytes(nb::cast<std::string>(h));
  return int_from(h, "bytes");
}

}  // namespace tessera::python
