// SPDX-License-Identifier: Apache-2.0
#pragma once
// Problems for the tests of solvers, on the device under test. Not part of the library.
//   NamedLinop A = problems::matrix(31, 17, DType::c128);

#include <gtest/gtest.h>

#include "support/arrays.hpp"
#include "support/distances.hpp"
#include "tessera/tessera.hpp"

namespace tessera::problems {

inline constexpr DType dtypes[] = {DType::f32, DType::f64, DType::c64, DType::c128};

// A random matrix, columns of length about one.
inline NamedLinop matrix(i64 rows, i64 columns, DType t, std::uint64_t seed = 1) {
  const Array w = Random(seed).normal({rows, columns}, t, test_device());
  const Array scaled = ops::multiply(w, Value(1 / std::sqrt(static_cast<double>(rows))));
  return Dense(scaled, dims("MN"), dims("N"), dims("M"));
}

// Ten matrices at once, on the host, that act on (B, N).
inline NamedLinop batched_matrix() {
  return Dense(random_on_host({10, 3, 7}, DType::f64, 1), dims("BMN"), dims("BN"), dims("BM"));
}

inline Array vector(i64 n, DType t, std::uint64_t seed = 2) {
  return Random(seed).normal({n}, t, test_device());
}

// Real numbers, whatever the layout.
inline std::vector<double> reals(const Array& a) {
  std::vector<double> v;
  for (const std::complex<double>& z : numbers_of(a)) v.push_back(z.real());
  return v;
}

inline bool is_wide(DType t) { return real_of(t) == DType::f64; }

}  // namespace tessera::problems
