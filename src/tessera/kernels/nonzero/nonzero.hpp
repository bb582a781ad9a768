// SPDX-License-Identifier: Apache-2.0
#pragma once
// Positions of the elements that are not zero, in row-major order. The number is not known before
// the data are read: the array function waits for it.
//   std::vector<Array> where = nonzero(mask);   // one int64 array per axis

#include "tessera/array/array.hpp"
#include "tessera/kernels/kernel.hpp"

namespace tessera {

// Operands of a launch: in (any dtype, any layout), out int64 of shape (count, ndim), row-major,
// where count was read before with ReduceOp::count_nonzero.
struct NonzeroSpec {
  Operand in, out;
};

TESSERA_API std::vector<Array> nonzero(const Array& x);

}  // namespace tessera
