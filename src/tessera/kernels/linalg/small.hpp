// SPDX-License-Identifier: Apache-2.0
#pragma once
// Systems of a few rows in host memory, by Gaussian elimination with row exchanges on the stack of
// the thread: LAPACK's calls cost more than the work. Private to the folder.
//   if (small::fits(n, device)) return small::solve("solve", a, b, n, k);

#include "tessera/array/array.hpp"

namespace tessera::linalg::small {

inline constexpr i64 most_rows = 16;
inline bool fits(i64 n, Device device) { return n <= most_rows && device.kind == Kind::cpu; }

// a (..., n, n), b (..., n, k) of the same leading shape and dtype; without b: the inverse.
Array solve(std::string_view who, const Array& a, const Array& b);

// One matrix and one vector or matrix beside it, of one dtype that LAPACK knows, in host memory: no
// shapes are made on the way.
bool is_plain(const Array& a, const Array& b);
Array solve_plain(std::string_view who, const Array& a, const Array& b);

}  // namespace tessera::linalg::small
