// SPDX-License-Identifier: Apache-2.0
#include "tessera/matrix/forms/place.hpp"

#include "support/matrices.hpp"
#include "tessera/compute/context.hpp"
#include "tessera/matrix/functions/elementwise.hpp"
#include "tessera/matrix/products/multiply.hpp"

namespace tessera {
namespace {

constexpr Workload work{Operation::matmul, DType::f64, 40, 40, 40};

Device chosen(std::initializer_list<const AnyMatrix*> operands) {
  std::optional<Device> where;
  placed(work, operands, 8, [&](Device d) { where = d; });
  return where.value();
}

TEST(MatrixPlace, WhereTheOperandsAre) {
  const AnyMatrix a = sample(Make::symmetric, DType::f64, 40, 40, 1).m,
                  one = AnyMatrix::identity(40),
                  there = AnyMatrix::identity(40, 40, DType::f64, test_device());
  EXPECT_EQ(chosen({&a, &a}), test_device());
  EXPECT_EQ(chosen({&one, &a}), test_device());  // what has no elements lies nowhere
  EXPECT_EQ(chosen({&there}), test_device());
}

// Those of the host follow those that are elsewhere, and the mirror stays.
TEST(MatrixPlace, OperandsOnTwoDevices) {
  if (test_device() == cpu) GTEST_SKIP() << "needs a second device";
  const MatrixSample a = sample(Make::symmetric, DType::f64, 40, 40, 1, cpu),
                     b = sample(Make::upper, DType::f64, 40, 40, 2);
  const AnyMatrix c = matmul(a.m, b.m), d = add(b.m, a.m);
  EXPECT_EQ(c.device(), test_device());
  EXPECT_EQ(a.m.held_at(), (std::vector<Device>{cpu, test_device()}));
  EXPECT_EQ(b.m.held_at(), std::vector<Device>{test_device()});
  for (i64 i : {i64{0}, i64{39}}) {
    std::complex<double> sum = 0;
    for (i64 k = 0; k < 40; ++k) sum += a.g.at(i, k) * b.g.at(k, 7);
    EXPECT_NEAR(c.at(i, 7).as<double>(), sum.real(), 1e-13);
    EXPECT_EQ(d.at(i, 7).as<double>(), (a.g.at(i, 7) + b.g.at(i, 7)).real());
  }
}

TEST(MatrixPlace, TheContextPicks) {
  if (test_device().kind != Kind::cuda) GTEST_SKIP() << "needs a GPU";
  AcceleratorConfig config;
  config.device_id = test_device().index;
  context().enable_gpu(config);
  context().force(test_device());
  const MatrixSample a = sample(Make::dense, DType::f64, 70, 70, 1, cpu);
  const AnyMatrix c = matmul(a.m, a.m);
  context().force({});
  context().disable_gpu();
  EXPECT_EQ(c.device(), test_device());
  EXPECT_EQ(a.m.held_at().size(), 2u);
  std::complex<double> sum = 0;
  for (i64 k = 0; k < 70; ++k) sum += a.g.at(3, k) * a.g.at(k, 5);
  EXPECT_NEAR(c.at(3, 5).as<double>(), sum.real(), 1e-12);
}

}  // namespace
}  // namespace tessera
