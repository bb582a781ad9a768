// SPDX-License-Identifier: Apache-2.0
// The type slots of DNDarray: arithmetic from number_slots.hpp, keys from dist_index.cpp.
#include "array/number_slots.hpp"
#include "dist/dist_family.hpp"
#include "tessera/distributed/functions/reduce.hpp"
#include "tessera/distributed/linalg/matmul.hpp"

namespace tessera::python {

namespace {

struct DistSlots : Distributed {
  static constexpr auto subscript = &dist_subscript;
  static constexpr auto assign_subscript = &dist_assign_subscript;
  static constexpr auto item = &dist_item;
  static constexpr auto length = &dist_length;
  static PyObject* product(PyObject* a, PyObject* b) {
    for (PyObject* o : {a, b})
      if (!is_dist(o) && !try_array(o)) Py_RETURN_NOTIMPLEMENTED;
    const Communicator comm = group_of({a, b});
    const DNDarray x = as_dist(a, "matmul", comm), y = as_dist(b, "matmul", comm);
    return wrap(released([&] { return dist::matmul(x, y); })).release().ptr();
  }
  static bool any(const DNDarray& x) { return dist::reduce(ReduceOp::any, x).item().as<bool>(); }
};

}  // namespace

std::vector<PyType_Slot> dist_slots() {
  std::vector<PyType_Slot> slots = NumberSlots<DistSlots>::list();
  slots.push_back({0, nullptr});
  return slots;
}

}  // namespace tessera::python
