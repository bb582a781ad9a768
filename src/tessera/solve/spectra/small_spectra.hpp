// SPDX-License-Identifier: Apache-2.0
#pragma once
// Eigenvalues and Schur forms of the small general matrices inside eigs, on the host, by LAPACK.
// Matrices are column-major; a real one keeps its pairs of values to the last bit.
//   General g = small::eigen_general(n, h, true);   Schur s = small::schur(n, h, true);

#include "tessera/solve/core/small_dense.hpp"

namespace tessera::small {

struct General {
  std::vector<Number> values, vectors;  // column i is the vector of values[i], of length one
};
General eigen_general(i64 n, const std::vector<Number>& h, bool real);

struct Schur {
  std::vector<Number> values, t, z;  // h = z t zᴴ; values in the order of t's diagonal
};
Schur schur(i64 n, const std::vector<Number>& h, bool real);
// The selected values come first; of a pair of a real matrix both are selected.
void reorder(i64 n, Schur& s, const std::vector<int>& select, bool real);

}  // namespace tessera::small
