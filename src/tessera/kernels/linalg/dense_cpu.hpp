// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the host's halves of the dense kernel share: one matrix of the stack, by LAPACK. Private to
// the folder.
//   qr_one<double>(spec, launch, i);

#include "tessera/kernels/linalg/dense.hpp"
#include "tessera/kernels/linalg/lapack.hpp"

namespace tessera::dense {

using lapack::Int;

inline Int i32(i64 n) { return static_cast<Int>(n); }
inline Int ld(i64 n) { return static_cast<Int>(n > 1 ? n : 1); }

// The part of matrix `i` of operand `operand`, which has `size` numbers for each.
template <class T>
T* part(const Launch& launch, int operand, i64 i, i64 size) {
  return static_cast<T*>(launch.operand[static_cast<std::size_t>(operand)]) + i * size;
}

inline Int checked(Int info) {
  require<BackendError>(info >= 0, "linalg: LAPACK refuses its argument ", i64{-info});
  return info;
}

// The triangle of a column-major matrix above (or below) its diagonal becomes zero.
template <class T>
void clear(T* a, i64 rows, i64 columns, bool above) {
  for (i64 j = 0; j < columns; ++j) {
    if (above)
      std::fill(a + j * rows, a + j * rows + std::min(j, rows), T(0));
    else if (j + 1 < rows)
      std::fill(a + j * rows + j + 1, a + (j + 1) * rows, T(0));
  }
}

// A real matrix: LAPACK packs the two vectors of a pair as their real and imaginary parts.
template <class R>
void unpack(i64 n, const std::vector<R>& imaginary, const std::vector<R>& packed,
            std::complex<R>* to) {
  const R* from = packed.data();
  for (i64 j = 0; j < n; ++j) {
    if (imaginary[static_cast<std::size_t>(j)] == R(0)) {
      std::copy_n(from + j * n, n, to + j * n);
      continue;
    }
    for (i64 r = 0; r < n; ++r) {
      const std::complex<R> v(from[j * n + r], from[(j + 1) * n + r]);
      to[j * n + r] = v;
      to[(j + 1) * n + r] = std::conj(v);
    }
    ++j;
  }
}

template <class T>
void qr_one(const DenseSpec& s, const Launch& launch, i64 i);
template <class T>
void eigh_one(const DenseSpec& s, const Launch& launch, i64 i);
template <class T>
void eig_one(const DenseSpec& s, const Launch& launch, i64 i);
template <class T>
void svd_one(const DenseSpec& s, const Launch& launch, i64 i);

}  // namespace tessera::dense
