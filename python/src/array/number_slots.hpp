// SPDX-License-Identifier: Apache-2.0
#pragma once
// x + y, x < y, -x, x += y …, float(x), iteration: the type slots that local and distributed arrays
// have alike. An operand that is no array and no number gives NotImplemented, so that the other
// side may try. A family (array_family.hpp, dist_family.hpp) says what its arrays are; beside what
// is there it has
//   PyObject* product(PyObject*, PyObject*)   x @ y, or NotImplemented
//   bool any(const Type&)
//   std::vector<PyType_Slot> slots = NumberSlots<LocalSlots>::list();

#include <array>

#include "core/compared.hpp"
#include "dist/dist.hpp"

namespace tessera::python {

template <class Family>
class NumberSlots {
  using Type = typename Family::Type;
  using Operand = typename Family::Operand;

 public:
  static std::vector<PyType_Slot> list();

 private:
  static std::optional<Operand> one_of(ElementOp op, PyObject* o, PyObject* other) {
    if (auto v = infinity_for(op, o, other)) return Operand(*v);
    return Family::try_operand(o, other);
  }

  template <ElementOp op>
  static PyObject* binary(PyObject* a, PyObject* b) noexcept {
    return guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
      auto x = one_of(op, a, b), y = x ? one_of(op, b, a) : std::nullopt;
      if (!y) Py_RETURN_NOTIMPLEMENTED;
      return wrap(Family::elementwise(op, std::array{std::move(*x), std::move(*y)}))
          .release()
          .ptr();
    });
  }

  template <ElementOp op>
  static PyObject* inplace(PyObject* a, PyObject* b) noexcept {
    return guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
      auto y = Family::try_operand(b, a);
      if (!y) Py_RETURN_NOTIMPLEMENTED;
      const Type& x = Family::written(a);
      try {
        released([&] { Family::elementwise(op, std::array{Operand(x), *y}, x); });
      } catch (const DTypeError&) {  // x[i] += 0.5 of integers: a number, which is bound anew
        if (x.ndim() > 0) throw;
        Py_RETURN_NOTIMPLEMENTED;
      }
      return Py_NewRef(a);
    });
  }

  template <ElementOp op>
  static PyObject* unary(PyObject* a) noexcept {
    return guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
      const Operand x(Family::of(a));
      return wrap(Family::elementwise(op, std::array{x})).release().ptr();
    });
  }

  // x ** 2 is x * x, as NumPy has it; the general case is pow.
  static PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) noexcept {
    if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
    if (Family::is(a) && PyLong_CheckExact(b) && PyLong_AsLong(b) == 2)
      return unary<ElementOp::square>(a);
    PyErr_Clear();
    return binary<ElementOp::power>(a, b);
  }

  static PyObject* inplace_power(PyObject* a, PyObject* b, PyObject* modulus) noexcept {
    if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
    return inplace<ElementOp::power>(a, b);
  }

  static PyObject* matrix_product(PyObject* a, PyObject* b) noexcept {
    return guarded(static_cast<PyObject*>(nullptr), [&] { return Family::product(a, b); });
  }

  // x @= y writes into x, as NumPy does; what does not fit there is refused before.
  static PyObject* inplace_matrix_product(PyObject* a, PyObject* b) noexcept {
    return guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
      const nb::object product = nb::steal(Family::product(a, b));
      if (!product.is_valid() || !Family::is(product.ptr()))
        return nb::object(product).release().ptr();
      const Type &x = Family::of(a), &y = Family::of(product.ptr());
      require<ShapeError>(x.shape() == y.shape(), "matmul: x @= y writes into x of shape ",
                          x.shape(), "; the product has shape ", y.shape());
      require<DTypeError>(can_cast_same_kind(y.dtype(), x.dtype()),
                          "Cannot cast ufunc 'matmul' output from dtype('", y.dtype(),
                          "') to dtype('", x.dtype(), "') with casting rule 'same_kind'");
      if (PyObject_SetItem(a, Py_Ellipsis, product.ptr()) != 0) throw nb::python_error();
      return Py_NewRef(a);
    });
  }

  static PyObject* divmod(PyObject* a, PyObject* b) noexcept {
    nb::object q = nb::steal(binary<ElementOp::floor_divide>(a, b));
    if (!q.is_valid() || q.ptr() == Py_NotImplemented) return q.release().ptr();
    nb::object r = nb::steal(binary<ElementOp::remainder>(a, b));
    return r.is_valid() ? PyTuple_Pack(2, q.ptr(), r.ptr()) : nullptr;
  }

  static PyObject* compare(PyObject* a, PyObject* b, int op) noexcept {
    switch (op) {
      case Py_LT: return binary<ElementOp::less>(a, b);
      case Py_LE: return binary<ElementOp::less_equal>(a, b);
      case Py_EQ: return binary<ElementOp::equal>(a, b);
      case Py_NE: return binary<ElementOp::not_equal>(a, b);
      case Py_GT: return binary<ElementOp::greater>(a, b);
      default: return binary<ElementOp::greater_equal>(a, b);
    }
  }

  static nb::object single(PyObject* self) {
    const Type& x = Family::of(self);
    if (x.size() != 1)
      raise(PyExc_TypeError, "only length-1 arrays can be converted to Python scalars");
    return nb::steal(python_number(released([&] { return x.item(); })));
  }

  static int truth(PyObject* self) noexcept {
    return guarded(-1, [&] {
      const i64 size = Family::of(self).size();
      if (size == 0) {
        raise(PyExc_ValueError,
              "The truth value of an empty array is ambiguous. Use `array.size > 0` to check "
              "that an array is not empty.");
      }
      if (size > 1) {
        raise(PyExc_ValueError,
              "The truth value of an array with more than one element is ambiguous. Use "
              "a.any() or a.all()");
      }
      return PyObject_IsTrue(single(self).ptr());
    });
  }

  static PyObject* to_int(PyObject* self) noexcept {
    return guarded(static_cast<PyObject*>(nullptr),
                   [&] { return PyNumber_Long(single(self).ptr()); });
  }

  static PyObject* to_float(PyObject* self) noexcept {
    return guarded(static_cast<PyObject*>(nullptr),
                   [&] { return PyNumber_Float(single(self).ptr()); });
  }

  static PyObject* to_index(PyObject* self) noexcept {
    return guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
      const Type& x = Family::of(self);
      if (x.ndim() != 0 || !is_integer(x.dtype()))
        raise(PyExc_TypeError, "only integer scalar arrays can be converted to a scalar index");
      return single(self).release().ptr();
    });
  }

  static PyObject* iterate(PyObject* self) noexcept {
    return guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
      if (Family::of(self).ndim() == 0) raise(PyExc_TypeError, "iteration over a 0-d array");
      return PySeqIter_New(self);
    });
  }

  static int contains(PyObject* self, PyObject* value) noexcept {
    nb::object equal = nb::steal(binary<ElementOp::equal>(self, value));
    if (!equal.is_valid()) return -1;
    if (equal.ptr() == Py_NotImplemented) return 0;
    return guarded(-1, [&] {
      const Type& e = Family::of(equal.ptr());
      return released([&] { return Family::any(e); }) ? 1 : 0;
    });
  }

  template <class F>
  static void* slot(F f) {
    return reinterpret_cast<void*>(f);
  }
  template <ElementOp op>
  static void* two() {
    return slot(&NumberSlots::binary<op>);
  }
  template <ElementOp op>
  static void* into() {
    return slot(&NumberSlots::inplace<op>);
  }
  template <ElementOp op>
  static void* one() {
    return slot(&NumberSlots::unary<op>);
  }
};

template <class Family>
std::vector<PyType_Slot> NumberSlots<Family>::list() {
  using E = ElementOp;
  return {{Py_nb_add, two<E::add>()},
          {Py_nb_subtract, two<E::subtract>()},
          {Py_nb_multiply, two<E::multiply>()},
          {Py_nb_true_divide, two<E::divide>()},
          {Py_nb_floor_divide, two<E::floor_divide>()},
          {Py_nb_remainder, two<E::remainder>()},
          {Py_nb_divmod, slot(divmod)},
          {Py_nb_power, slot(power)},
          {Py_nb_and, two<E::bitwise_and>()},
          {Py_nb_or, two<E::bitwise_or>()},
          {Py_nb_xor, two<E::bitwise_xor>()},
          {Py_nb_lshift, two<E::left_shift>()},
          {Py_nb_rshift, two<E::right_shift>()},
          {Py_nb_matrix_multiply, slot(matrix_product)},
          {Py_nb_inplace_matrix_multiply, slot(inplace_matrix_product)},
          {Py_nb_inplace_add, into<E::add>()},
          {Py_nb_inplace_subtract, into<E::subtract>()},
          {Py_nb_inplace_multiply, into<E::multiply>()},
          {Py_nb_inplace_true_divide, into<E::divide>()},
          {Py_nb_inplace_floor_divide, into<E::floor_divide>()},
          {Py_nb_inplace_remainder, into<E::remainder>()},
          {Py_nb_inplace_power, slot(inplace_power)},
          {Py_nb_inplace_and, into<E::bitwise_and>()},
          {Py_nb_inplace_or, into<E::bitwise_or>()},
          {Py_nb_inplace_xor, into<E::bitwise_xor>()},
          {Py_nb_inplace_lshift, into<E::left_shift>()},
          {Py_nb_inplace_rshift, into<E::right_shift>()},
          {Py_nb_negative, one<E::negative>()},
          {Py_nb_positive, one<E::positive>()},
          {Py_nb_absolute, one<E::absolute>()},
          {Py_nb_invert, one<E::invert>()},
          {Py_nb_bool, slot(truth)},
          {Py_nb_int, slot(to_int)},
          {Py_nb_float, slot(to_float)},
          {Py_nb_index, slot(to_index)},
          {Py_tp_richcompare, slot(compare)},
          {Py_tp_hash, slot(PyObject_HashNotImplemented)},
          {Py_tp_iter, slot(iterate)},
          {Py_sq_contains, slot(contains)},
          {Py_sq_item, slot(Family::item)},
          {Py_sq_length, slot(Family::length)},
          {Py_mp_length, slot(Family::length)},
          {Py_mp_subscript, slot(Family::subscript)},
          {Py_mp_ass_subscript, slot(Family::assign_subscript)}};
}

}  // namespace tessera::python
