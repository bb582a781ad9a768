// SPDX-License-Identifier: Apache-2.0
#pragma once
// Orthogonal factors, singular values and least squares of tall arrays that are not in memory, with
// the dtypes and errors of linalg: what has as many rows as the array comes in files of the backing
// folder, what has as many as it has columns in memory. A few squares of that size must fit into
// stream_budget(). Of arrays with many rows and columns there are the largest singular values.
//   auto [q, r] = qr(a);   auto [u, s, vh] = svd(a);   linalg::Lstsq x = lstsq(a, b);

#include "tessera/kernels/linalg/linalg.hpp"
#include "tessera/streaming/stored/stored_array.hpp"

namespace tessera::streaming {

struct StoredQr {
  StoredArray q;
  Array r;
};
TESSERA_API StoredQr qr(const StoredArray& a);
TESSERA_API Array qr_triangle(const StoredArray& a);  // R alone: one pass

struct StoredSvd {
  StoredArray u;
  Array s, vh;  // a = (u * s) vh, u as large as a
};
TESSERA_API StoredSvd svd(const StoredArray& a);
TESSERA_API Array svdvals(const StoredArray& a);  // one pass

// One pass over both; x and the residuals are in memory. Options as linalg::lstsq.
TESSERA_API linalg::Lstsq lstsq(const StoredArray& a, const StoredArray& b, double rcond = -1);
// Of wide arrays too. Options as linalg::pinv.
TESSERA_API StoredArray pinv(const StoredArray& a, double rtol = -1);

// op(a) x for a matrix x in memory, where the product fits as well.
TESSERA_API Array multiply(const StoredArray& a, const Array& x, Turn turn = Turn::none);

struct RandomizedSvdOptions {
  i64 k = 6, oversample = 10;
  i64 passes = 4;                  // at most; each reads the array twice
  double rtol = 1e-6, atol = 0.0;  // ends when no singular value changed by more in a pass
  std::uint64_t seed = 0;
};
struct RandomizedSvd {
  StoredArray u;
  Array s;
  StoredArray vh;
  std::vector<double> changes;  // of each pass: the largest, beside the largest singular value
  bool converged = false;
};
// The k largest singular values and their vectors, from k + oversample random directions that are
// taken through the array and back: of arrays with any number of rows and columns.
TESSERA_API RandomizedSvd randomized_svd(const StoredArray& a,
                                         const RandomizedSvdOptions& what = {});

}  // namespace tessera::streaming
