// SPDX-License-Identifier: Apache-2.0
// Integers, slices, None, ..., truth values and anything array-like, item by item; see the header.
#include "array/index_key.hpp"

#include "dist/dist.hpp"
#include "tessera/distributed/indexing/key.hpp"

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
  } catch (const OverflowError&) {  // no position has so many digits
    throw_not_a_key();
  }
  if (a.size() == 0 && a.dtype() == DType::f64) return Array::empty(a.shape(), DType::i64);
  if (is_inexact(a.dtype())) throw_not_a_key();
  return a;
}

bool is_no_key(PyObject* o) {
  return PyFloat_Check(o) || PyComplex_Check(o) || PyUnicode_Check(o) || PyBytes_Check(o);
}

bool is_number(const Array& a) { return a.ndim() == 0 && is_integer(a.dtype()); }

// An array without axes, whoever's: what our reductions give where NumPy's give its scalars, and as
// these it is an integer in a key, whose result is a view (with NumPy a copy, so that what is
// written to it would be lost).
i64 number_of(const Array& a) {
  const Value v = released([&] { return a.item(); });
  if (v.kind() == Value::Kind::natural && v.as<i64>() < 0) throw_not_a_key();  // beyond 64 bits
  return v.as<i64>();
}

// NumPy's scalars, and whatever else has __index__ and is no array: PyTorch's tensors of one
// element have it, whatever their axes.
std::optional<i64> indexed_number(PyObject* o) {
  if (!PyIndex_Check(o) || (array_like(o) && PyObject_HasAttrString(o, "__len__")))
    return std::nullopt;
  const nb::object index = nb::steal(PyNumber_Index(o));
  if (!index.is_valid()) {
    PyErr_Clear();
    return std::nullopt;
  }
  i64 i = 0;
  if (!plain_int(index.ptr(), i)) throw_not_a_key();  // beyond 64 bits
  return i;
}

// Of anything that says that it is an array: texts, dates and objects are no positions.
Array array_key(nb::handle h) {
  try {
    return as_array(h, "index");
  } catch (const DTypeError&) {
    throw IndexError("arrays used as indices must be of integer (or boolean) type");
  }
}

template <class Key>
void add_item(Key& key, PyObject* o, Device device) {
  i64 i = 0;
  if (plain_int(o, i)) return key.add(i);
  if (PySlice_Check(o)) return key.add(slice_of(o));
  if (o == Py_None) return key.add(new_axis);
  if (o == Py_Ellipsis) return key.add(ellipsis);
  if (PyBool_Check(o)) return key.add(o == Py_True);
  if (is_array(o)) {
    const Array& a = array_of(o);
    return is_number(a) ? key.add(number_of(a)) : key.add(a);
  }
  if (is_dist(o)) {
    const DNDarray& a = dist_of(o);
    if (a.ndim() == 0 && is_integer(a.dtype()))
      return key.add(number_of(released([&] { return a.local(); })));
    if constexpr (std::same_as<Key, dist::DistIndex>) return released([&] { key.add(a); });
  }
  if (const auto number = indexed_number(o)) return key.add(*number);
  if (is_no_key(o)) throw_not_a_key();
  if (array_like(o)) {
    Array a = is_list(o) ? list_key(o) : array_key(o);
    if (is_number(a)) return key.add(number_of(a));  // of NumPy, PyTorch, JAX …
    if (a.device() != device && a.ndim() > 0) a = released([&] { return a.to(device); });
    return key.add(a);
  }
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
    // As NumPy, which looks at all items before it asks slices for their bounds.
    for (Py_ssize_t i = 0; i < n; ++i)
      if (is_no_key(PyTuple_GET_ITEM(key, i))) throw_not_a_key();
    for (Py_ssize_t i = 0; i < n; ++i) add_item(k, PyTuple_GET_ITEM(key, i), device);
  } else {
    add_item(k, key, device);
  }
  return k;
}
template Index key_of<Index>(PyObject* key, Device device);
template dist::DistIndex key_of<dist::DistIndex>(PyObject* key, Device device);

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
    if (++depth > max_rank) break;  // a list may hold itself
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
