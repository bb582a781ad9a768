// SPDX-License-Identifier: Apache-2.0
// x + y, x < y, -x, x += y …: the type slots of Array. An operand that is no array and no number
// gives NotImplemented, so that the other side may try.
#include "common.hpp"
#include "tessera/kernels/matmul/matmul.hpp"
#include "tessera/kernels/reduce/reduce.hpp"

namespace tessera::python {

namespace {

// Nothing: let Python ask the other operand.
std::optional<ArrayOrValue> maybe_operand(PyObject* o) {
  if (is_array(o)) return ArrayOrValue(array_of(o));
  if (auto v = weak_value(o)) return ArrayOrValue(*v);
  if (PyUnicode_Check(o) || PyBytes_Check(o)) return std::nullopt;
  if (auto a = try_array(o)) return ArrayOrValue(*a);
  return std::nullopt;
}

template <ElementOp op>
PyObject* binary(PyObject* a, PyObject* b) noexcept {
  return guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    auto x = maybe_operand(a), y = x ? maybe_operand(b) : std::nullopt;
    if (!y) Py_RETURN_NOTIMPLEMENTED;
    return wrap(released([&] {
             return elementwise(op, std::array{std::move(*x), std::move(*y)});
           }))
        .release()
        .ptr();
  });
}

template <ElementOp op>
PyObject* inplace(PyObject* a, PyObject* b) noexcept {
  return guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    auto y = maybe_operand(b);
    if (!y) Py_RETURN_NOTIMPLEMENTED;
    const Array& x = array_of(a);
    released([&] { elementwise(op, std::array{ArrayOrValue(x), std::move(*y)}, x); });
    return Py_NewRef(a);
  });
}

template <ElementOp op>
PyObject* unary(PyObject* a) noexcept {
  return guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    const ArrayOrValue x(array_of(a));
    return wrap(released([&] { return elementwise(op, std::array{x}); })).release().ptr();
  });
}

// x ** 2 is x * x, as NumPy has it; the general case is pow.
PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) noexcept {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  if (is_array(a) && PyLong_CheckExact(b) && PyLong_AsLong(b) == 2)
    return unary<ElementOp::square>(a);
  PyErr_Clear();
  return binary<ElementOp::power>(a, b);
}

PyObject* inplace_power(PyObject* a, PyObject* b, PyObject* modulus) noexcept {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return inplace<ElementOp::power>(a, b);
}

PyObject* matrix_product(PyObject* a, PyObject* b) noexcept {
  return guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    auto x = try_array(a), y = x ? try_array(b) : std::nullopt;
    if (!y) Py_RETURN_NOTIMPLEMENTED;
    return wrap(released([&] { return matmul(*x, *y); })).release().ptr();
  });
}

PyObject* divmod(PyObject* a, PyObject* b) noexcept {
  nb::object q = nb::steal(binary<ElementOp::floor_divide>(a, b));
  if (!q.is_valid() || q.ptr() == Py_NotImplemented) return q.release().ptr();
  PyObject* r = binary<ElementOp::remainder>(a, b);
  if (!r) return nullptr;
  return PyTuple_Pack(2, q.ptr(), nb::steal(r).ptr());
}

PyObject* compare(PyObject* a, PyObject* b, int op) noexcept {
  switch (op) {
    case Py_LT: return binary<ElementOp::less>(a, b);
    case Py_LE: return binary<ElementOp::less_equal>(a, b);
    case Py_EQ: return binary<ElementOp::equal>(a, b);
    case Py_NE: return binary<ElementOp::not_equal>(a, b);
    case Py_GT: return binary<ElementOp::greater>(a, b);
    default: return binary<ElementOp::greater_equal>(a, b);
  }
}

Value single(PyObject* self, const char* what) {
  const Array& x = array_of(self);
  if (x.size() != 1)
    raise(PyExc_TypeError, cat("only length-1 arrays can be converted to Python ", what));
  return released([&] { return x.item(); });
}

int truth(PyObject* self) noexcept {
  return guarded(-1, [&] {
    const Array& x = array_of(self);
    if (x.size() == 0) {
      raise(PyExc_ValueError,
            "The truth value of an empty array is ambiguous. Use `array.size > 0` to check "
            "that an array is not empty.");
    }
    if (x.size() > 1) {
      raise(PyExc_ValueError,
            "The truth value of an array with more than one element is ambiguous. Use "
            "a.any() or a.all()");
    }
    const Value v = released([&] { return x.item(); });
    const c128 z = v.is_integer() ? c128(v.as<i64>() != 0 ? 1.0 : 0.0) : v.as<c128>();
    return z.re != 0 || z.im != 0 ? 1 : 0;
  });
}

PyObject* to_int(PyObject* self) noexcept {
  return guarded(static_cast<PyObject*>(nullptr), [&] {
    nb::object number = nb::steal(python_number(single(self, "scalars")));
    return PyNumber_Long(number.ptr());
  });
}

PyObject* to_float(PyObject* self) noexcept {
  return guarded(static_cast<PyObject*>(nullptr), [&] {
    nb::object number = nb::steal(python_number(single(self, "scalars")));
    return PyNumber_Float(number.ptr());
  });
}

PyObject* to_index(PyObject* self) noexcept {
  return guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    const Array& x = array_of(self);
    if (x.ndim() != 0 || !is_integer(x.dtype())) {
      raise(PyExc_TypeError, "only integer scalar arrays can be converted to a scalar index");
    }
    return python_number(released([&] { return x.item(); }));
  });
}

PyObject* iterate(PyObject* self) noexcept {
  return guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    if (array_of(self).ndim() == 0) raise(PyExc_TypeError, "iteration over a 0-d array");
    return PySeqIter_New(self);
  });
}

int contains(PyObject* self, PyObject* value) noexcept {
  nb::object equal = nb::steal(binary<ElementOp::equal>(self, value));
  if (!equal.is_valid()) return -1;
  if (equal.ptr() == Py_NotImplemented) return 0;
  return guarded(-1, [&] {
    const Array& e = array_of(equal.ptr());
    const Value any = released([&] { return reduce(ReduceOp::any, e).item(); });
    return any.as<bool>() ? 1 : 0;
  });
}

template <class F>
void* slot(F f) {
  return reinterpret_cast<void*>(f);
}

}  // namespace

std::vector<PyType_Slot> number_slots() {
  using E = ElementOp;
  return {{Py_nb_add, slot(binary<E::add>)},
          {Py_nb_subtract, slot(binary<E::subtract>)},
          {Py_nb_multiply, slot(binary<E::multiply>)},
          {Py_nb_true_divide, slot(binary<E::divide>)},
          {Py_nb_floor_divide, slot(binary<E::floor_divide>)},
          {Py_nb_remainder, slot(binary<E::remainder>)},
          {Py_nb_divmod, slot(divmod)},
          {Py_nb_power, slot(power)},
          {Py_nb_and, slot(binary<E::bitwise_and>)},
          {Py_nb_or, slot(binary<E::bitwise_or>)},
          {Py_nb_xor, slot(binary<E::bitwise_xor>)},
          {Py_nb_lshift, slot(binary<E::left_shift>)},
          {Py_nb_rshift, slot(binary<E::right_shift>)},
          {Py_nb_matrix_multiply, slot(matrix_product)},
          {Py_nb_inplace_add, slot(inplace<E::add>)},
          {Py_nb_inplace_subtract, slot(inplace<E::subtract>)},
          {Py_nb_inplace_multiply, slot(inplace<E::multiply>)},
          {Py_nb_inplace_true_divide, slot(inplace<E::divide>)},
          {Py_nb_inplace_floor_divide, slot(inplace<E::floor_divide>)},
          {Py_nb_inplace_remainder, slot(inplace<E::remainder>)},
          {Py_nb_inplace_power, slot(inplace_power)},
          {Py_nb_inplace_and, slot(inplace<E::bitwise_and>)},
          {Py_nb_inplace_or, slot(inplace<E::bitwise_or>)},
          {Py_nb_inplace_xor, slot(inplace<E::bitwise_xor>)},
          {Py_nb_inplace_lshift, slot(inplace<E::left_shift>)},
          {Py_nb_inplace_rshift, slot(inplace<E::right_shift>)},
          {Py_nb_negative, slot(unary<E::negative>)},
          {Py_nb_positive, slot(unary<E::positive>)},
          {Py_nb_absolute, slot(unary<E::absolute>)},
          {Py_nb_invert, slot(unary<E::invert>)},
          {Py_nb_bool, slot(truth)},
          {Py_nb_int, slot(to_int)},
          {Py_nb_float, slot(to_float)},
          {Py_nb_index, slot(to_index)},
          {Py_tp_richcompare, slot(compare)},
          {Py_tp_hash, slot(PyObject_HashNotImplemented)},
          {Py_mp_subscript, slot(array_subscript)},
          {Py_mp_ass_subscript, slot(array_assign_subscript)},
          {Py_mp_length, slot(array_length)},
          {Py_tp_iter, slot(iterate)},
          {Py_sq_contains, slot(contains)},
          {Py_sq_item, slot(array_item)},
          {Py_sq_length, slot(array_length)},
          {Py_bf_getbuffer, slot(array_buffer)},
          {Py_bf_releasebuffer, slot(array_release_buffer)},
          {0, nullptr}};
}

}  // namespace tessera::python
