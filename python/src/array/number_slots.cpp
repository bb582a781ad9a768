// SPDX-License-Identifier: Apache-2.0
// The type slots of Array: arithmetic from number_slots.hpp, keys from index.cpp, buffers.
#include "array/number_slots.hpp"

#include "array/array_family.hpp"
#include "tessera/kernels/matmul/matmul.hpp"
#include "tessera/kernels/reduce/reduce.hpp"

namespace tessera::python {

namespace {

struct LocalSlots : Local {
  static PyObject* product(PyObject* a, PyObject* b) {
    if (is_dist(a) || is_dist(b) || is_matrix(b)) Py_RETURN_NOTIMPLEMENTED;
    auto x = try_array(a), y = x ? try_array(b) : std::nullopt;
    if (!y) Py_RETURN_NOTIMPLEMENTED;
    return wrap(released([&] { return matmul(*x, *y); })).release().ptr();
  }
  static bool any(const Array& x) { return reduce(ReduceOp::any, x).item().as<bool>(); }
};

template <class F>
PyType_Slot slot(int id, F f) {
  return {id, reinterpret_cast<void*>(f)};
}

}  // namespace

std::vector<PyType_Slot> number_slots() {
  std::vector<PyType_Slot> slots = NumberSlots<LocalSlots>::list();
  slots.insert(slots.end(), {slot(Py_mp_subscript, array_subscript),
                             slot(Py_mp_ass_subscript, array_assign_subscript),
                             slot(Py_mp_length, array_length),
                             slot(Py_sq_item, array_item),
                             slot(Py_sq_length, array_length),
                             slot(Py_bf_getbuffer, array_buffer),
                             slot(Py_bf_releasebuffer, array_release_buffer),
                             {0, nullptr}});
  return slots;
}

}  // namespace tessera::python
