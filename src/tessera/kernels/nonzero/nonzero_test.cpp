// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/nonzero/nonzero.hpp"

#include <limits>
#include <random>

#include "support/arrays.hpp"

namespace tessera {
namespace {

template <class T>
void check(const Shape& shape, Lay lay) {
  std::mt19937 engine(static_cast<unsigned>(count_of(shape)));
  std::vector<T> v;
  for (i64 i = 0; i < count_of(shape); ++i) v.push_back(T(engine() % 3 == 0 ? 1.0f : 0.0f));
  const std::vector<Array> got = nonzero(laid_out<T>(shape, v, lay));
  ASSERT_EQ(static_cast<i64>(got.size()), shape.size());
  std::vector<std::vector<i64>> want(got.size());
  for (i64 i = 0; i < count_of(shape); ++i) {
    if (static_cast<float>(
            numbers_of(laid_out<T>({1}, {v[size_t(i)]}, Lay::dense, cpu))[0].real()) == 0)
      continue;
    i64 rest = i;
    for (i64 a = shape.size() - 1; a >= 0; --a) {
      want[size_t(a)].push_back(rest % shape[a]);
      rest /= shape[a];
    }
  }
  for (std::size_t a = 0; a < got.size(); ++a)
    ASSERT_EQ(values_of<i64>(got[a]), want[a]) << name(dtype_of<T>);
}

template <class T>
class NonzeroTyped : public testing::Test {};
using AllTypes = testing::Types<TESSERA_ALL_TYPES>;
TYPED_TEST_SUITE(NonzeroTyped, AllTypes);

TYPED_TEST(NonzeroTyped, PositionsInRowMajorOrder) {
  for (Lay lay : all_lays) {
    check<TypeParam>({13}, lay);
    check<TypeParam>({4, 5, 3}, lay);
    check<TypeParam>({3, 0, 2}, lay);
  }
}

TEST(Nonzero, LargeInSeveralChunks) {
  const i64 rows = 300, columns = 701;
  std::vector<std::uint8_t> v(static_cast<std::size_t>(rows * columns));
  for (i64 i = 0; i < rows * columns; i += 7) v[size_t(i)] = 2;
  const std::vector<Array> got = nonzero(laid_out<std::uint8_t>({rows, columns}, v, Lay::gaps));
  const auto r = values_of<i64>(got[0]), c = values_of<i64>(got[1]);
  ASSERT_EQ(r.size(), size_t((rows * columns + 6) / 7));
  for (std::size_t i = 0; i < r.size(); ++i)
    ASSERT_EQ(r[i] * columns + c[i], static_cast<i64>(i) * 7);
}

TEST(Nonzero, NaNCountsNegativeZeroDoesNot) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(values_of<i64>(nonzero(laid_out<float>({4}, {-0.0f, nan, 0, 3}))[0]),
            (std::vector<i64>{1, 3}));
  EXPECT_EQ(values_of<i64>(nonzero(laid_out<Half>({3}, {Half(-0.0f), Half(nan), Half(1)}))[0]),
            (std::vector<i64>{1, 2}));
  EXPECT_EQ(values_of<i64>(nonzero(laid_out<c64>({3}, {c64(-0.0f, 0), c64(0, nan), c64(0, 2)}))[0]),
            (std::vector<i64>{1, 2}));
}

TEST(Nonzero, RefusesRankZero) {
  EXPECT_NE(thrown_text<ArgumentError>([] {
              nonzero(Array::scalar(Value(1), DType::i64));
            }).find("0d arrays"),
            std::string::npos);
}

}  // namespace
}  // namespace tessera
