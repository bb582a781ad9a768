// SPDX-License-Identifier: Apache-2.0
#pragma once
// What svd and randomized_svd share: the two sides of an operator and the shapes of the answer.
//   SvdResult r = svd_result(solved, U_rows, values, V_rows);

#include <algorithm>

#include "tessera/solve/core/basis.hpp"
#include "tessera/solve/spectra/eigen.hpp"

namespace tessera {

// Shapes and dtypes of both sides of A, from x0 or the space; DTypeError when A and A.H do not fit.
struct BothSides {
  Shape in, out;
  DType in_dtype, out_dtype;
  Device device;
  i64 in_size, out_size;                                    // numbers in a vector, of all ranks
  i64 rank() const { return std::min(in_size, out_size); }  // the most singular values
  SolveKey key(const char* who, i64 rows) const {           // with bases of so many rows
    return {who, in, in_dtype, device, {}, {static_cast<double>(rows)}};
  }
};
BothSides sides_of(std::string_view who, const NamedLinop& A, const Space& space, const Array& x0);

// Rows u_i and v_i (of A v = s u) become U (*o, k) and Vh (k, *i).
SvdResult svd_result(SolveResult solved, const Array& u_rows, const std::vector<double>& values,
                     const Array& v_rows);

}  // namespace tessera
