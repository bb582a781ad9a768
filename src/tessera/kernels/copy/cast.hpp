// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows of elements converted from one dtype to another on the cpu, any strides: what kernels gather
// their operands and scatter their results with. Equal dtypes are plain copies. Nothing here is
// parallel.
//   cast_row(DType::i8, DType::f32)(from, 1, to, 4, n);

#include "tessera/base/dtype.hpp"
#include "tessera/base/value.hpp"

namespace tessera {

// Strides in bytes; `from_step` 0 spreads one element. The rows do not overlap, or are the same.
using CastRow = void (*)(const void* from, i64 from_step, void* to, i64 to_step, i64 n);
TESSERA_API CastRow cast_row(DType from, DType to);

// Sixteen bytes that hold one element of any dtype.
struct alignas(16) Element {
  std::byte bytes[16];
};
// v rounded to `rounded` first, then as `stored`: float16 immediates of kernels that work in float.
TESSERA_API Element element_of(const Value& v, DType rounded, DType stored);
inline Element element_of(const Value& v, DType dtype) { return element_of(v, dtype, dtype); }

}  // namespace tessera
