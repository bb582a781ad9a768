// SPDX-License-Identifier: Apache-2.0
#pragma once
// Python objects of local arrays, made where the array is made, and the calls that need no function
// dispatcher.
//   return wrapped(x.storage(), std::move(layout), x.dtype());

#include <new>

#include "core/common.hpp"

namespace tessera::python {

// --- array.cpp
nb::object array_object();  // holds no array yet
// An array of the cpu without axes, whose one number is to be written.
nb::object number_object(DType dtype);

// A Python object with an array that is made in its place.
template <class... Args>
nb::object wrapped(Args&&... args) {
  nb::object o = array_object();
  Array* const place = nb::inst_ptr<Array>(o);
  try {
    new (place) Array(std::forward<Args>(args)...);
  } catch (...) {
    new (place) Array();
    throw;
  }
  return o;
}

// --- host_calls.cpp
// The inner product of two vectors on the host; nothing where the general way has to be taken.
nb::object dot_of_lines(const Array& a, const Array& b);
// What functions that Python writes ask first.
void bind_host_calls(nb::module_& m);

// --- quick_calls.cpp
// The commonest calls of what is bound by then go straight to the library.
void quicken_calls(nb::module_& m);

}  // namespace tessera::python
