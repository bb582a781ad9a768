// SPDX-License-Identifier: Apache-2.0
// Arrays as Python sees them: nested lists, NumPy arrays and memoryviews that share the memory,
// texts, addresses.
#include "array/convert_out.hpp"

#include <limits>

#include "tessera/array/print.hpp"
#include "tessera/device/host_limits.hpp"

namespace tessera::python {

namespace {

const char* format_of(DType t) {
  constexpr const char* formats[dtype_count] = {"?", "b", "h",     "i", "l", "B",  "H", "I",
                                                "L", "e", nullptr, "f", "d", "Zf", "Zd"};
  return formats[static_cast<int>(t)];
}

nb::object list_of(const std::byte* p, const Array& a, i64 axis) {
  if (axis == a.ndim()) return nb::steal(python_number(p, a.dtype()));
  const i64 n = a.shape(axis), step = a.layout().strides[axis] * size_of(a.dtype());
  nb::object list = nb::steal(PyList_New(n));
  if (!list.is_valid()) throw nb::python_error();
  for (i64 i = 0; i < n; ++i)
    PyList_SET_ITEM(list.ptr(), i, list_of(p + i * step, a, axis + 1).release().ptr());
  return list;
}

// "<f8", "|b1" …
std::string type_text(DType t) {
  const char kind = t == DType::b1       ? 'b'
                    : is_signed_int(t)   ? 'i'
                    : is_unsigned_int(t) ? 'u'
                    : is_float(t)        ? 'f'
                                         : 'c';
  return cat(size_of(t) == 1 ? "|" : "<", std::string(1, kind), size_of(t));
}

// Shape and byte strides of an exported buffer, freed with it.
struct BufferShape {
  std::vector<Py_ssize_t> shape, strides;
};

void check_request(const Array& a, int flags) {
  if (a.device().kind != Kind::cpu) {
    raise(PyExc_BufferError, cat("the array is on ", a.device(), ": use x.numpy() or x.to('cpu')"));
  }
  if (!format_of(a.dtype()))
    raise(PyExc_BufferError, cat("buffers have no format for ", name(a.dtype())));
  if ((flags & PyBUF_WRITABLE) == PyBUF_WRITABLE && !a.storage().writable())
    raise(PyExc_BufferError, "the array is read-only");
  const bool strided = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
  const bool wants_c = (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS;
  if ((!strided || wants_c) && !a.is_contiguous())
    raise(PyExc_BufferError, "the array is not contiguous");
  const bool wants_f = (flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS;
  if (wants_f && !a.transpose().is_contiguous())
    raise(PyExc_BufferError, "the array is not contiguous");
}

}  // namespace

nb::tuple tuple_of(const Shape& s) {
  PyObject* t = PyTuple_New(s.size());
  if (!t) throw nb::python_error();
  nb::tuple held = nb::steal<nb::tuple>(t);
  for (i64 i = 0; i < s.size(); ++i) PyTuple_SET_ITEM(t, i, python_number(Value(s[i])));
  return held;
}

nb::object tolist(const Array& a) {
  // A pointer and a number for each element: before the first of them takes any memory. A view that
  // repeats elements has more of them than its storage.
  constexpr i64 each = sizeof(PyObject*) + sizeof(PyFloatObject);
  check_host_memory("tolist", a.size() > std::numeric_limits<i64>::max() / each
                                  ? std::numeric_limits<i64>::max()
                                  : a.size() * each);
  const Array host = released([&] {
    Array h = a.to(cpu);
    h.storage().wait();
    return h;
  });
  return list_of(static_cast<const std::byte*>(host.host_data()), host, 0);
}

int array_buffer(PyObject* self, Py_buffer* view, int flags) noexcept {
  view->obj = nullptr;
  return guarded(-1, [&] {
    const Array& a = array_of(self);
    check_request(a, flags);
    auto shape = std::make_unique<BufferShape>();
    const i64 item = size_of(a.dtype());
    for (i64 i = 0; i < a.ndim(); ++i) {
      shape->shape.push_back(a.shape(i));
      shape->strides.push_back(a.layout().strides[i] * item);
    }
    // Axes of size 1 may carry any stride here; others expect the one of a dense array.
    if (a.is_contiguous()) {
      Py_ssize_t step = item;
      for (i64 i = a.ndim(); i-- > 0;) {
        shape->strides[static_cast<std::size_t>(i)] = step;
        step *= a.shape(i) > 0 ? a.shape(i) : 1;
      }
    }
    view->buf = a.host_data();
    view->len = a.bytes();
    view->readonly = !a.storage().writable();
    view->itemsize = item;
    view->format = (flags & PyBUF_FORMAT) ? const_cast<char*>(format_of(a.dtype())) : nullptr;
    view->ndim = static_cast<int>(a.ndim());
    view->shape = (flags & PyBUF_ND) ? shape->shape.data() : nullptr;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? shape->strides.data() : nullptr;
    view->suboffsets = nullptr;
    view->internal = shape.release();
    Py_INCREF(self);
    view->obj = self;
    return 0;
  });
}

void array_release_buffer(PyObject*, Py_buffer* view) noexcept {
  delete static_cast<BufferShape*>(view->internal);
}

nb::object numpy_of(nb::handle self, bool copy) {
  const Array& a = array_of(self.ptr());
  nb::module_ np = nb::module_::import_("numpy");
  if (a.dtype() == DType::bf16) {
    nb::object types = nb::steal(PyImport_ImportModule("ml_dtypes"));
    if (!types.is_valid()) {
      PyErr_Clear();
      throw DTypeError("numpy: NumPy has no bfloat16; use x.astype('float32') first");
    }
    const Array host = released([&] { return copy ? a.to(cpu).copy() : a.to(cpu); });
    const Array bits(host.storage(), host.layout(), DType::u16);  // NumPy's buffers know no other
    return np.attr("asarray")(wrap(bits)).attr("view")(types.attr("bfloat16"));
  }
  if (a.device().kind != Kind::cpu)
    return np.attr("asarray")(wrap(released([&] { return a.to(cpu); })));
  nb::object shared = np.attr("asarray")(self);
  return copy ? shared.attr("copy")() : shared;
}

nb::object formatted_number(const Value& value, nb::handle spec) {
  const nb::object number = nb::steal(python_number(value));
  nb::object text = nb::steal(PyObject_Format(number.ptr(), spec.ptr()));
  if (!text.is_valid()) throw nb::python_error();
  return text;
}

nb::object formatted(const Array& x, nb::str spec) {
  if (x.ndim() == 0) return formatted_number(released([&] { return x.item(); }), spec);
  if (PyUnicode_GetLength(spec.ptr()) != 0)
    raise(PyExc_TypeError, cat("unsupported format string passed to tessera.Array.__format__: the "
                               "array has shape ",
                               x.shape(), ", and only one of rank 0 is formatted as a number"));
  return nb::str(released([&] { return to_text(x); }).c_str());
}

nb::object rounded(nb::handle_t<Array> self, nb::handle digits) {
  const Array& x = array_of(self.ptr());
  if (digits.is_none() && x.ndim() == 0 && !is_complex(x.dtype())) {
    const nb::object number = nb::steal(python_number(released([&] { return x.item(); })));
    return nb::module_::import_("builtins").attr("round")(number);
  }
  const i64 decimals = digits.is_none() ? 0 : int_from(digits, "round");
  return nb::module_::import_("tessera").attr("round")(self, decimals);
}

nb::dict interface_of(const Array& x, Kind kind, const char* name) {
  if (x.device().kind != kind || x.dtype() == DType::bf16)
    raise(PyExc_AttributeError,
          cat("an array of ", tessera::name(x.dtype()), " on ", x.device(), " has no ", name));
  released([&] { x.storage().wait(); });
  Shape steps = x.layout().strides;
  for (i64& s : steps) s *= size_of(x.dtype());
  nb::dict d;
  d["shape"] = tuple_of(x.shape());
  d["typestr"] = type_text(x.dtype());
  const auto address = x.size() == 0 ? 0 : reinterpret_cast<std::uintptr_t>(x.data());
  d["data"] = nb::make_tuple(address, !x.storage().writable());
  d["strides"] = x.is_contiguous() ? nb::none() : nb::object(tuple_of(steps));
  d["version"] = 3;
  return d;
}

}  // namespace tessera::python
