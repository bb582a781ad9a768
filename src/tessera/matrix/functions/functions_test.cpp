// SPDX-License-Identifier: Apache-2.0
// Parts, powers and comparisons of matrices of every form, against plain loops.
#include "tessera/matrix/functions/functions.hpp"

#include <cmath>
#include <functional>

#include "support/matrices.hpp"
#include "tessera/base/by_squaring.hpp"
#include "tessera/base/tags.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/matrix/functions/solving.hpp"

namespace tessera {
namespace {

using Z = std::complex<double>;
constexpr DType dtypes[] = {DType::b1, DType::i16, DType::u8, DType::f32, DType::c128};

std::vector<MatrixSample> samples(DType t) {
  std::vector<MatrixSample> all;
  unsigned seed = 1;
  for (Make make : all_makes)
    if (has_dtype(make, t))
      for (MatrixView view : all_views)
        all.push_back(viewed(sample(make, t, 37, 37, seed++), view));
  return all;
}

void expect_each(const AnyMatrix& got, const MatrixSample& from, const std::function<Z(Z)>& f,
                 std::string_view what) {
  const std::vector<Z> v = numbers_of(got.array());
  ASSERT_EQ(v.size(), from.g.v.size());
  EXPECT_EQ(got.device(), test_device());
  for (std::size_t i = 0; i < v.size(); ++i) {
    const Z want = f(from.g.v[i]);
    ASSERT_TRUE(std::abs(v[i] - want) <= 1e-5 * (1 + std::abs(want)))
        << from.text << " " << what << ": element " << i << " is " << v[i] << " for " << want;
  }
}

TEST(MatrixFunctions, PartsOfEveryForm) {
  for (DType t : dtypes)
    for (const MatrixSample& s : samples(t)) {
      expect_each(
          absolute(s.m), s, [](Z z) { return std::abs(z); }, "absolute");
      expect_each(
          real_part(s.m), s, [](Z z) { return z.real(); }, "real");
      expect_each(
          imag_part(s.m), s, [](Z z) { return z.imag(); }, "imag");
      EXPECT_EQ(absolute(s.m).dtype(), real_of(s.m.dtype())) << s.text;
      if (testing::Test::HasFatalFailure()) return;
    }
}

TEST(MatrixFunctions, PowersOfEveryForm) {
  for (DType t : dtypes)
    for (const MatrixSample& s : samples(t))
      for (const i64 k : {0, 1, 2, 3}) {
        const AnyMatrix p = power(s.m, Value(k));
        expect_each(
            p, s,
            [&](Z z) {
              return by_squaring(k == 0 ? Z(1) : z, std::max<i64>(k, 1), std::multiplies<Z>());
            },
            cat("to the power ", k));
        if (testing::Test::HasFatalFailure()) return;
      }
}

TEST(MatrixFunctions, FormsFollowZerosAndSigns) {
  const auto form = [](Make make, i64 k) {
    return power(sample(make, DType::f64, 5, 5, 1).m, Value(k)).form();
  };
  EXPECT_EQ(form(Make::antisymmetric, 2), Form::symmetric);
  EXPECT_EQ(form(Make::antisymmetric, 3), Form::antisymmetric);
  EXPECT_EQ(form(Make::lower, 2), Form::triangular);
  EXPECT_EQ(form(Make::identity, 2), Form::diagonal);
  EXPECT_EQ(form(Make::lower, 0), Form::dense);
  EXPECT_EQ(form(Make::symmetric, -1), Form::dense);
  EXPECT_TRUE(power(sample(Make::lower, DType::f64, 5, 5, 1).m, Value(2)).lower());
  EXPECT_TRUE(power(sample(Make::strict_upper, DType::f64, 5, 5, 1).m, Value(2)).payload().strict);
}

TEST(MatrixFunctions, ComparisonsOfEveryForm) {
  for (DType t : dtypes) {
    const std::vector<MatrixSample> all = samples(t);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const MatrixSample &a = all[i], &b = all[(i * 7 + 1) % all.size()];
      const AnyMatrix same = compare(ElementOp::equal, a.m, b.m);
      EXPECT_EQ(same.form(), Form::bit);
      const std::vector<Z> v = numbers_of(same.array());
      bool every = true;
      for (std::size_t e = 0; e < v.size(); ++e) {
        ASSERT_EQ(v[e] != Z(0), a.g.v[e] == b.g.v[e]) << a.text << " == " << b.text << " at " << e;
        every = every && a.g.v[e] == b.g.v[e];
      }
      EXPECT_EQ(tessera::all(same), every);
      EXPECT_EQ(any(compare(ElementOp::not_equal, a.m, b.m)), !every);
      EXPECT_TRUE(tessera::all(compare(ElementOp::equal, a.m, a.m)));
    }
  }
}

TEST(MatrixFunctions, WordsOfComparisonsLeaveTags) {
  const AnyMatrix b = sample(Make::bit, DType::b1, 70, 70, 1).m;
  EXPECT_TRUE(all(compare(ElementOp::equal, b, b)));
  (void)compare(ElementOp::not_equal, b, b);
  EXPECT_EQ(last_tag(Channel::kernel), cat(name(test_device().kind), ".not_equal.bit"));
  EXPECT_THROW(compare(ElementOp::add, b, b), ArgumentError);
  EXPECT_THROW(compare(ElementOp::equal, b, sample(Make::bit, DType::b1, 69, 70, 1).m), ShapeError);
}

TEST(MatrixFunctions, PowersOfTheMatrixItself) {
  const AnyMatrix m = AnyMatrix::triangular_bit(ones({4, 4}, DType::b1, test_device()), false);
  const AnyMatrix paths = matrix_power(m, 3);
  EXPECT_EQ(paths.form(), Form::triangular);
  EXPECT_EQ(paths.at(0, 3).as<i64>(), 1);
  EXPECT_EQ(matrix_power(m, 0).form(), Form::identity);
  EXPECT_THROW(matrix_power(sample(Make::dense, DType::f64, 2, 3, 1).m, 2), ShapeError);
}

}  // namespace
}  // namespace tessera
