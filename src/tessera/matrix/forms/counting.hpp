// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is true of a whole array: of all its elements, of any, of how many. Private to the matrices.
//   all_of(ops::equal(a, b))   nonzeros(a) == 0

#include "tessera/kernels/reduce/reduce.hpp"

namespace tessera {

inline bool all_of(const Array& a) { return reduce(ReduceOp::all, a).item().as<bool>(); }
inline bool any_of(const Array& a) { return reduce(ReduceOp::any, a).item().as<bool>(); }
inline i64 nonzeros(const Array& a) { return reduce(ReduceOp::count_nonzero, a).item().as<i64>(); }

}  // namespace tessera
