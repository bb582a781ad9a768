// SPDX-License-Identifier: Apache-2.0
// Integers, slices, None, ..., truth values and anything array-like, item by item; see the header.
#include "index_key.hpp"

#include "dist.hpp"
#include "tessera/dist/index_key.hpp"

namespace tessera::python {

namespace {

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

template <class Key>
void add_item(Key& key, PyObject* o, Device device) {
  i64 i = 0;
  if (plain_int(o, i)) return key.add(i);
  if (PySlice_Check(o)) return key.add(slice_of(o));
  if (o == Py_None) return key.add(new_axis);
  if (o == Py_Ellipsis) return key.add(ellipsis);
  if (PyBool_Check(o)) return key.add(o == Py_True);
  if (is_array(o)) return key.add(array_of(o));
  if constexpr (std::same_as<Key, DistIndex>) {
    if (is_dist(o)) return released([&] { key.add(dist_of(o)); });
  }
  if (PyLong_Check(o)) {
    if (!PyLong_CheckExact(o) && plain_int(nb::steal(PyNumber_Index(o)).ptr(), i))
      return key.add(i);
    throw_not_a_key();  // beyond 64 bits
  }
  if (PyFloat_Check(o) || PyComplex_Check(o) || PyUnicode_Check(o) || PyBytes_Check(o))
    throw_not_a_key();
  if (array_like(o)) {
    Array a = is_list(o) ? list_key(o) : as_array(o, "index");
    if (a.device() != device && a.ndim() > 0) a = released([&] { return a.to(device); });
    return key.add(a);
  }
  if (PyIndex_Check(o)) return key.add(clipped_index(o));
  throw_not_a_key();
}

}  // namespace

Slice slice_of(PyObject* o) {
  auto* s = reinterpret_cast<PySliceObject*>(o);
  Slice r;
  if (s->start != Py_None) r.start = clipped_index(s->start);
  if (s->stop != Py_None) r.stop = clipped_index(s->stop);
  if (s->step != Py_None) r.step = clipped_index(s->step);
  return r;
}

template <class Key>
Key key_of(PyObject* key, Device device) {
  Key k;
  if (PyTuple_Check(key)) {
    const Py_ssize_t n = PyTuple_GET_SIZE(key);
    for (Py_ssize_t i = 0; i < n; ++i) add_item(k, PyTuple_GET_ITEM(key, i), device);
  } else {
    add_item(k, key, device);
  }
  return k;
}
template Index key_of<Index>(PyObject* key, Device device);
template DistIndex key_of<DistIndex>(PyObject* key, Device device);

Array assigned_value(nb::handle h, DType dtype, Device device) {
  if (is_array(h.ptr())) return array_of(h.ptr());
  Array a;
  if (auto v = weak_value(h.ptr(), dtype)) {
    check_fits(*v, dtype);
    a = Array::scalar(*v, dtype);
  } else {
    a = PyList_Check(h.ptr()) || PyTuple_Check(h.ptr()) ? array_from_nested(h, dtype)
                                                        : as_array(h, "assignment");
  }
  // What others hold on a device is not fetched silently.
  return device.kind == Kind::cpu ? a : released([&] { return a.to(device); });
}

void require_depth(nb::handle value, const Index& key, const Shape& shape) {
  i64 depth = 0;
  nb::object o = nb::borrow(value);
  while (PyList_Check(o.ptr()) || PyTuple_Check(o.ptr())) {
    ++depth;
    if (PySequence_Size(o.ptr()) == 0) break;
    o = nb::steal(PySequence_GetItem(o.ptr(), 0));
  }
  if (depth == 0 || key.advanced()) return;
  if (nb::hasattr(o, "ndim")) depth += nb::cast<i64>(o.attr("ndim"));
  const IndexPlan plan = resolve(key, Layout::contiguous(shape));
  require<ShapeError>(
      plan.kind != IndexPlan::Kind::view || depth <= plan.shape.size(),
      "setting an array element with a sequence. The requested array would exceed the maximum "
      "number of dimension of ",
      plan.shape.size(), ".");
}

}  // namespace tessera::python
