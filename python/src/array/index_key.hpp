// SPDX-License-Identifier: Apache-2.0
#pragma once
// Python keys as the library's: one conversion for local and for distributed arrays. What a key
// means, and what is said of one that means nothing, is the library's business.
//   Index key = key_of<Index>(o, x.device());   dist::DistIndex other = key_of<dist::DistIndex>(o, x.device());

#include "core/common.hpp"
#include "tessera/array/index.hpp"

namespace tessera::python {

// An exact Python int within 64 bits: nothing else is a plain integer key here (bool is a mask).
inline bool plain_int(PyObject* o, i64& out) {
  if (!PyLong_CheckExact(o)) return false;
  int overflow = 0;
  out = PyLong_AsLongLongAndOverflow(o, &overflow);
  return overflow == 0;
}

// The integers of a key that is one per axis; false when the key is something else.
inline bool integer_key(PyObject* key, i64 ndim, i64* at) {
  if (ndim == 1 && plain_int(key, at[0])) return true;
  if (ndim == 0 || !PyTuple_CheckExact(key) || PyTuple_GET_SIZE(key) != ndim) return false;
  for (i64 i = 0; i < ndim; ++i)
    if (!plain_int(PyTuple_GET_ITEM(key, i), at[i])) return false;
  return true;
}

Slice slice_of(PyObject* o);

// Key is Index or dist::DistIndex; only the latter takes distributed arrays. Arrays are brought to
// `device`.
template <class Key>
Key key_of(PyObject* key, Device device);

// A value as NumPy casts it in an assignment: any kind, Python ints within bounds; on `device`.
Array assigned_value(nb::handle h, DType dtype, Device device);
// ValueError where lists are nested deeper than the view that the key gives of an array of this
// shape has axes; NumPy says so before it converts them.
void require_depth(nb::handle value, const Index& key, const Shape& shape);

}  // namespace tessera::python
