// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/spectra/eigs.hpp"

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

double residual(const Array& a, const EigenResult& r) {
  const Array v = r.eigenvectors;
  return relative(matmul(a.astype(v.dtype()), v), ops::multiply(v, r.eigenvalues.expand_dims(0)));
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
    EXPECT_LT(residual(a, r), 1e-8);
  }
}

TEST(Eigs, FindsThemWithBlocksOfAnySize) {
  for (const DType t : dtypes)
    for (const i64 block : {2, 3, 5}) {
      const bool wide = is_wide(t);
      const Array a = Random(6).normal({70, 70}, t, test_device());
      const EigenResult r =
          eigs(Dense(a), {.shape = {70}, .dtype = t, .device = test_device()},
               {.k = 4, .which = Spectrum::largest_real, .ncv = 28, .block = block},
               {.rtol = wide ? 1e-10 : 1e-4, .maxiter = 2000});
      ASSERT_TRUE(r.converged) << name(t) << " " << block << ": " << r.reason;
      EXPECT_LT(residual(a, r), wide ? 1e-8 : 1e-3) << name(t) << " " << block;
      std::vector<double> all = reals(linalg::eigvals(a).to(cpu).real());
      std::sort(all.rbegin(), all.rend());
      const std::vector<double> found = reals(r.eigenvalues.to(cpu).real());
      for (std::size_t i = 0; i < found.size(); ++i)
        EXPECT_NEAR(found[i], all[i], wide ? 1e-7 : 1e-2) << name(t) << " " << block;
    }
}

// The largest of 200 numbers three times, on the diagonal of a matrix that is read once for a
// block, and of an operator that takes one vector at a time.
TEST(Eigs, FindsAMultipleValueAsOftenAsItIsOne) {
  Array d = empty_dense({200}, DType::f64);
  for (i64 i = 0; i < 200; ++i) d.host<double>()[i] = i % 80 == 7 ? 9 : double(i) / 25;
  const Array there = d.to(test_device());
  const Array a = ops::multiply(eye(200, 200, 0, DType::f64, test_device()), there);
  for (const NamedLinop& A : {NamedLinop(Dense(a)), NamedLinop(Diagonal(there, dims("X")))}) {
    const EigenResult r = eigs(A, {.shape = {200}, .device = test_device()}, {.k = 4, .block = 3},
                               {.rtol = 1e-10, .maxiter = 1000});
    ASSERT_TRUE(r.converged) << A.str() << ": " << r.reason;
    const auto found = by_size(r.eigenvalues);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(std::abs(found[i] - 9.0), 0, 1e-8) << A.str();
    EXPECT_NEAR(std::abs(found[3] - 199.0 / 25), 0, 1e-8) << A.str();
    // Three vectors of three directions.
    const Array v = r.eigenvectors.slice(1, 0, 3).to(cpu);
    EXPECT_GT(reals(linalg::svdvals(v)).back(), 1e-3) << A.str();
  }
}

// Vectors in pieces on two devices: one after the other, each in its pieces.
TEST(Eigs, FindsThemInPieces) {
  const Array w = Random(9).normal({6, 12, 12}, DType::f64);
  const NamedLinop a = Dense(w, dims("TMN"), dims("TN"), dims("TM")),
                   cut = create_batched_linop(a, {.batch_sizes = {{"T", 2}},
                                                  .device_matrix = {"sim:0", "sim:1"},
                                                  .base_device = cpu});
  const EigsSettings s{.k = 4, .ncv = 20, .block = 3};
  const SolveOptions o{.rtol = 1e-11, .maxiter = 1000};
  const EigenResult whole = eigs(a, {.shape = {6, 12}}, s, o),
                    pieces = eigs(cut, {.shape = {6, 12}}, s, o);
  ASSERT_TRUE(whole.converged && pieces.converged);
  const auto expected = by_size(whole.eigenvalues), found = by_size(pieces.eigenvalues);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(std::abs(found[i] - expected[i]), 0, 1e-8);
}

// All vectors lie in the space before the block is full: what follows is taken by chance.
TEST(Eigs, GoesOnWhereTheSpaceIsInvariant) {
  const Array u = vector(90, DType::f64, 3).expand_dims(1), v = vector(90, DType::f64, 4);
  const Array a = matmul(u, v.expand_dims(0));
  const double value = reals(matmul(v.expand_dims(0), u)).front();
  for (const i64 block : {1, 2, 4}) {
    const EigenResult r =
        eigs(Dense(a), {.shape = {90}, .device = test_device()}, {.k = 6, .block = block});
    ASSERT_TRUE(r.converged) << block << ": " << r.reason;
    const auto found = by_size(r.eigenvalues);
    EXPECT_NEAR(std::abs(found[0] - value), 0, 1e-10 * std::abs(value));
    EXPECT_LT(std::abs(found[1]), 1e-10 * std::abs(value));
    EXPECT_LT(residual(a, r), 1e-10) << block;
  }
}

TEST(Eigs, FindsAllOfASmallMatrix) {
  for (const i64 n : {1, 2, 3, 7})
    for (const i64 block : {1, 2, 4}) {
      const Array a = Random(8).normal({n, n}, DType::f64, test_device());
      const EigenResult r = eigs(Dense(a), {.shape = {n}, .device = test_device()},
                                 {.k = n, .block = block}, {.rtol = 1e-12});
      ASSERT_TRUE(r.converged) << n << " " << block;
      const auto expected = by_size(linalg::eigvals(a)), found = by_size(r.eigenvalues);
      for (std::size_t i = 0; i < found.size(); ++i)
        EXPECT_NEAR(std::abs(found[i] - expected[i]), 0, 1e-10) << n << " " << block;
      EXPECT_LT(residual(a, r), 1e-10) << n << " " << block;
    }
}

TEST(Eigs, RefusesWhatCannotBeDone) {
  const NamedLinop A(Dense(eye(4, 4, 0, DType::f64, test_device())));
  const auto refused = [&](const EigsSettings& s) {
    return thrown_text<ArgumentError>(
        [&] { (void)eigs(A, {.shape = {4}, .device = test_device()}, s); });
  };
  EXPECT_EQ(refused({.k = 5}),
            "eigs: k = 5 eigenvalues of an operator on 4 numbers; expected 1 to 4");
  EXPECT_EQ(refused({.k = 1, .ncv = 2}), "eigs: ncv 2 must exceed k + block = 2");
  EXPECT_EQ(refused({.k = 1, .ncv = 3, .block = 2}), "eigs: ncv 3 must exceed k + block = 3");
  EXPECT_EQ(refused({.k = 2, .block = 0}), "eigs: block 0; expected one vector or more");
}

}  // namespace
}  // namespace tessera
