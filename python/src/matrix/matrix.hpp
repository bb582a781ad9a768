// SPDX-License-Identifier: Apache-2.0
#pragma once
// How matrices of any form cross the border: one Python class per form over the class AnyMatrix, in
// the module tessera._matrix, which tessera.matrix shows. Arithmetic and algebra add their methods
// to the class that bind_matrix makes.
//   const AnyMatrix& a = matrix_from(h, "matmul");   return wrap(released([&] { return matmul(a,
//   b);
//   }));

#include "core/common.hpp"
#include "tessera/matrix/forms/any_matrix.hpp"

namespace tessera::python {

void bind_matrix(nb::module_& m);
void bind_matrix_forms(nb::module_& m);

// What keyword arguments say.
struct Given {
  std::optional<DType> dtype;
  std::optional<Device> device;
  Given(nb::handle t, nb::handle d) : dtype(dtype_or_none(t)) {
    if (!d.is_none()) device = device_from(d);
  }
};

inline bool is_matrix(nb::handle h) { return nb::isinstance<AnyMatrix>(h); }
inline const AnyMatrix& matrix_of(nb::handle h) { return *nb::inst_ptr<AnyMatrix>(h); }
// A matrix as it is; what is like an array of two axes becomes a dense one that shares its memory.
AnyMatrix matrix_from(nb::handle h, std::string_view who);
// An object of the class of its form.
nb::object wrap(AnyMatrix m);
// All elements in memory of their own.
Array full_copy(const AnyMatrix& m, std::optional<DType> dtype, std::optional<Device> where);
// A Python number or a NumPy scalar; nothing for anything else.
std::optional<Value> factor_from(nb::handle h);

}  // namespace tessera::python
