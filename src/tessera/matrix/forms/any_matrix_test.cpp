// SPDX-License-Identifier: Apache-2.0
#include "tessera/matrix/forms/any_matrix.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "support/arrays.hpp"
#include "tessera/kernels/copy/copy.hpp"

namespace tessera {
namespace {

using Numbers = std::vector<std::complex<double>>;

constexpr Form all_forms[] = {Form::dense,      Form::bit,       Form::triangular_bit,
                              Form::triangular, Form::symmetric, Form::antisymmetric,
                              Form::diagonal,   Form::identity};

// A full matrix as numbers: what every form is held against.
struct Full {
  i64 rows, cols;
  Numbers v;
  std::complex<double>& at(i64 i, i64 j) { return v[static_cast<std::size_t>(i * cols + j)]; }
  std::complex<double> at(i64 i, i64 j) const { return v[static_cast<std::size_t>(i * cols + j)]; }
  Full transposed() const {
    Full t{cols, rows, Numbers(v.size())};
    for (i64 i = 0; i < rows; ++i)
      for (i64 j = 0; j < cols; ++j) t.at(j, i) = at(i, j);
    return t;
  }
  template <class F>
  Full each(F&& f) const {
    Full t = *this;
    for (auto& x : t.v) x = f(x);
    return t;
  }
};

bool takes(Form form, DType t) {
  if (form == Form::bit || form == Form::triangular_bit) return t == DType::b1;
  if (form == Form::antisymmetric) return is_signed_int(t) || is_inexact(t);
  return true;
}

Full full_of(Form form, DType t, i64 rows, i64 cols) {
  Full f{rows, cols, Numbers(static_cast<std::size_t>(rows * cols))};
  for (i64 i = 0; i < rows; ++i)
    for (i64 j = 0; j < cols; ++j) {
      const i64 low = std::min(i, j), high = std::max(i, j);
      const bool half = form == Form::symmetric || form == Form::antisymmetric;
      const i64 k = half ? low * 31 + high * 7 : i * 31 + j * 7;
      std::complex<double> x(
          t == DType::b1 ? static_cast<double>(k % 3 == 0) : static_cast<double>(k % 11 + 1),
          is_complex(t) ? static_cast<double>(k % 5) - 2 : 0);
      if (form == Form::triangular_bit && i >= j) x = 0;
      if (form == Form::triangular && i > j) x = 0;
      if (form == Form::antisymmetric) x = i == j ? 0.0 : i < j ? x : -x;
      if (form == Form::diagonal && i != j) x = 0;
      if (form == Form::identity) x = i == j;
      f.at(i, j) = x;
    }
  return f;
}

Array array_of(const Full& f, DType t, Lay lay = Lay::gaps) {
  Array x;
  if (is_complex(t)) {
    std::vector<c128> v;
    for (const auto& z : f.v) v.push_back(c128(z.real(), z.imag()));
    return laid_out<c128>({f.rows, f.cols}, v, lay).astype(t);
  }
  std::vector<double> v;
  for (const auto& z : f.v) v.push_back(z.real());
  return laid_out(t, {f.rows, f.cols}, v, lay);
}

AnyMatrix made(Form form, const Full& f, DType t) {
  const Array a = array_of(f, t);
  switch (form) {
    case Form::dense: return AnyMatrix::dense(a);
    case Form::bit: return AnyMatrix::bit(a);
    case Form::triangular_bit: return AnyMatrix::triangular_bit(a);
    case Form::triangular: return AnyMatrix::triangular(a);
    case Form::symmetric: return AnyMatrix::symmetric(a);
    case Form::antisymmetric: return AnyMatrix::antisymmetric(a);
    case Form::diagonal: return AnyMatrix::diagonal_of(a);
    default: return AnyMatrix::identity(f.rows, f.cols, t, test_device());
  }
}

::testing::AssertionResult same(const AnyMatrix& m, const Full& f) {
  if (m.rows() != f.rows || m.cols() != f.cols)
    return ::testing::AssertionFailure() << "shape " << m.rows() << " " << m.cols();
  const Array a = m.array();
  if (a.dtype() != m.dtype()) return ::testing::AssertionFailure() << "dtype " << name(a.dtype());
  const Numbers got = numbers_of(a);
  const double tolerance = 4 * epsilon_of(m.dtype());
  for (i64 i = 0; i < f.rows; ++i)
    for (i64 j = 0; j < f.cols; ++j) {
      const auto expected = f.at(i, j), all = got[static_cast<std::size_t>(i * f.cols + j)];
      if (!(std::abs(all - expected) <= tolerance * std::abs(expected)))
        return ::testing::AssertionFailure()
               << name(m.form()) << " array(" << i << ", " << j << ") " << all << " " << expected;
      if (f.v.size() > 64 && (i + 3 * j) % 17 != 0) continue;  // a few, where there are many
      const std::complex<double> one(m.at(i, j).as<c128>());
      if (one != all)
        return ::testing::AssertionFailure()
               << name(m.form()) << " at(" << i << ", " << j << ") " << one << " " << all;
    }
  return ::testing::AssertionSuccess();
}

template <class F>
void for_every_form(F&& f) {
  for (const Form form : all_forms)
    for (int k = 0; k < dtype_count; ++k) {
      const DType t = static_cast<DType>(k);
      if (takes(form, t)) f(form, t);
    }
}

TEST(AnyMatrix, EveryFormAndDtypeAsTheFullArray) {
  for_every_form([](Form form, DType t) {
    for (const i64 n : {i64{0}, i64{1}, i64{5}, i64{37}}) {
      const Full f = full_of(form, t, n, n);
      const AnyMatrix m = made(form, f, t);
      EXPECT_EQ(m.form(), form);
      EXPECT_EQ(m.dtype(), t);
      EXPECT_TRUE(same(m, f)) << name(t) << " " << n;
      EXPECT_TRUE(same(m.transpose(), f.transposed())) << name(t);
      EXPECT_TRUE(same(m.conj(), f.each([](auto z) { return std::conj(z); }))) << name(t);
      EXPECT_TRUE(same(m.adjoint(), f.transposed().each([](auto z) { return std::conj(z); })));
      EXPECT_TRUE(same(m.adjoint().adjoint(), f));
      EXPECT_TRUE(m.plain() && m.transpose().transpose().plain());
    }
  });
}

TEST(AnyMatrix, ScalesAreViews) {
  const std::complex<double> i2(0.5, 2);
  for_every_form([&](Form form, DType t) {
    const Full f = full_of(form, t, 6, 6);
    const AnyMatrix m = made(form, f, t);
    const AnyMatrix three = m.scaled(Value(3)), half = m.scaled(Value(0.5)),
                    z = m.scaled(Value(i2));
    EXPECT_EQ(three.dtype(), t == DType::b1 ? DType::i64 : t);
    EXPECT_EQ(half.dtype(), is_inexact(t) ? t : DType::f64);
    EXPECT_EQ(z.dtype(), is_inexact(t) ? complex_of(t) : DType::c128);
    EXPECT_TRUE(same(three, f.each([](auto x) { return 3.0 * x; }))) << name(t);
    EXPECT_TRUE(same(half, f.each([](auto x) { return 0.5 * x; }))) << name(t);
    const Full expected = f.each([&](auto x) { return i2 * x; });
    EXPECT_TRUE(same(z, expected)) << name(t);
    const Full turned = expected.transposed().each([](auto x) { return std::conj(x); });
    EXPECT_TRUE(same(z.adjoint(), turned)) << name(t);
    EXPECT_TRUE(same(z.adjoint().copy(), turned)) << name(t);
    EXPECT_TRUE(same(m.adjoint().scaled(Value(std::conj(i2))), turned)) << name(t);
    EXPECT_TRUE(same(three.scaled(Value(2)), f.each([](auto x) { return 6.0 * x; }))) << name(t);
    EXPECT_TRUE(m.scaled(Value(1)).plain());
  });
}

TEST(AnyMatrix, CopiesHaveMemoryOfTheirOwnAndTheForm) {
  for_every_form([](Form form, DType t) {
    const Full f = full_of(form, t, 6, 6);
    const AnyMatrix m = made(form, f, t);
    const AnyMatrix c = m.transpose().copy();
    EXPECT_EQ(c.form(), form);
    EXPECT_TRUE(same(c, f.transposed()));
    EXPECT_EQ(c.bytes(), m.bytes());
    EXPECT_FALSE(may_share_memory(c.payload().data, m.payload().data));
  });
  const Full f = full_of(Form::triangular_bit, DType::b1, 6, 6);
  const AnyMatrix two =
      made(Form::triangular_bit, f, DType::b1).transpose().scaled(Value(2)).copy();
  EXPECT_EQ(two.form(), Form::triangular);
  EXPECT_TRUE(two.lower() && two.payload().strict);
  EXPECT_TRUE(same(two, f.transposed().each([](auto x) { return 2.0 * x; })));
}

TEST(AnyMatrix, Rectangles) {
  for (const Form form : {Form::dense, Form::bit, Form::diagonal, Form::identity})
    for (const auto& [rows, cols] : {std::pair<i64, i64>{3, 70}, {70, 3}, {2, 5}, {0, 4}}) {
      const DType t = form == Form::bit ? DType::b1 : DType::f32;
      const Full f = full_of(form, t, rows, cols);
      const AnyMatrix m = made(form, f, t);
      EXPECT_TRUE(same(m, f) && same(m.transpose(), f.transposed()));
      EXPECT_TRUE(same(m.transpose().copy(), f.transposed()));
      EXPECT_TRUE(same(m.transpose().scaled(Value(2.0)).copy(),
                       f.transposed().each([](auto x) { return 2.0 * x; })));
    }
}

TEST(AnyMatrix, StrictAndLowerTriangles) {
  const Full full = full_of(Form::dense, DType::f64, 40, 40);
  const Array a = array_of(full, DType::f64, Lay::reversed);
  for (const bool lower : {false, true})
    for (const bool strict : {false, true}) {
      Full f = full;
      for (i64 i = 0; i < 40; ++i)
        for (i64 j = 0; j < 40; ++j)
          if ((lower ? i < j : i > j) || (strict && i == j)) f.at(i, j) = 0;
      const AnyMatrix m = AnyMatrix::triangular(a, lower, strict, /*check=*/false);
      EXPECT_EQ(m.lower(), lower);
      EXPECT_TRUE(same(m, f));
      EXPECT_TRUE(same(m.transpose(), f.transposed()));
      EXPECT_TRUE(m.is(lower ? Property::is_lower_triangular : Property::is_upper_triangular));
      EXPECT_EQ(m.is(Property::has_zero_diagonal), strict);
      EXPECT_THROW(AnyMatrix::triangular(a, lower, strict), ArgumentError);
    }
}

TEST(AnyMatrix, ElementsThatAreNotThereStayZeroUnderInfiniteScales) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Full f = full_of(Form::triangular, DType::f64, 5, 5);
  const AnyMatrix m = made(Form::triangular, f, DType::f64).scaled(Value(infinity));
  for (const AnyMatrix& x : {m, m.copy()}) {
    EXPECT_EQ(x.at(3, 1).as<double>(), 0.0);
    const Numbers all = numbers_of(x.array());
    EXPECT_EQ(all[3 * 5 + 1], 0.0);
    EXPECT_EQ(all[1 * 5 + 3].real(), infinity);
  }
  EXPECT_EQ(numbers_of(m.copy().payload().data)[3 * 5 + 1], 0.0);
}

TEST(AnyMatrix, WrongFormsAreRefused) {
  const Array a = array_of(full_of(Form::dense, DType::f64, 4, 4), DType::f64);
  const Array wide = array_of(full_of(Form::dense, DType::f64, 3, 4), DType::f64);
  EXPECT_THROW(AnyMatrix::symmetric(a), ArgumentError);
  EXPECT_THROW(AnyMatrix::antisymmetric(a), ArgumentError);
  EXPECT_THROW(AnyMatrix::triangular_bit(a), ArgumentError);
  EXPECT_THROW(AnyMatrix::diagonal_of(a), ArgumentError);
  for (const auto& make : std::vector<std::function<AnyMatrix(const Array&)>>{
           [](const Array& x) { return AnyMatrix::symmetric(x, false); },
           [](const Array& x) { return AnyMatrix::antisymmetric(x, false); },
           [](const Array& x) { return AnyMatrix::triangular_bit(x, false); },
           [](const Array& x) { return AnyMatrix::triangular(x, false, false, false); }}) {
    EXPECT_EQ(make(a).rows(), 4);
    EXPECT_THROW(make(wide), ShapeError);
    EXPECT_THROW(make(a.select(0, 0)), ShapeError);
  }
  EXPECT_THROW(AnyMatrix::antisymmetric(a.astype(DType::u8), false), DTypeError);
  EXPECT_THROW(AnyMatrix::diagonal(a.select(0, 0), 5, 6), ShapeError);
  EXPECT_THROW(AnyMatrix::zeros(Form::symmetric, 2, 3, DType::f64), ShapeError);
  EXPECT_THROW(AnyMatrix::zeros(Form::bit, 2, 3, DType::f64), DTypeError);
  EXPECT_THROW(AnyMatrix::zeros(Form::antisymmetric, 2, 2, DType::b1), DTypeError);
  EXPECT_THROW(AnyMatrix::bits({bit_pack(a).words, 600}), ShapeError);
  EXPECT_THROW(AnyMatrix::dense(a).words(test_device()), DTypeError);
  // The smallest integer has no negative.
  const Array least = laid_out<std::int8_t>({2, 2}, {0, -128, -128, 0});
  EXPECT_THROW(AnyMatrix::antisymmetric(least), OverflowError);
}

TEST(AnyMatrix, ZerosOfEveryForm) {
  for_every_form([](Form form, DType t) {
    const AnyMatrix m = AnyMatrix::zeros(form, 35, 35, t, test_device());
    EXPECT_EQ(m.form(), form);
    Full f{35, 35, Numbers(35 * 35)};
    if (form == Form::identity)
      for (i64 i = 0; i < 35; ++i) f.at(i, i) = 1;
    EXPECT_TRUE(same(m, f)) << name(t);
  });
}

TEST(AnyMatrix, SetWritesOneElement) {
  for_every_form([](Form form, DType t) {
    if (form == Form::identity) return;
    const bool only_diagonal = form == Form::diagonal;
    const i64 row = only_diagonal ? 4 : 3, col = 4;
    for (const bool turned : {false, true}) {
      Full f = full_of(form, t, 6, 6);
      const AnyMatrix original = made(form, f, t);
      AnyMatrix m = turned ? original.transpose() : original;
      const Full before = f;
      for (const bool one : {true, false}) {
        f.at(row, col) = one;
        if (form == Form::symmetric) f.at(col, row) = one;
        if (form == Form::antisymmetric) f.at(col, row) = one ? -1 : 0;
        m.set(turned ? col : row, turned ? row : col, Value(one ? 1 : 0));
        EXPECT_TRUE(same(turned ? m.transpose() : m, f)) << name(t);
      }
      EXPECT_EQ(m.form(), form);
      EXPECT_TRUE(same(original, before)) << name(form);  // copy on write
    }
  });
}

TEST(AnyMatrix, SetWithoutOtherHandlesCopiesNothing) {
  AnyMatrix m = AnyMatrix::zeros(Form::symmetric, 8, 8, DType::f64, test_device());
  const void* place = m.payload().data.data();
  m.set(1, 2, Value(5.0));
  EXPECT_EQ(m.payload().data.data(), place);
  const AnyMatrix other = m;
  EXPECT_EQ(other.payload().data.data(), place);
  m.set(1, 2, Value(6.0));
  EXPECT_NE(m.payload().data.data(), place);
  EXPECT_EQ(other.at(2, 1).as<double>(), 5.0);
  AnyMatrix twice = m.scaled(Value(2.0));
  twice.set(0, 0, Value(1.0));
  EXPECT_EQ(twice.at(1, 2).as<double>(), 12.0);
  EXPECT_EQ(m.at(0, 0).as<double>(), 0.0);
}

TEST(AnyMatrix, SetRefusesWhatDoesNotFit) {  // 34, 35, 66
  AnyMatrix bit = AnyMatrix::zeros(Form::bit, 3, 3, DType::b1, test_device());
  EXPECT_THROW(bit.set(0, 0, Value(2)), DTypeError);
  EXPECT_THROW(bit.set(0, 0, Value(0.5)), DTypeError);
  EXPECT_THROW(bit.set(3, 0, Value(1)), IndexError);
  EXPECT_THROW(bit.set(0, -1, Value(1)), IndexError);
  AnyMatrix twice = bit.scaled(Value(2));
  EXPECT_THROW(twice.set(0, 0, Value(1)), ArgumentError);
  AnyMatrix c = AnyMatrix::zeros(Form::triangular_bit, 4, 4, DType::b1, test_device());
  EXPECT_NE(thrown_text<ArgumentError>([&] {
              c.set(2, 1, Value(true));
            }).find("Strictly upper triangular"),
            std::string::npos);
  EXPECT_THROW(c.set(1, 1, Value(true)), ArgumentError);
  AnyMatrix anti = AnyMatrix::zeros(Form::antisymmetric, 3, 3, DType::f64, test_device());
  anti.set(0, 2, Value(5.0));
  EXPECT_EQ(anti.at(2, 0).as<double>(), -5.0);
  EXPECT_THROW(anti.set(1, 1, Value(2.0)), ArgumentError);
  anti.set(1, 1, Value(0.0));
  AnyMatrix one = AnyMatrix::identity(3);
  EXPECT_THROW(one.set(0, 0, Value(0.0)), ArgumentError);
  EXPECT_THROW(one.set(0, 1, Value(2.0)), ArgumentError);
  AnyMatrix small = AnyMatrix::zeros(Form::antisymmetric, 2, 2, DType::i8, test_device());
  EXPECT_THROW(small.set(0, 1, Value(-128)), OverflowError);
  EXPECT_THROW(small.set(0, 1, Value(200)), OverflowError);
  EXPECT_THROW(small.set(0, 1, Value(1.5)), DTypeError);
  AnyMatrix real = AnyMatrix::zeros(Form::dense, 2, 2, DType::f64, test_device());
  EXPECT_THROW(real.set(0, 0, Value(c128(1, 1))), DTypeError);
  EXPECT_THROW(real.at(0, 2), IndexError);
}

TEST(AnyMatrix, SetTellsTheProperties) {
  AnyMatrix m = AnyMatrix::zeros(Form::dense, 3, 3, DType::f64, test_device());
  m.properties().declare(Property::is_zero, true);
  const AnyMatrix before = m;
  m.set(0, 1, Value(1.0));
  EXPECT_EQ(m.properties().declared(Property::is_zero), false);
  EXPECT_EQ(m.properties().declared(Property::is_diagonal), false);
  EXPECT_TRUE(m.is(Property::is_upper_triangular));
  EXPECT_TRUE(before.is(Property::is_zero));
  AnyMatrix s = AnyMatrix::zeros(Form::symmetric, 3, 3, DType::f64, test_device());
  s.set(0, 1, Value(1.0));
  EXPECT_EQ(s.properties().declared(Property::is_upper_triangular), false);
  EXPECT_EQ(s.properties().declared(Property::is_lower_triangular), false);
  EXPECT_TRUE(s.is(Property::is_symmetric));
}

TEST(AnyMatrix, IntegersNeverWrap) {
  const Array a = laid_out<std::int8_t>({1, 3}, {100, -64, 1});
  const AnyMatrix m = AnyMatrix::dense(a);
  EXPECT_EQ(m.scaled(Value(2)).dtype(), DType::i8);
  EXPECT_THROW(m.scaled(Value(2)).array(), OverflowError);
  EXPECT_THROW(m.scaled(Value(2)).copy(), OverflowError);
  EXPECT_THROW(m.scaled(Value(2)).at(0, 0), OverflowError);
  EXPECT_EQ(m.scaled(Value(2)).at(0, 1).as<i64>(), -128);
  EXPECT_EQ(m.scaled(Value(-1)).at(0, 0).as<i64>(), -100);
  const AnyMatrix tiny = AnyMatrix::dense(laid_out<std::int8_t>({1, 2}, {-1, 0}));
  EXPECT_EQ(tiny.scaled(Value(128)).at(0, 0).as<i64>(), -128);
  EXPECT_THROW(tiny.scaled(Value(-128)).array(), OverflowError);
  const AnyMatrix u = AnyMatrix::dense(laid_out<std::uint64_t>({1, 2}, {1, 1ull << 62}));
  EXPECT_EQ(u.scaled(Value(3)).at(0, 1).as<std::uint64_t>(), 3ull << 62);
  EXPECT_THROW(u.scaled(Value(4)).array(), OverflowError);
  EXPECT_THROW(u.scaled(Value(-1)).array(), OverflowError);
  const AnyMatrix big = AnyMatrix::dense(laid_out<i64>({1, 1}, {i64{1} << 62}));
  EXPECT_THROW(big.scaled(Value(2)).at(0, 0), OverflowError);
  EXPECT_EQ(big.scaled(Value(-2)).at(0, 0).as<i64>(), std::numeric_limits<i64>::min());
  EXPECT_THROW(big.scaled(Value(i64{1} << 62)).scaled(Value(8)), OverflowError);
}

TEST(AnyMatrix, ConversionsKeepTheFormAndRefuseToLose) {
  for_every_form([](Form form, DType t) {
    const Full f = full_of(form, t, 6, 6);
    const AnyMatrix m = made(form, f, t);
    const AnyMatrix z = m.transpose().astype(DType::c128);
    EXPECT_EQ(z.dtype(), DType::c128);
    EXPECT_EQ(z.form(), form == Form::bit              ? Form::dense
                        : form == Form::triangular_bit ? Form::triangular
                                                       : form);
    EXPECT_TRUE(same(z, f.transposed()));
    if (!is_complex(t)) {
      EXPECT_TRUE(same(m.astype(DType::i32), f));
    } else if (form != Form::identity) {
      EXPECT_THROW(m.astype(DType::f64), DTypeError);
    }
    EXPECT_EQ(numbers_of(m.array(DType::c64)), f.v);
  });
  const AnyMatrix m = AnyMatrix::dense(laid_out<double>({1, 2}, {300, 1}));
  EXPECT_THROW(m.astype(DType::i8), OverflowError);
  EXPECT_THROW(m.astype(DType::i32).astype(DType::u8), OverflowError);
  EXPECT_EQ(m.astype(DType::u16).at(0, 0).as<i64>(), 300);
  EXPECT_THROW(AnyMatrix::zeros(Form::antisymmetric, 2, 2, DType::f32).astype(DType::u8),
               DTypeError);
  AnyMatrix u = AnyMatrix::identity(2, 2, DType::f64);
  u.properties().declare(Property::is_unitary, true);
  EXPECT_TRUE(u.astype(DType::f32).properties().is(Property::is_unitary));
}

TEST(AnyMatrix, MirrorsAreKeptUntilAnElementIsSet) {
  const Device there = Device::parse("sim:0");
  if (test_device() == there) GTEST_SKIP();
  for (const Form form : all_forms) {
    const DType t = form == Form::bit || form == Form::triangular_bit ? DType::b1 : DType::f64;
    const Full f = full_of(form, t, 6, 6);
    AnyMatrix m = made(form, f, t);
    const Array mirror = m.data(there);
    EXPECT_EQ(mirror.device(), there);
    EXPECT_EQ(m.held_at().size(), 2U);
    EXPECT_EQ(m.data(there).data(), mirror.data());
    EXPECT_EQ(m.array({}, there).device(), there);
    EXPECT_EQ(numbers_of(m.transpose().array({}, there)), f.transposed().v);
    if (form == Form::identity) continue;
    const i64 row = form == Form::diagonal ? 1 : 0;
    const bool was = m.at(row, 1).as<c128>().re == 1;
    m.set(row, 1, Value(was ? 0 : 1));
    EXPECT_EQ(m.held_at().size(), 1U);
    EXPECT_EQ(m.array({}, there).select(0, row).select(0, 1).item().as<double>(), was ? 0.0 : 1.0);
    const AnyMatrix moved = m.to(there);
    EXPECT_EQ(moved.device(), there);
    EXPECT_EQ(moved.held_at().size(), 1U);
    EXPECT_EQ(numbers_of(moved.array()), numbers_of(m.array()));
    EXPECT_EQ(moved.transpose().copy().device(), there);
  }
  auto p = make_payload(Form::dense, 1, 1, DType::f64, laid_out<double>({1, 1}, {3}));
  p->shared = true;
  const AnyMatrix shared(p);
  EXPECT_EQ(shared.data(there).device(), there);
  EXPECT_EQ(shared.held_at().size(), 1U);
}

TEST(AnyMatrix, ComplementsOfBitsKeepThePaddingZero) {  // 29
  const AnyMatrix all =
      AnyMatrix::zeros(Form::bit, 100, 100, DType::b1, test_device()).complement();
  EXPECT_EQ(all.form(), Form::bit);
  const Bits words = all.words(test_device());
  const Array sums = bit_dense(words, ones({100}, DType::i32, test_device()));
  for (const auto& s : numbers_of(sums)) EXPECT_EQ(s, 100.0);
  const auto raw = values_of<std::uint64_t>(words.words);
  for (std::size_t k = 0; k < raw.size(); ++k) {
    const std::size_t word = k % 8;
    EXPECT_EQ(raw[k], word == 0 ? ~std::uint64_t{0} : word == 1 ? (std::uint64_t{1} << 36) - 1 : 0);
  }
  AnyMatrix m = all;
  m.set(99, 99, Value(0));
  m.set(99, 99, Value(1));
  EXPECT_EQ(values_of<std::uint64_t>(m.words(test_device()).words), raw);
  const Full f = full_of(Form::triangular_bit, DType::b1, 6, 6);
  const Full not_f = f.each([](auto x) { return 1.0 - x; });
  EXPECT_TRUE(same(made(Form::triangular_bit, f, DType::b1).complement(), not_f));
  EXPECT_TRUE(
      same(made(Form::triangular_bit, f, DType::b1).transpose().complement(), not_f.transposed()));
  EXPECT_THROW(AnyMatrix::identity(3).complement(), DTypeError);
  EXPECT_THROW(all.scaled(Value(2)).complement(), DTypeError);
}

TEST(AnyMatrix, IdentitiesThatAreNotSquare) {  // 67
  const AnyMatrix m = AnyMatrix::identity(2, 5);
  EXPECT_EQ(m.bytes(), 0);
  EXPECT_EQ(m.at(1, 1).as<double>(), 1.0);
  EXPECT_EQ(m.at(0, 4).as<double>(), 0.0);
  EXPECT_TRUE(m.is(Property::is_identity));
  EXPECT_FALSE(m.is(Property::is_unitary));
  EXPECT_TRUE(AnyMatrix::identity(3).is(Property::is_unitary));
  EXPECT_FALSE(AnyMatrix::identity(3).scaled(Value(2)).is(Property::is_identity));
  EXPECT_EQ(m.properties().derived().diagonal_value->as<double>(), 1.0);
}

TEST(AnyMatrix, StoredElementsAreCheckedAgainstTheForm) {
  for (const Form form : all_forms) {
    EXPECT_EQ(parse_form(name(form)), form);
    const bool bits = form == Form::bit || form == Form::triangular_bit;
    const DType t = bits ? DType::b1 : DType::f32;
    for (const i64 n : {0, 1, 7, 70}) {
      const AnyMatrix m = AnyMatrix::zeros(form, n, n, t, test_device());
      const Array& data = m.payload().data;
      const auto again = [&](i64 rows, i64 cols, DType dtype, const Array& x) {
        return AnyMatrix::of_stored(form, rows, cols, dtype, x, false);
      };
      EXPECT_EQ(again(n, n, t, data).str(), m.str());
      EXPECT_THROW(again(n, n, t, data.expand_dims(0)), ShapeError);
      EXPECT_THROW(again(n, -1, t, data), ShapeError);
      EXPECT_THROW(again(n, n, t, data.astype(DType::i16)), DTypeError);
      EXPECT_THROW(again(n, n, bits ? DType::u64 : DType::f64, data), DTypeError);
      if (form == Form::identity) continue;
      EXPECT_THROW(again(n + 65, n + 65, t, data), ShapeError);
      EXPECT_THROW(again(i64{1} << 62, i64{1} << 62, t, data), Error);
    }
  }
  EXPECT_THROW(parse_form("Sparse"), ArgumentError);
}

TEST(AnyMatrix, TextSaysWhatItIs) {
  const AnyMatrix m = AnyMatrix::triangular(laid_out<double>({2, 2}, {1, 2, 0, 3}));
  const std::string text = m.transpose().scaled(Value(2.5)).str();
  for (const char* part :
       {"Triangular", "(2, 2)", "float64", "32 bytes", "lower", "times 2.5", "5."})
    EXPECT_NE(text.find(part), std::string::npos) << text;
  const std::string large = AnyMatrix::identity(4000).str();
  EXPECT_NE(large.find("..."), std::string::npos) << large;
  EXPECT_NE(AnyMatrix::zeros(Form::bit, 50, 60, DType::b1).transpose().str().find("transposed"),
            std::string::npos);
  EXPECT_NE(AnyMatrix::zeros(Form::dense, 0, 3, DType::f32).str().find("(0, 3)"),
            std::string::npos);
}

}  // namespace
}  // namespace tessera
