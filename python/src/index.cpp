// SPDX-License-Identifier: Apache-2.0
// x[key] and x[key] = value. Integers and slices take short paths that build a layout directly;
// every other key becomes a tessera::Index, whose resolution and error texts are the library's.
#include "tessera/array/index.hpp"

#include <cstring>

#include "common.hpp"

namespace tessera::python {

namespace {

// An exact Python int within 64 bits: nothing else is a plain integer key here (bool is a mask).
inline bool plain_int(PyObject* o, i64& out) {
  if (!PyLong_CheckExact(o)) return false;
  int overflow = 0;
  out = PyLong_AsLongLongAndOverflow(o, &overflow);
  return overflow == 0;
}

i64 clipped_index(PyObject* o) {
  PyObject* index = PyNumber_Index(o);
  if (!index) {
    PyErr_Clear();
    raise(PyExc_TypeError, "slice indices must be integers or None or have an __index__ method");
  }
  nb::object held = nb::steal(index);
  const Py_ssize_t v = PyNumber_AsSsize_t(index, nullptr);  // clips what does not fit
  if (v == -1 && PyErr_Occurred()) throw nb::python_error();
  return v;
}

Slice slice_of(PyObject* o) {
  auto* s = reinterpret_cast<PySliceObject*>(o);
  Slice r;
  if (s->start != Py_None) r.start = clipped_index(s->start);
  if (s->stop != Py_None) r.stop = clipped_index(s->stop);
  if (s->step != Py_None) r.step = clipped_index(s->step);
  return r;
}

bool is_list(PyObject* o) { return PyList_Check(o) || PyTuple_Check(o) || PyRange_Check(o); }

bool array_like(PyObject* o) {
  return is_list(o) || PyObject_CheckBuffer(o) || PyObject_HasAttrString(o, "__dlpack__") ||
         PyObject_HasAttrString(o, "__array__");
}

// Lists are keys when they hold integers or truth values; an empty one counts as integers.
Array list_key(nb::handle h) {
  Array a;
  try {
    a = array_from_nested(h, {});
  } catch (const DTypeError&) {
    throw_not_a_key();
  }
  if (a.size() == 0 && a.dtype() == DType::f64) return Array::empty(a.shape(), DType::i64);
  if (is_inexact(a.dtype())) throw_not_a_key();
  return a;
}

void add_item(Index& index, PyObject* o, Device device) {
  i64 i = 0;
  if (plain_int(o, i)) return index.add(i);
  if (PySlice_Check(o)) return index.add(slice_of(o));
  if (o == Py_None) return index.add(new_axis);
  if (o == Py_Ellipsis) return index.add(ellipsis);
  if (PyBool_Check(o)) return index.add(o == Py_True);
  if (is_array(o)) return index.add(array_of(o));
  if (PyLong_Check(o)) {
    if (!PyLong_CheckExact(o) && plain_int(nb::steal(PyNumber_Index(o)).ptr(), i))
      return index.add(i);
    throw_not_a_key();  // beyond 64 bits
  }
  if (PyFloat_Check(o) || PyComplex_Check(o) || PyUnicode_Check(o) || PyBytes_Check(o))
    throw_not_a_key();
  if (array_like(o)) {
    Array a = is_list(o) ? list_key(o) : as_array(o, "index");
    if (a.device() != device && a.ndim() > 0) a = released([&] { return a.to(device); });
    return index.add(a);
  }
  if (PyIndex_Check(o)) return index.add(clipped_index(o));
  throw_not_a_key();
}

Index index_of(PyObject* key, Device device) {
  Index index;
  if (PyTuple_Check(key)) {
    const Py_ssize_t n = PyTuple_GET_SIZE(key);
    for (Py_ssize_t i = 0; i < n; ++i) add_item(index, PyTuple_GET_ITEM(key, i), device);
  } else {
    add_item(index, key, device);
  }
  return index;
}

// Offset of the element that an all-integer key means; false when the key is something else.
inline bool element_key(const Array& x, PyObject* key, i64& offset) {
  const i64 ndim = x.ndim();
  i64 at[max_rank];
  if (ndim == 1 && plain_int(key, at[0])) {
    offset = element_offset(x.layout(), {at, 1});
    return true;
  }
  if (ndim == 0 || !PyTuple_CheckExact(key) || PyTuple_GET_SIZE(key) != ndim) return false;
  for (i64 i = 0; i < ndim; ++i)
    if (!plain_int(PyTuple_GET_ITEM(key, i), at[i])) return false;
  offset = element_offset(x.layout(), {at, static_cast<std::size_t>(ndim)});
  return true;
}

inline std::byte* address(const Array& x, i64 offset) {
  return static_cast<std::byte*>(x.storage().data()) + offset * size_of(x.dtype());
}

// A key of ints and slices only, no more of them than axes; false when the key is something else.
bool basic_key(const Array& x, PyObject* key, Layout& out) {
  PyObject* const* items = &key;
  Py_ssize_t n = 1;
  if (PyTuple_CheckExact(key)) {
    items = reinterpret_cast<PyTupleObject*>(key)->ob_item;
    n = PyTuple_GET_SIZE(key);
  }
  if (n > x.ndim()) return false;
  for (Py_ssize_t i = 0; i < n; ++i)
    if (!PySlice_Check(items[i]) && !PyLong_CheckExact(items[i])) return false;
  const Layout& l = x.layout();
  out.offset = l.offset;
  for (i64 axis = 0; axis < l.ndim(); ++axis) {
    const i64 size = l.shape[axis], stride = l.strides[axis];
    i64 position = 0;
    if (axis >= n) {
      out.shape.push_back(size);
      out.strides.push_back(stride);
    } else if (plain_int(items[axis], position)) {
      out.offset += resolve_integer(position, axis, size) * stride;
    } else if (PySlice_Check(items[axis])) {
      const SliceRange r = resolve_slice(slice_of(items[axis]), size);
      out.offset += r.length > 0 ? r.start * stride : 0;
      out.shape.push_back(r.length);
      out.strides.push_back(stride * r.step);
    } else {
      return false;  // an int beyond 64 bits: the general path says why
    }
  }
  return true;
}

bool on_cpu(const Array& x) { return x.device().kind == Kind::cpu; }

void require_writable(const Array& x) {
  require<ArgumentError>(x.storage().writable(), "assignment destination is read-only");
}

// Values as NumPy casts them in an assignment: any kind, Python ints within bounds.
Array assigned_value(nb::handle h, const Array& target) {
  if (is_array(h.ptr())) return array_of(h.ptr());
  if (auto v = weak_value(h.ptr())) {
    check_fits(*v, target.dtype());
    Array a = Array::scalar(*v, target.dtype());
    return on_cpu(target) ? a : released([&] { return a.to(target.device()); });
  }
  Array a = PyList_Check(h.ptr()) || PyTuple_Check(h.ptr()) ? array_from_nested(h, target.dtype())
                                                            : as_array(h, "assignment");
  return on_cpu(target) ? a : released([&] { return a.to(target.device()); });
}

}  // namespace

PyObject* array_subscript(PyObject* self, PyObject* key) noexcept {
  return guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    const Array& x = array_of(self);
    i64 offset = 0;
    if (on_cpu(x) && element_key(x, key, offset)) {
      x.storage().wait();
      Array item(Storage::allocate(cpu, size_of(x.dtype())), Layout{}, x.dtype());
      std::memcpy(item.storage().data(), address(x, offset),
                  static_cast<std::size_t>(size_of(x.dtype())));
      return wrap(std::move(item)).release().ptr();
    }
    Layout view;
    if (basic_key(x, key, view) && view.ndim() > 0)
      return wrap(x.view(std::move(view))).release().ptr();
    const Index index = index_of(key, x.device());
    return wrap(released([&] { return x[index]; })).release().ptr();
  });
}

int array_assign_subscript(PyObject* self, PyObject* key, PyObject* value) noexcept {
  return guarded(-1, [&] {
    const Array& x = array_of(self);
    if (!value) raise(PyExc_ValueError, "cannot delete array elements");
    require_writable(x);
    i64 offset = 0;
    if (on_cpu(x) && element_key(x, key, offset)) {
      if (auto v = weak_value(value)) {
        x.storage().wait();
        store(address(x, offset), x.dtype(), *v);
        return 0;
      }
    }
    const Index index = index_of(key, x.device());
    const Array source = assigned_value(value, x);
    released([&] { x.assign(index, source); });
    return 0;
  });
}

PyObject* array_item(PyObject* self, Py_ssize_t i) noexcept {
  return guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    const Array& x = array_of(self);
    if (x.ndim() == 0) raise(PyExc_TypeError, "iteration over a 0-d array");
    nb::object key = nb::steal(PyLong_FromSsize_t(i));
    return array_subscript(self, key.ptr());
  });
}

Py_ssize_t array_length(PyObject* self) noexcept {
  return guarded(static_cast<Py_ssize_t>(-1), [&]() -> Py_ssize_t {
    const Array& x = array_of(self);
    if (x.ndim() == 0) raise(PyExc_TypeError, "len() of unsized object");
    return x.shape(0);
  });
}

}  // namespace tessera::python
