// SPDX-License-Identifier: Apache-2.0
// The type slots of Array: arithmetic from number_slots.hpp, keys from index.cpp, buffers.
#include "array/number_slots.hpp"

#include "array/array_family.hpp"
#include "array/array_object.hpp"
#include "tessera/kernels/matmul/matmul.hpp"
#include "tessera/kernels/reduce/reduce.hpp"

namespace tessera::python {

namespace {

struct LocalSlots : Local {
  static constexpr auto subscript = &array_subscript;
  static constexpr auto assign_subscript = &array_assign_subscript;
  static constexpr auto item = &array_item;
  static constexpr auto length = &array_length;
  static PyObject* product(PyObject* a, PyObject* b) {
    if (is_dist(a) || is_dist(b) || is_matrix(b)) Py_RETURN_NOTIMPLEMENTED;
    auto x = try_array(a), y = x ? try_array(b) : std::nullopt;
    if (!y) Py_RETURN_NOTIMPLEMENTED;
    if (nb::object sum = dot_of_lines(*x, *y); sum.is_valid()) return sum.release().ptr();
    return wrap(released([&] { return matmul(*x, *y); })).release().ptr();
  }
  static bool any(const Array& x) { return reduce(ReduceOp::any, x).item().as<bool>(); }
};

}  // namespace

std::vector<PyType_Slot> number_slots() {
  std::vector<PyType_Slot> slots = NumberSlots<LocalSlots>::list();
  slots.push_back({Py_bf_getbuffer, reinterpret_cast<void*>(array_buffer)});
  slots.push_back({Py_bf_releasebuffer, reinterpret_cast<void*>(array_release_buffer)});
  slots.push_back({0, nullptr});
  return slots;
}

}  // namespace tessera::python
