// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/core/many_vectors.hpp"

#include "support/problems.hpp"

namespace tessera {
namespace {

using namespace problems;

Array one_by_one(const NamedLinop& a, const Array& x) {
  const Array y = Array::empty(x.shape(), x.dtype(), x.device());
  for (i64 i = 0; i < x.shape(0); ++i) y.select(0, i).copy_from(a(x.select(0, i)));
  return y;
}

TEST(ManyVectors, MatricesOfEveryFormTakeThemAtOnce) {
  const Device d = test_device();
  const Array a = Random(1).normal({33, 33}, DType::f64, d),
              x = Random(2).normal({4, 33}, DType::f64, d);
  const Array diagonal = Random(3).normal({33}, DType::f64, d);
  const auto of = [](const AnyMatrix& m) { return matrix_operator(m, dims("N"), dims("M")); };
  const std::vector<NamedLinop> all{
      Dense(a),
      Dense(a, dims("MN"), dims("...N"), dims("...M")),
      of(AnyMatrix::dense(a)),
      of(AnyMatrix::dense(a).transpose()),
      of(AnyMatrix::dense(a).scaled(Value(2.5))),
      of(AnyMatrix::bit(ops::greater(a, Value(0.0)))),
      of(AnyMatrix::symmetric(ops::add(a, a.transpose()))),
      of(AnyMatrix::diagonal(diagonal)),
      Diagonal(diagonal, dims("N")),
  };
  for (const NamedLinop& A : all) {
    const auto many = over_many(A, {33});
    ASSERT_TRUE(many) << A.tree();
    EXPECT_LT(relative((*many)(x), one_by_one(A, x)), 1e-13) << A.tree();
  }
}

TEST(ManyVectors, OthersTakeOneAtATime) {
  EXPECT_FALSE(over_many(Flip(dims("X"), dims("X"), dims("Y")), {6}));
  const auto twice = [](const Array& x) { return ops::multiply(x, Value(2.0)); };
  EXPECT_FALSE(over_many(SimpleLinop(twice, twice), {6}));
  EXPECT_FALSE(over_many(NamedLinop(Scalar(2.0)) * NamedLinop(SimpleLinop(twice, twice)), {6}));
  EXPECT_TRUE(over_many(SimpleLinop(twice, twice, {}, dims("...N")), {6}));
}

}  // namespace
}  // namespace tessera
