// SPDX-License-Identifier: Apache-2.0
#pragma once
// How distributed arrays cross the border, and the topics of the module behind ts.dist. Conversion
// only; what moves between ranks, and when, is the library's business.
//   const DNDarray x = as_dist(h, "sort");   return wrap(released([&] { return dist::sort(x, 0);
//   }));

#include "core/common.hpp"
#include "tessera/distributed/array/dnd_array.hpp"

namespace tessera::python {

// Everything that follows, into a module of its own beside the local functions.
void bind_dist(nb::module_& m);

void bind_dist_comm(nb::module_& m);
nb::class_<DNDarray> bind_dist_array(nb::module_& m);
void bind_dist_explain(nb::module_& m, nb::class_<DNDarray>& c);
void bind_dist_creation(nb::module_& m);
void bind_dist_random(nb::module_& m);
void bind_dist_functions(nb::module_& m);
void bind_dist_reductions(nb::module_& m, nb::class_<DNDarray>& c);
void bind_dist_order(nb::module_& m, nb::class_<DNDarray>& c);
void bind_dist_moves(nb::module_& m, nb::class_<DNDarray>& c);
void bind_dist_join(nb::module_& m, nb::class_<DNDarray>& c);
void bind_dist_fft(nb::module_& m);
void bind_dist_io(nb::module_& m);
void bind_dist_apply(nb::module_& m);
void bind_dist_solve(nb::module_& m);
void bind_dist_linalg(nb::module_& m);

// --- dist_array.cpp
extern PyTypeObject* dist_type;
inline bool is_dist(PyObject* o) { return Py_TYPE(o) == dist_type; }
inline const DNDarray& dist_of(PyObject* o) { return *nb::inst_ptr<DNDarray>(nb::handle(o)); }
nb::object wrap(DNDarray a);
// A distributed array as it is; anything else is the same on every rank of `comm`.
DNDarray as_dist(nb::handle h, std::string_view who, const Communicator& comm);
// A value on the way through an expression, such as arange(6, split=0) in arange(6,
// split=0).reshape(2, 3): nothing else refers to it or its memory, on any rank, so that a copy of
// it may be written where NumPy has a view (DNDarray::moved_copy).
bool is_passing(PyObject* o);
// The result of f(), which has memory of its own where what it was made of was passing.
template <class F>
nb::object wrap_view(bool passing, F&& f) {
  DNDarray y = released([&] { return f(); });
  return wrap(passing ? y.owned() : std::move(y));
}
// The group of the first distributed array among the objects, else the world's.
Communicator group_of(std::initializer_list<nb::handle> objects);
inline DNDarray as_dist(nb::handle h, std::string_view who) {
  return as_dist(h, who, group_of({h}));
}

// --- dist_comm.cpp
Communicator comm_from(nb::handle h);  // None: the world's

// --- dist_slots.cpp, dist_index.cpp: what Python calls directly, without the function dispatcher
std::vector<PyType_Slot> dist_slots();
PyObject* dist_subscript(PyObject* self, PyObject* key) noexcept;
int dist_assign_subscript(PyObject* self, PyObject* key, PyObject* value) noexcept;
PyObject* dist_item(PyObject* self, Py_ssize_t i) noexcept;
Py_ssize_t dist_length(PyObject* self) noexcept;

}  // namespace tessera::python
