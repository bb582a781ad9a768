// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/eigs.hpp"

#include <algorithm>
#include <cmath>

#include "support/problems.hpp"
#include "tessera/kernels/linalg/linalg.hpp"

namespace tessera {
namespace {

using namespace problems;

std::vector<std::complex<double>> by_size(const Array& values) {
  std::vector<std::complex<double>> v = numbers_of(values.to(cpu).astype(DType::c128));
  std::sort(v.begin(), v.end(), [](const auto& a, const auto& b) {
    return std::abs(a) != std::abs(b) ? std::abs(a) > std::abs(b) : a.imag() > b.imag();
  });
  return v;
}

TEST(Eigs, FindsTheLargestOfAnyMatrix) {
  for (const DType t : {DType::f64, DType::c128}) {
    const Array a = Random(5).normal({50, 50}, t, test_device());
    const EigenResult r =
        eigs(NamedLinop(Dense(a)), {.shape = {50}, .dtype = t, .device = test_device()},
             {.k = 5, .ncv = 25}, {.rtol = 1e-10, .maxiter = 4000});
    ASSERT_TRUE(r.converged) << r.reason;
    EXPECT_EQ(r.eigenvalues.dtype(), DType::c128);
    const auto expected = by_size(linalg::eigvals(a)), found = by_size(r.eigenvalues);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(std::abs(found[i] - expected[i]), 0, 1e-7);
    const Array v = r.eigenvectors;
    EXPECT_LT(
        relative(matmul(a.astype(DType::c128), v), ops::multiply(v, r.eigenvalues.expand_dims(0))),
        1e-8);
  }
}

TEST(Eigs, RefusesWhatCannotBeDone) {
  const NamedLinop A(Dense(eye(4, 4, 0, DType::f64, test_device())));
  EXPECT_THROW(eigs(A, {.shape = {4}, .device = test_device()}, {.k = 3}), ArgumentError);
  EXPECT_THROW(eigs(A, {.shape = {4}, .device = test_device()}, {.k = 1, .ncv = 2}), ArgumentError);
}

}  // namespace
}  // namespace tessera
