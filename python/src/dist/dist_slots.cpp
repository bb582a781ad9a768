// SPDX-License-Identifier: Apache-2.0
// The type slots of DNDarray: arithmetic from number_slots.hpp, keys from dist_index.cpp.
#include "array/number_slots.hpp"
#include "dist/dist_family.hpp"
#include "tessera/distributed/functions/reduce.hpp"
#include "tessera/distributed/linalg/matmul.hpp"

namespace tessera::python {

namespace {

struct DistSlots : Distributed {
  static PyObject* product(PyObject* a, PyObject* b) {
    for (PyObject* o : {a, b})
      if (!is_dist(o) && !try_array(o)) Py_RETURN_NOTIMPLEMENTED;
    const Communicator comm = group_of({a, b});
    const DNDarray x = as_dist(a, "matmul", comm), y = as_dist(b, "matmul", comm);
    return wrap(released([&] { return dist::matmul(x, y); })).release().ptr();
  }
  static bool any(const DNDarray& x) { return dist::reduce(ReduceOp::any, x).item().as<bool>(); }
};

template <class F>
PyType_Slot slot(int id, F f) {
  return {id, reinterpret_cast<void*>(f)};
}

}  // namespace

std::vector<PyType_Slot> dist_slots() {
  std::vector<PyType_Slot> slots = NumberSlots<DistSlots>::list();
  slots.insert(slots.end(), {slot(Py_mp_subscript, dist_subscript),
                             slot(Py_mp_ass_subscript, dist_assign_subscript),
                             slot(Py_mp_length, dist_length),
                             slot(Py_sq_item, dist_item),
                             slot(Py_sq_length, dist_length),
                             {0, nullptr}});
  return slots;
}

}  // namespace tessera::python
