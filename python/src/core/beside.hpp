// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers that have a dtype, NumPy's scalars and arrays without axes, beside an array: they have no
// place of their own, as Python's numbers have none, and are made where the array is. Arrays of
// ours, and all that have axes, stay where they are.
//   const Array y = beside(*try_array(o), o, other);   // x * np.sqrt(2), x on a GPU

#include "dist/dist.hpp"
#include "tessera/kernels/copy/copy.hpp"

namespace tessera::python {

// `from`: the object that `a` was made of. `other`: the operand beside it.
inline Array beside(Array a, nb::handle from, nb::handle other) {
  if (a.ndim() > 0 || a.device() != cpu || is_array(from.ptr()) || !other.is_valid()) return a;
  const Device device = is_array(other.ptr())  ? array_of(other.ptr()).device()
                        : is_dist(other.ptr()) ? dist_of(other.ptr()).device()
                                               : cpu;
  if (device == cpu) return a;
  return released([&] { return full({}, a.item(), a.dtype(), device); });
}

}  // namespace tessera::python
