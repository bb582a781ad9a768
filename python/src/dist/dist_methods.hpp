// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the files that bind functions of distributed arrays share.
//   const auto along = axis_or_none(axis, "sort");   return tuple_of_arrays({x, y});

#include "core/both.hpp"
#include "dist/dist.hpp"

namespace tessera::python {

inline std::optional<i64> axis_or_none(nb::handle axis, std::string_view who) {
  return axis.is_none() ? std::nullopt : std::optional(int_from(axis, who));
}

inline nb::object tuple_of_arrays(std::vector<DNDarray> arrays) {
  nb::object t = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(arrays.size())));
  for (std::size_t i = 0; i < arrays.size(); ++i)
    PyTuple_SET_ITEM(t.ptr(), static_cast<Py_ssize_t>(i),
                     wrap(std::move(arrays[i])).release().ptr());
  return t;
}

inline nb::object list_of_arrays(std::vector<DNDarray> arrays) {
  return nb::steal(PySequence_List(tuple_of_arrays(std::move(arrays)).ptr()));
}

// --- dist_functions.cpp
// The result, or `out` with the result in it.
nb::object finished(DNDarray result, nb::handle out, std::string_view who);

}  // namespace tessera::python
