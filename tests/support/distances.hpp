// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random arrays, and how far two arrays are apart, wherever they lie.
//   const Array x = random({3, 4}, DType::c64, 1);   EXPECT_LT(relative(A(x), expected), 1e-6);

#include <gtest/gtest.h>

#include "support/support.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/random/random.hpp"
#include "tessera/kernels/reduce/reduce.hpp"

namespace tessera {

inline Array random(const Shape& shape, DType t, std::uint64_t seed) {
  return Random(seed).normal(shape, t, test_device());
}
inline Array random_on_host(const Shape& shape, DType t, std::uint64_t seed) {
  return Random(seed).normal(shape, t, cpu);
}

inline double size(const Array& a) { return norm(a.to(cpu)).item().as<double>(); }

inline double distance(const Array& a, const Array& b) {
  EXPECT_EQ(a.shape(), b.shape());
  return size(ops::subtract(a.to(cpu).astype(DType::c128), b.to(cpu).astype(DType::c128)));
}

inline double relative(const Array& a, const Array& b) { return distance(a, b) / size(b); }

}  // namespace tessera
