// SPDX-License-Identifier: Apache-2.0
#pragma once
// What LAPACK does beside its factorisations and cuSOLVER leaves to others, as kernels: orders of
// rows, products of pivots, identities, cleared triangles, adjoints. Private to the plug-in.
//   rows_of_pivots<<<blocks, block_threads, 0, stream>>>(pivots, rows, m, k, batch);

#include "tessera/kernels/cuda/grid.cuh"
#include "tessera/kernels/linalg/numbers_cuda.cuh"

namespace tessera::cuda {

static __global__ void widen_info(const int* from, i64* to, i64 count) {
  for (i64 i = thread_position(); i < count; i += thread_count()) to[i] = from[i];
}

// The order of rows after the exchanges; one thread for each matrix.
static __global__ void rows_of_pivots(const i64* pivots, i64* rows, i64 m, i64 k, i64 batch) {
  for (i64 b = thread_position(); b < batch; b += thread_count()) {
    i64* r = rows + b * m;
    for (i64 j = 0; j < m; ++j) r[j] = j;
    for (i64 j = 0; j < k; ++j) {
      const i64 other = pivots[b * k + j] - 1, kept = r[j];
      r[j] = r[other];
      r[other] = kept;
    }
  }
}

// Note [determinants] of dense_cpu.cpp.
template <class T>
__global__ void products_of_pivots(const T* a, const i64* pivots, T* sign, Real<T>* logs, T* det,
                                   i64 n, i64 batch) {
  using R = Real<T>;
  for (i64 b = thread_position(); b < batch; b += thread_count()) {
    T direction = number<T>(1), product = number<T>(1);
    R sum = 0;
    int power = 0;
    for (i64 j = 0; j < n; ++j) {
      const T d = times(a[b * n * n + j * n + j], pivots[b * n + j] == j + 1 ? R(1) : R(-1));
      const R size = length_of(d);
      direction = size == R(0) ? number<T>(0) : product_of(direction, times(d, R(1) / size));
      sum += log(size);
      product = product_of(product, d);
      const R now = length_of(product);
      if (now > R(0) && isfinite(now)) {
        int e = 0;
        frexp(now, &e);
        product = times(product, ldexp(R(1), -e));
        power += e;
      }
    }
    sign[b] = direction;
    logs[b] = sum;
    if constexpr (std::is_floating_point_v<T>)
      det[b] = ldexp(product, power);
    else
      det[b] = T(ldexp(product.re, power), ldexp(product.im, power));
  }
}

// An identity, or NaN where `info` says that the matrix is singular.
template <class T>
__global__ void fill_identity(T* x, i64 n, const int* info) {
  const bool lost = info && *info != 0;
  for (i64 i = thread_position(); i < n * n; i += thread_count()) {
    if (lost)
      x[i] = number<T>(Real<T>(NAN));
    else if (!info)
      x[i] = number<T>(i / n == i % n ? 1 : 0);
  }
}

// The triangle that is not `lower` (or upper) becomes zero.
template <class T>
__global__ void clear_triangle(T* a, i64 rows, i64 columns, bool keep_lower) {
  for (i64 i = thread_position(); i < rows * columns; i += thread_count()) {
    const i64 r = i % rows, c = i / rows;
    if (keep_lower ? r < c : r > c) a[i] = number<T>(0);
  }
}

template <class T>
__global__ void copy_block(const T* from, i64 from_rows, T* to, i64 rows, i64 columns, i64 filled) {
  for (i64 i = thread_position(); i < rows * columns; i += thread_count()) {
    const i64 r = i % rows, c = i / rows;
    to[i] = c < filled ? from[c * from_rows + r] : number<T>(0);
  }
}

// The first zero on the diagonal, from 1; one block for a matrix.
template <class T>
__global__ void find_zero(const T* a, i64 n, i64* info) {
  __shared__ unsigned long long first;
  if (threadIdx.x == 0) first = ~0ull;
  __syncthreads();
  const T* m = a + static_cast<i64>(blockIdx.x) * n * n;
  for (i64 j = threadIdx.x; j < n; j += blockDim.x)
    if (length_of(m[j * n + j]) == Real<T>(0))
      atomicMin(&first, static_cast<unsigned long long>(j + 1));
  __syncthreads();
  if (threadIdx.x == 0) info[blockIdx.x] = first == ~0ull ? 0 : static_cast<i64>(first);
}

// to = conj(from)^T; from is (rows, columns), column-major.
template <class T>
__global__ void copy_adjoint(const T* from, T* to, i64 rows, i64 columns) {
  for (i64 i = thread_position(); i < rows * columns; i += thread_count()) {
    const i64 r = i % rows, c = i / rows;
    T v = from[i];
    if constexpr (!std::is_floating_point_v<T>) v.im = -v.im;
    to[r * columns + c] = v;
  }
}

// The vectors of a pair stand as their real and imaginary parts in two columns.
template <class R>
__global__ void unpack_pairs(const R* packed, const ComplexOf<R>* values, ComplexOf<R>* to, i64 n) {
  for (i64 i = thread_position(); i < n * n; i += thread_count()) {
    const i64 r = i % n, c = i / n;
    const R im = values[c].im;
    if (im == R(0))
      to[i] = ComplexOf<R>(packed[i], R(0));
    else if (im > R(0))
      to[i] = ComplexOf<R>(packed[i], packed[i + n]);
    else
      to[i] = ComplexOf<R>(packed[i - n], -packed[i]);
    (void)r;
  }
}

}  // namespace tessera::cuda
