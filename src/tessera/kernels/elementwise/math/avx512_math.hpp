// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions of double and float by instructions that AVX-512 alone has: exponents and mantissas of
// all numbers, tables of sixteen in registers, scaling that rounds once. Where the host runs such
// loops (wide.hpp) they stand in for quick_exp.hpp, quick_log.hpp and quick_power.hpp, with the same
// promises: every number, infinities and NaN, two units in the last place, no word on traps. For the
// cpu's kernels.
//   avx512::log10(x, y, n);   // y may be x

#include "tessera/base/scalar.hpp"

#if defined(__x86_64__)

namespace tessera::avx512 {

void log(const double* x, double* y, i64 n);
void log(const float* x, float* y, i64 n);
void log2(const double* x, double* y, i64 n);
void log10(const double* x, double* y, i64 n);
void log1p(const double* x, double* y, i64 n);
void exp(const double* x, double* y, i64 n);
void exp2(const double* x, double* y, i64 n);
void tanh(const float* x, float* y, i64 n);
void cbrt(const double* x, double* y, i64 n);
// Bit i of `scalars`: input i is one number for all.
void pow(const double* x, const double* y, double* z, i64 n, unsigned scalars);

}  // namespace tessera::avx512

#endif
