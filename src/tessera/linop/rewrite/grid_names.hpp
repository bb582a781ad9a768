// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names and dtypes that the operators on grids share: default names, checks, and
// the dtype that their kernels work in.
//   Dims d = numbered_dims("K", 2);   // (K, K1)

#include <initializer_list>
#include <string_view>

#include "tessera/base/dtype.hpp"
#include "tessera/names/named_dimension.hpp"

namespace tessera {

// float32 to complex128 as they are; shorter floats become float32, the rest float64.
TESSERA_API DType working_dtype(DType t);
// K, K1, K2
TESSERA_API Dims numbered_dims(std::string_view word, i64 count);
// One list after the other.
Dims joined(const Dims& a, const Dims& b);
// DimError unless every name but "()" appears once among all the lists.
TESSERA_API void check_names(std::string_view who, std::initializer_list<const Dims*> lists);

}  // namespace tessera
