// SPDX-License-Identifier: Apache-2.0
#include "tessera/matrix/products/compute_k.hpp"

#include "support/arrays.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/linalg/linalg.hpp"
#include "tessera/kernels/matmul/matmul.hpp"
#include "tessera/kernels/random/random.hpp"
#include "tessera/kernels/reduce/reduce.hpp"

namespace tessera {
namespace {

Array links(i64 n, std::uint64_t seed) {
  const Array r = Random(seed).normal({n, n}, DType::f32, test_device());
  return linalg::triangle(ops::greater(r, 0.0), false, 1);
}

// K (aI + C) is C.
void expect_solves(const AnyMatrix& k, const AnyMatrix& c, double a) {
  const i64 n = c.rows();
  const Array full = c.array(DType::f64), x = k.array(DType::f64);
  const Array m = ops::add(full, ops::multiply(eye(n, n, 0, DType::f64, full.device()), a));
  const Array rest = ops::subtract(matmul(x, m), full);
  const double size = norm(x.to(cpu)).item().as<double>();
  EXPECT_LT(norm(rest.to(cpu)).item().as<double>(),
            1e-12 * static_cast<double>(1 + n) * (1 + size));
  EXPECT_EQ(k.form(), Form::triangular);
  EXPECT_EQ(k.lower(), c.lower());
  EXPECT_TRUE(k.payload().strict || n == 0);
}

// A large a keeps K of the size of C.
TEST(ComputeK, SolvesWithBits) {
  for (const i64 n : {1, 10, 100, 700, 1300}) {
    SCOPED_TRACE(n);
    const AnyMatrix c = AnyMatrix::triangular_bit(links(n, 1));
    const double a = n <= 100 ? 2 : static_cast<double>(n);
    expect_solves(compute_k(c, a), c, a);
  }
  const AnyMatrix c = AnyMatrix::triangular_bit(links(600, 2)).scaled(Value(3));
  expect_solves(compute_k(c.transpose(), 900.0), c.transpose(), 900.0);
}

TEST(ComputeK, SolvesWithNumbers) {
  const Array x = Random(3).normal({700, 700}, DType::f64, test_device());
  const AnyMatrix c = AnyMatrix::triangular(x, false, true, false);
  expect_solves(compute_k(c, -800.0), c, -800.0);
  expect_solves(compute_k(c.transpose().scaled(Value(0.5)), 800.0),
                c.transpose().scaled(Value(0.5)), 800.0);
  AnyMatrix marked = AnyMatrix::dense(x);
  marked.properties().declare(Property::is_upper_triangular, true);
  marked.properties().declare(Property::has_zero_diagonal, true);
  const Array same = ops::subtract(compute_k(marked, 800.0).array(), compute_k(c, 800.0).array());
  EXPECT_EQ(norm(same.to(cpu)).item().as<double>(), 0);
}

TEST(ComputeK, NothingGivesZero) {
  const AnyMatrix none = AnyMatrix::triangular_bit(zeros({9, 9}, DType::b1, test_device()));
  EXPECT_EQ(norm(compute_k(none, 2).array().to(cpu)).item().as<double>(), 0);
  EXPECT_EQ(compute_k(AnyMatrix::triangular_bit(zeros({0, 0}, DType::b1)), 2).rows(), 0);
}

TEST(ComputeK, RefusesWhatHasNoSolution) {
  const AnyMatrix c = AnyMatrix::triangular_bit(links(4, 4));
  EXPECT_THROW(compute_k(c, 0), ArgumentError);
  EXPECT_THROW(compute_k(AnyMatrix::identity(3), 1), ArgumentError);
  EXPECT_THROW(compute_k(AnyMatrix::bit(links(4, 4)), 1), ArgumentError);
}

}  // namespace
}  // namespace tessera
