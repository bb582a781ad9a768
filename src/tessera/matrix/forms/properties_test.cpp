// SPDX-License-Identifier: Apache-2.0
#include "tessera/matrix/forms/properties.hpp"

#include <gtest/gtest.h>

#include "support/arrays.hpp"
#include "tessera/matrix/forms/properties_check.hpp"

namespace tessera {
namespace {

using enum Property;

bool number_is(const std::optional<Value>& v, c128 expected) {
  return v && v->as<c128>().re == expected.re && v->as<c128>().im == expected.im;
}

TEST(Properties, NamesThereAndBack) {
  for (int i = 0; i < property_count; ++i)
    EXPECT_EQ(parse_property(name(static_cast<Property>(i))), static_cast<Property>(i));
  EXPECT_NE(thrown_text<ArgumentError>([] { parse_property("is_nice"); }).find("is_unitary"),
            std::string::npos);
}

TEST(Properties, WhatFollows) {
  Properties p(3, 3);
  EXPECT_FALSE(p.is(is_upper_triangular));
  p.declare(is_identity, true);
  for (const Property q : {is_diagonal, is_upper_triangular, is_lower_triangular, is_symmetric,
                           is_unitary, is_permutation, has_unit_diagonal, is_hermitian})
    EXPECT_TRUE(p.is(q)) << name(q);
  EXPECT_FALSE(p.is(is_zero));
  EXPECT_EQ(p.declared(is_unitary), std::nullopt);
  p.declare(is_identity, std::nullopt);
  EXPECT_FALSE(p.is(is_diagonal));
  p.declare(is_upper_triangular, true);
  p.declare(is_lower_triangular, true);
  EXPECT_TRUE(p.is(is_diagonal));
}

TEST(Properties, ShapesThatContradict) {  // 73
  Properties p(2, 3);
  for (const Property q : {is_unitary, is_upper_triangular, is_symmetric, is_permutation})
    EXPECT_THROW(p.declare(q, true), ArgumentError) << name(q);
  p.declare(is_unitary, false);
  p.declare(is_diagonal, true);
  EXPECT_FALSE(p.is(is_upper_triangular));
}

TEST(Properties, VectorsAreSortedAndOfUnitNorm) {  // 74
  Properties row(1, 4);
  row.declare(is_sorted, false);
  EXPECT_THROW(row.declare(is_strictly_sorted, true), ArgumentError);
  row.declare(is_sorted, std::nullopt);
  row.declare(is_strictly_sorted, true);
  row.declare(is_unit_norm, true);
  EXPECT_TRUE(row.is(is_sorted));
  EXPECT_THROW(row.declare(is_sorted, false), ArgumentError);
  EXPECT_THROW(row.declare(is_zero, true), ArgumentError);
  EXPECT_TRUE(row.transposed(false).is(is_strictly_sorted));
  EXPECT_TRUE(row.scaled(Value(2.0)).is(is_sorted));
  EXPECT_FALSE(row.scaled(Value(2.0)).is(is_unit_norm));
  EXPECT_TRUE(row.scaled(Value(-1)).is(is_unit_norm));
  EXPECT_FALSE(row.scaled(Value(-1)).is(is_sorted));
  row.element_set(0, 1, Value(3.0));
  EXPECT_FALSE(row.is(is_sorted) || row.is(is_unit_norm));
  Properties square(3, 3);
  for (const Property p : {is_sorted, is_strictly_sorted, is_unit_norm})
    EXPECT_THROW(square.declare(p, true), ArgumentError) << name(p);
}

TEST(Properties, DeclarationsThatContradict) {  // 74
  Properties p(3, 3);
  p.declare(is_identity, true);
  EXPECT_THROW(p.declare(is_zero, true), ArgumentError);
  EXPECT_THROW(p.declare(has_zero_diagonal, true), ArgumentError);
  EXPECT_EQ(p.declared(is_zero), std::nullopt);
  Properties d(3, 3);
  d.declare(is_diagonal, true);
  EXPECT_THROW(d.declare(is_upper_triangular, false), ArgumentError);
  Properties u(3, 3);
  u.declare(is_upper_triangular, false);
  EXPECT_THROW(u.declare(is_diagonal, true), ArgumentError);
  EXPECT_THROW(u.declare(is_zero, true), ArgumentError);
  u.declare(is_upper_triangular, std::nullopt);
  u.declare(is_zero, true);
  EXPECT_THROW(u.declare(is_unitary, true), ArgumentError);
}

TEST(Properties, FollowTransposesAndConjugates) {  // 75
  Properties p(3, 3);
  p.declare(is_upper_triangular, true);
  p.declare(is_unitary, true);
  p.keep(&Derived::trace, Value(c128(1, 2)));
  p.keep(&Derived::determinant, Value(c128(3, 4)));
  p.keep(&Derived::sum, Value(c128(5, 6)));
  p.keep(&Derived::diagonal_value, Value(c128(7, 8)));
  const Properties t = p.transposed(true);
  EXPECT_TRUE(t.is(is_lower_triangular));
  EXPECT_FALSE(t.is(is_upper_triangular));
  EXPECT_FALSE(t.is(is_unitary));
  EXPECT_TRUE(p.transposed(false).is(is_unitary));
  EXPECT_TRUE(number_is(t.derived().trace, c128(1, 2)));
  const Properties c = p.conjugated(true);
  EXPECT_TRUE(c.is(is_upper_triangular));
  EXPECT_TRUE(number_is(c.derived().trace, c128(1, -2)));
  EXPECT_TRUE(number_is(c.derived().determinant, c128(3, -4)));
  EXPECT_TRUE(number_is(c.derived().sum, c128(5, -6)));
  EXPECT_TRUE(number_is(c.derived().diagonal_value, c128(7, -8)));
  const Properties h = p.adjoint(true);
  EXPECT_TRUE(h.is(is_unitary));
  EXPECT_TRUE(h.is(is_lower_triangular));
  EXPECT_TRUE(number_is(h.derived().trace, c128(1, -2)));
}

TEST(Properties, FollowScales) {  // 76
  Properties p(3, 3);
  p.declare(is_identity, true);
  p.keep(&Derived::trace, Value(7));
  p.keep(&Derived::determinant, Value(3));
  p.keep(&Derived::norm, 2.0);
  p.keep(&Derived::eigenvalues, Array::of<double>({1, 2, 3}));
  const Properties two = p.scaled(Value(2));
  EXPECT_EQ(two.declared(is_identity), false);
  EXPECT_TRUE(two.is(is_diagonal));
  EXPECT_TRUE(two.is(is_symmetric));
  EXPECT_FALSE(two.is(is_unitary));
  EXPECT_TRUE(number_is(two.derived().trace, c128(14)));
  EXPECT_TRUE(number_is(two.derived().determinant, c128(24)));
  EXPECT_EQ(two.derived().norm, 4.0);
  EXPECT_EQ(numbers_of(two.derived().eigenvalues)[2], 6.0);
  const Properties none = p.scaled(Value(0));
  EXPECT_TRUE(number_is(none.derived().trace, c128(0)));
  EXPECT_TRUE(number_is(none.derived().determinant, c128(0)));
  EXPECT_EQ(none.declared(is_zero), std::nullopt);
  EXPECT_FALSE(none.is(is_zero));
  Properties h(2, 2);
  h.declare(is_hermitian, true);
  EXPECT_TRUE(h.scaled(Value(c128(0, 2))).is(is_skew_hermitian));
  EXPECT_FALSE(h.scaled(Value(c128(0, 2))).is(is_hermitian));
  EXPECT_FALSE(h.scaled(Value(c128(1, 2))).is(is_hermitian));
  Properties big(64, 64);
  big.keep(&Derived::determinant, Value(1));
  EXPECT_FALSE(big.scaled(Value(3)).derived().determinant.has_value());  // 3^64 > 2^64
}

TEST(Properties, ForgetWhenElementsAreSet) {  // 77
  Properties p(3, 3);
  p.declare(is_diagonal, true);
  p.keep(&Derived::trace, Value(1));
  Properties q = p;
  p.element_set(0, 1, Value(1.0));
  EXPECT_EQ(p.declared(is_diagonal), false);
  EXPECT_TRUE(p.is(is_upper_triangular));
  EXPECT_FALSE(p.derived().trace.has_value());
  q.element_set(2, 0, Value(1.0));
  EXPECT_EQ(q.declared(is_upper_triangular), false);
  EXPECT_TRUE(q.is(is_lower_triangular));
  q.element_set(2, 0, Value(0.0));
  EXPECT_EQ(q.declared(is_upper_triangular), std::nullopt);
  EXPECT_FALSE(q.is(is_symmetric));
}

bool holds(const Array& a, Property p) { return check(AnyMatrix::dense(a), p); }

Array matrix(DType t, i64 rows, i64 cols, const std::vector<double>& v) {
  return laid_out(t, {rows, cols}, v, Lay::gaps);
}

TEST(PropertiesCheck, LooksAtTheElements) {
  for (const DType t : {DType::f64, DType::f32, DType::i32, DType::u8, DType::c64, DType::b1}) {
    const Array one = matrix(t, 3, 3, {1, 0, 0, 0, 1, 0, 0, 0, 1});
    const Array upper = matrix(t, 3, 3, {1, 1, 0, 0, 1, 1, 0, 0, 0});
    const Array turn = matrix(t, 3, 3, {0, 1, 0, 0, 0, 1, 1, 0, 0});
    const Array zero = matrix(t, 3, 3, std::vector<double>(9, 0.0));
    for (const Property p :
         {is_identity, is_permutation, is_diagonal, is_upper_triangular, is_lower_triangular,
          has_unit_diagonal, is_symmetric, is_hermitian, is_unitary, is_atomic})
      EXPECT_TRUE(holds(one, p)) << name(p) << " " << name(t);
    for (const Property p : {is_zero, has_zero_diagonal, is_anti_symmetric, is_skew_hermitian})
      EXPECT_FALSE(holds(one, p)) << name(p) << " " << name(t);
    EXPECT_TRUE(holds(upper, is_upper_triangular));
    for (const Property p : {is_lower_triangular, is_symmetric, is_diagonal, has_unit_diagonal,
                             has_zero_diagonal, is_unitary, is_atomic, is_permutation})
      EXPECT_FALSE(holds(upper, p)) << name(p) << " " << name(t);
    EXPECT_TRUE(holds(turn, is_permutation) && holds(turn, is_unitary));
    EXPECT_FALSE(holds(turn, is_symmetric) || holds(turn, is_diagonal) || holds(turn, is_atomic));
    EXPECT_TRUE(holds(zero, is_zero) && holds(zero, is_anti_symmetric));
  }
  EXPECT_TRUE(holds(matrix(DType::f64, 2, 2, {0, 2, -2, 0}), is_anti_symmetric));
  EXPECT_FALSE(holds(matrix(DType::i8, 2, 2, {0, -128, -128, 0}), is_anti_symmetric));
  EXPECT_FALSE(holds(matrix(DType::u8, 2, 2, {0, 1, 255, 0}), is_anti_symmetric));
  EXPECT_TRUE(holds(matrix(DType::f64, 3, 3, {1, 2, 0, 0, 1, 0, 0, 0, 1}), is_atomic));
  EXPECT_FALSE(holds(matrix(DType::f64, 3, 3, {1, 2, 3, 0, 1, 0, 0, 0, 1}), is_atomic));
  EXPECT_FALSE(holds(matrix(DType::f64, 2, 3, {1, 0, 0, 0, 1, 0}), is_unitary));
  EXPECT_TRUE(holds(matrix(DType::f64, 2, 3, {1, 0, 0, 0, 1, 0}), is_identity));
}

TEST(PropertiesCheck, ComplexOnes) {
  const Array h = laid_out<c128>({2, 2}, {c128(1), c128(2, 1), c128(2, -1), c128(3)});
  const Array s = laid_out<c128>({2, 2}, {c128(0, 1), c128(2, 1), c128(-2, 1), c128(0)});
  const double r = std::sqrt(0.5);
  const Array u = laid_out<c128>({2, 2}, {c128(r), c128(0, r), c128(0, r), c128(r)});
  EXPECT_TRUE(holds(h, is_hermitian) && holds(s, is_skew_hermitian) && holds(u, is_unitary));
  EXPECT_FALSE(holds(h, is_symmetric) || holds(s, is_hermitian) || holds(u, is_hermitian));
  EXPECT_TRUE(holds(u, is_symmetric));
  EXPECT_FALSE(check(AnyMatrix::dense(u).scaled(Value(1.01)), is_unitary));
}

TEST(PropertiesCheck, FormsSayEnough) {
  const Array a = matrix(DType::f64, 2, 2, {0, 2, 0, 0});
  EXPECT_TRUE(check(AnyMatrix::triangular(a), is_upper_triangular));
  EXPECT_TRUE(check(AnyMatrix::triangular(a).transpose(), is_lower_triangular));
  EXPECT_FALSE(check(AnyMatrix::triangular(a).transpose(), is_upper_triangular));
  EXPECT_TRUE(check(AnyMatrix::identity(3), is_unitary));
  EXPECT_FALSE(check(AnyMatrix::identity(3).scaled(Value(2)), is_unitary));
  AnyMatrix lie = AnyMatrix::dense(a);
  lie.properties().declare(is_diagonal, true);
  EXPECT_FALSE(check(lie, is_diagonal));
}

}  // namespace
}  // namespace tessera
