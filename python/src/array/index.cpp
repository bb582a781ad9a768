// SPDX-License-Identifier: Apache-2.0
// x[key] and x[key] = value. Integers and slices take short paths that build a layout directly;
// every other key becomes a tessera::Index, whose resolution and error texts are the library's.
#include <cstring>
#include <memory>

#include "array/array_object.hpp"
#include "array/index_key.hpp"
#include "tessera/base/report/watch.hpp"
#include "tessera/kernels/gather/few.hpp"

namespace tessera::python {

namespace {

// Offset of the element that an all-integer key means; false when the key is something else.
[[gnu::always_inline]] inline bool element_key(const Array& x, PyObject* key, i64& offset) {
  i64 at[max_rank];
  if (const Layout& l = x.layout(); l.ndim() == 1 && plain_int(key, at[0])) {
    offset = l.offset + resolve_integer(at[0], 0, l.shape[0]) * l.strides[0];
    return true;
  }
  if (!integer_key(key, x.ndim(), at)) return false;
  offset = element_offset(x.layout(), {at, static_cast<std::size_t>(x.ndim())});
  return true;
}

inline std::byte* address(const Array& x, i64 offset) {
  return static_cast<std::byte*>(x.storage().data()) + offset * size_of(x.dtype());
}

bool is_plain_bound(PyObject* o) { return o == Py_None || PyLong_CheckExact(o); }

// What a slice means of an axis: as Python itself says it where its bounds are plain.
SliceRange range_of(PyObject* o, i64 size) {
  const auto* s = reinterpret_cast<PySliceObject*>(o);
  Py_ssize_t start = 0, stop = 0, step = 1;
  if (!is_plain_bound(s->start) || !is_plain_bound(s->stop) || !is_plain_bound(s->step))
    return resolve_slice(slice_of(o), size);
  if (PySlice_Unpack(o, &start, &stop, &step) != 0) {  // a step of zero
    PyErr_Clear();
    return resolve_slice(slice_of(o), size);
  }
  const i64 length = PySlice_AdjustIndices(size, &start, &stop, step);
  return {start, length, step};
}

// The commonest width is one instruction.
inline void copy_element(void* to, const void* from, i64 bytes) {
  if (bytes == 8)
    std::memcpy(to, from, 8);
  else
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
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
      const SliceRange r = range_of(items[axis], size);
      out.offset += r.length > 0 ? r.start * stride : 0;
      out.shape.push_back(r.length);
      out.strides.push_back(stride * (r.length > 1 ? r.step : 1));
    } else {
      return false;  // an int beyond 64 bits: the general path says why
    }
  }
  return true;
}

// x[key] for few positions in a list of ints or in an int64 array of NumPy's, read where they lie;
// no array when the key is something else, or when the general way has to be taken.
Array read_positions(const Array& x, PyObject* key) {
  constexpr Py_ssize_t most = 512;
  if (PyList_CheckExact(key)) {
    const Py_ssize_t n = PyList_GET_SIZE(key);
    if (n == 0 || n > most) return {};
    i64 at[most];
    for (Py_ssize_t i = 0; i < n; ++i)
      if (!plain_int(PyList_GET_ITEM(key, i), at[i])) return {};
    return read_few(x, {at, static_cast<std::size_t>(n)}, Shape{n});
  }
  if (std::strcmp(Py_TYPE(key)->tp_name, "numpy.ndarray") != 0) return {};
  Py_buffer view;
  if (PyObject_GetBuffer(key, &view, PyBUF_ND | PyBUF_FORMAT) != 0) {  // not in one piece
    PyErr_Clear();
    return {};
  }
  const std::unique_ptr<Py_buffer, decltype(&PyBuffer_Release)> held(&view, &PyBuffer_Release);
  const bool whole_numbers =
      view.itemsize == sizeof(i64) && view.format &&
      (std::strcmp(view.format, "l") == 0 || std::strcmp(view.format, "q") == 0);
  if (!whole_numbers || view.ndim == 0 || view.ndim > max_rank) return {};
  return read_few(x, {static_cast<const i64*>(view.buf), static_cast<std::size_t>(view.len / 8)},
                  Shape(view.shape, view.shape + view.ndim));
}

// Few elements may be asked for many times.
bool selects_much(const Index& index) {
  for (const Array& a : index.arrays())
    if (is_large(a)) return true;
  return false;
}

// Of another device: a kernel, a transfer or both for one number.
void see_element(const Array& x, PyObject* key) {
  i64 at[max_rank];
  if (watching() && integer_key(key, x.ndim(), at)) add_watched(Watched::elements, 1);
}

bool on_cpu(const Array& x) { return x.device().kind == Kind::cpu; }

void require_writable(const Array& x) {
  require<ArgumentError>(x.storage().writable(), "assignment destination is read-only");
}

// x[key] = number for the keys of short paths; false when the key or the value is something else.
bool store_number(const Array& x, PyObject* key, PyObject* value) {
  const auto v = weak_value(value, x.dtype());
  if (!v) return false;
  i64 offset = 0;
  if (element_key(x, key, offset)) {
    x.storage().wait();
    saw(Watched::elements);
    store(address(x, offset), x.dtype(), *v);
    return true;
  }
  if (is_array(key)) {
    alignas(c128) std::byte one[sizeof(c128)];
    store(one, x.dtype(), *v);
    return write_few(x, array_of(key), one);
  }
  Layout view;
  if (!basic_key(x, key, view)) return false;
  for (i64 a = 0; a < x.ndim(); ++a)
    if (x.layout().strides[a] == 0) return false;  // may repeat elements: not to be written
  check_fits(*v, x.dtype());
  const Array source = Array::scalar(*v, x.dtype()), target = x.view(std::move(view));
  released(is_large(target), [&] { target.copy_from(source); });
  return true;
}

}  // namespace

PyObject* array_subscript(PyObject* self, PyObject* key) noexcept {
  return guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    const Array& x = array_of(self);
    i64 offset = 0;
    if (on_cpu(x) && element_key(x, key, offset)) {
      x.storage().wait();
      saw(Watched::elements);
      nb::object item = number_object(x.dtype());
      copy_element(array_of(item.ptr()).storage().data(), address(x, offset), size_of(x.dtype()));
      return item.release().ptr();
    }
    if (is_array(key))
      if (Array found = read_few(x, array_of(key)))
        return wrapped(std::move(found)).release().ptr();
    Layout view;
    if (!is_array(key) && basic_key(x, key, view) && view.ndim() > 0)
      return wrapped(x.storage(), std::move(view), x.dtype()).release().ptr();
    if (!on_cpu(x)) see_element(x, key);
    if (on_cpu(x))
      if (Array found = read_positions(x, key)) return wrapped(std::move(found)).release().ptr();
    const Index index = key_of<Index>(key, x.device());
    return wrap(released(is_large(x) || selects_much(index), [&] { return x[index]; }))
        .release()
        .ptr();
  });
}

int array_assign_subscript(PyObject* self, PyObject* key, PyObject* value) noexcept {
  return guarded(-1, [&] {
    const Array& x = array_of(self);
    if (!value) raise(PyExc_ValueError, "cannot delete array elements");
    require_writable(x);
    if (on_cpu(x) && store_number(x, key, value)) return 0;
    if (!on_cpu(x)) see_element(x, key);
    const Index index = key_of<Index>(key, x.device());
    require_depth(value, index, x.shape());
    const Array source = assigned_value(value, x.dtype(), x.device());
    released(is_large(x) || selects_much(index), [&] { x.assign(index, source); });
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
