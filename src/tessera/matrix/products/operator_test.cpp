// SPDX-License-Identifier: Apache-2.0
// Against products with all elements; the laws (tests/laws) see to the rest.
#include "tessera/matrix/products/operator.hpp"

#include <limits>

#include "support/arrays.hpp"
#include "support/distances.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/linalg/linalg.hpp"
#include "tessera/kernels/matmul/matmul.hpp"
#include "tessera/kernels/random/random.hpp"
#include "tessera/kernels/reduce/reduce.hpp"
#include "tessera/matrix/products/multiply.hpp"

namespace tessera {
namespace {

// Also its adjoint.
void expect_same(const AnyMatrix& m, const std::string& what) {
  SCOPED_TRACE(what);
  const DType t = is_inexact(m.dtype()) ? m.dtype() : DType::f64;
  const NamedLinop A = matrix_operator(m, dims("N"), dims("M"));
  const Array full = m.array(t), x = random({m.cols()}, t, 1), y = random({m.rows()}, t, 2);
  const double tolerance = 1e-10 * static_cast<double>(1 + m.rows() + m.cols());
  EXPECT_LT(distance(A(x), matmul(full, x)), tolerance);
  EXPECT_LT(distance(A.H()(y), matmul(ops::conj(full).transpose(), y)), tolerance);
  EXPECT_EQ(A.size("N"), m.cols());
  EXPECT_EQ(A.size("M"), m.rows());
  for (const auto& [rows, cols] : {std::pair(Cut{"M", 3, 9}, Cut{"N", 2, 11}),
                                   {Cut{"M", 4, 12}, Cut{"N", 4, 12}},
                                   {Cut{"M", 0, 5}, Cut{"N", 6, 13}},
                                   {Cut{"M", 7, 13}, Cut{"N", 0, 6}}}) {
    const NamedLinop part = A.split({rows, cols});
    const Array tile = full.slice(0, rows.start, rows.stop).slice(1, cols.start, cols.stop);
    const Array piece = x.slice(0, cols.start, cols.stop);
    EXPECT_LT(distance(part(piece).astype(t), matmul(tile, piece)), tolerance) << part.tree();
  }
}

void expect_views(const AnyMatrix& m, const std::string& what) {
  expect_same(m, what);
  expect_same(m.transpose(), what + " transposed");
  expect_same(m.conj(), what + " conjugated");
  expect_same(m.adjoint().scaled(Value(c128(0.5, -2))), what + " adjoint, scaled");
}

TEST(MatrixOperator, IsTheMatrix) {
  for (const DType t : {DType::f64, DType::c128}) {
    const Array a = random({43, 43}, t, 3);
    expect_views(AnyMatrix::dense(random({17, 21}, t, 4)), "dense");
    expect_views(AnyMatrix::triangular(a, false, false, false), "triangular");
    expect_views(AnyMatrix::triangular(a, true, true, false), "strict lower triangular");
    expect_views(AnyMatrix::symmetric(a, false), "symmetric");
    expect_views(AnyMatrix::antisymmetric(a, false), "antisymmetric");
    expect_views(AnyMatrix::diagonal(random({15}, t, 5), 15, 19), "diagonal");
    expect_views(AnyMatrix::identity(19, 14, t, test_device()), "identity");
  }
}

TEST(MatrixOperator, AddsRowsWhoseBitsAreSet) {
  const Array bits = ops::greater(random({1100, 1100}, DType::f32, 6), 0.0);
  expect_views(AnyMatrix::bit(bits.slice(0, 0, 130)), "bit");
  expect_views(AnyMatrix::triangular_bit(linalg::triangle(bits, false, 1)), "triangular bit");
}

TEST(MatrixOperator, CountsIntegersIn64Bits) {
  const AnyMatrix m = AnyMatrix::bit(ones({2, 200}, DType::b1, test_device()));
  const NamedLinop A = matrix_operator(m, dims("N"), dims("M"));
  for (const DType t : {DType::b1, DType::i8, DType::u8, DType::i64}) {
    const Array y = A(ones({200}, t, test_device()));
    EXPECT_EQ(values_of<std::int64_t>(y), (std::vector<std::int64_t>{200, 200}));
  }
}

TEST(MatrixOperator, HoldsHalfTheBytes) {
  const i64 n = 640;
  const AnyMatrix m = AnyMatrix::symmetric(random({n, n}, DType::f32, 7), false);
  const NamedLinop A = matrix_operator(m, dims("N"), dims("M"));
  EXPECT_EQ(A.bytes(), m.bytes());
  EXPECT_LT(A.bytes(), n * n * 4 * 54 / 100);
  EXPECT_EQ(A.H().bytes(), A.bytes());
  const NamedLinop there = A.to(Device::parse("sim:0"));
  EXPECT_EQ(there.bytes(), A.bytes());
  EXPECT_EQ(there.device(), Device::parse("sim:0"));
  const Array x = random({n}, DType::f32, 8);
  EXPECT_LT(distance(there(x.to(Device::parse("sim:0"))).to(test_device()), A(x)), 1e-3);
  const AnyMatrix links = AnyMatrix::triangular_bit(zeros({4000, 4000}, DType::b1, test_device()));
  const NamedLinop L = matrix_operator(links, dims("N"), dims("M"));
  EXPECT_EQ(L.bytes(), links.bytes());
  EXPECT_LT(L.H().bytes(), 4000 * 4000 / 8 * 60 / 100);
}

TEST(MatrixOperator, KeepsTheElementsItWasMadeOf) {
  for (const Form form : {Form::dense, Form::symmetric, Form::bit, Form::triangular_bit}) {
    const bool bits = form == Form::bit || form == Form::triangular_bit;
    AnyMatrix m = AnyMatrix::zeros(form, 3, 3, bits ? DType::b1 : DType::f64, test_device());
    const NamedLinop A = matrix_operator(m, dims("N"), dims("M"));
    m.set(0, 1, Value(1));
    const Array x = ones({3}, DType::f64, test_device());
    EXPECT_EQ(norm(A(x).to(cpu)).item().as<double>(), 0) << name(form);
    EXPECT_EQ(m.at(0, 1).as<double>(), 1) << name(form);
  }
}

TEST(MatrixOperator, RefusesNamesThatDoNotFit) {
  const AnyMatrix m = AnyMatrix::identity(3);
  EXPECT_THROW(matrix_operator(m, dims("N"), dims("N")), DimError);
  EXPECT_THROW(matrix_operator(m, dims("AB"), dims("CD")), DimError);
  EXPECT_THROW(matrix_operator(m, dims("N"), dims("M"))(ones({4}, DType::f64)), DimError);
}

TEST(MatrixOperator, NormalsOfDiagonalsAreWeights) {
  const AnyMatrix m = AnyMatrix::diagonal(random({5}, DType::c128, 9), 7, 5);
  const NamedLinop A = matrix_operator(m, dims("NX"), dims("MX"));
  const Array x = random({5, 2}, DType::c128, 10);
  EXPECT_LT(distance(A.N()(x), A.H()(A(x))), 1e-12);
  EXPECT_EQ(A.N().kind(), "Diagonal");
}

AnyMatrix declared(const Array& a, Property p) {
  AnyMatrix m = AnyMatrix::dense(a);
  m.properties().declare(p, true);
  return m;
}

// What is declared is trusted as the product trusts it: nothing else of the matrix is read.
TEST(MatrixOperator, ReadsWhatTheProductReads) {
  const Array a = random({37, 37}, DType::f64, 11), x = random({37}, DType::f64, 12);
  for (const Property p :
       {Property::is_diagonal, Property::is_upper_triangular, Property::is_lower_triangular}) {
    for (const AnyMatrix& m : {declared(a, p), declared(a, p).transpose().scaled(Value(-3))}) {
      const NamedLinop A = matrix_operator(m, dims("N"), dims("M"));
      EXPECT_LT(distance(A(x), matmul(m, x)), 1e-10) << name(p);
      EXPECT_LT(distance(A.H()(x), matmul(m.transpose(), x)), 1e-10) << name(p);
      EXPECT_LT(A.bytes(), a.bytes() * (p == Property::is_diagonal ? 4 : 90) / 100) << name(p);
    }
  }
  const NamedLinop one = matrix_operator(declared(a, Property::is_identity), dims("N"), dims("M"));
  EXPECT_EQ(distance(one(x), x), 0);
  EXPECT_EQ(one.N().kind(), "Identity");
  const AnyMatrix none = declared(random({4, 37}, DType::f64, 13), Property::is_zero);
  EXPECT_EQ(norm(matrix_operator(none, dims("N"), dims("M"))(x)).item().as<double>(), 0);
}

TEST(MatrixOperator, IsItsOwnAdjointWhereThatIsSaid) {
  const DType t = DType::c128;
  const Array a = random({9, 9}, t, 14), x = random({9}, t, 15);
  const auto both = [&](Property p) {
    return matrix_operator(declared(a, p), dims("N"), dims("M"));
  };
  const NamedLinop even = both(Property::is_hermitian), odd = both(Property::is_skew_hermitian);
  EXPECT_EQ(distance(even.H()(x), even(x)), 0);
  EXPECT_EQ(distance(odd.H()(x), ops::negative(odd(x))), 0);
  EXPECT_EQ(even.H().shape(), even.shape().H());
  EXPECT_EQ(even.H().H(), even);
  // Said of complex numbers, symmetric is another thing.
  const NamedLinop same = both(Property::is_symmetric);
  EXPECT_LT(distance(same.H()(x), matmul(ops::conj(a).transpose(), x)), 1e-12);
  // Bits need no second copy for the adjoint.
  AnyMatrix links = AnyMatrix::bit(ops::greater(random({70, 70}, DType::f32, 16), 0.0));
  links.properties().declare(Property::is_symmetric, true);
  const NamedLinop L = matrix_operator(links, dims("N"), dims("M"));
  EXPECT_TRUE(may_share_memory(L.H().arrays().front(), links.payload().data));
}

TEST(MatrixOperator, NormalOfAUnitaryOneIsTheIdentity) {
  const Array turn = roll(eye(6, 6, 0, DType::f64, test_device()), {1}, {0});
  for (const Property p : {Property::is_unitary, Property::is_permutation}) {
    const NamedLinop A = matrix_operator(declared(turn, p), dims("NX"), dims("MX"));
    EXPECT_EQ(A.N().kind(), "Identity") << name(p);
    EXPECT_TRUE(A.isometry()) << name(p);
    EXPECT_FALSE(A.split({Cut{"N", 0, 3}}).isometry()) << name(p);
  }
}

// Infinite numbers meet no zero that is not there.
TEST(MatrixOperator, OfInfiniteNumbers) {
  const double inf = std::numeric_limits<double>::infinity();
  const Array full = ones({70, 70}, DType::f64, test_device()),
              x = ones({70}, DType::f64, test_device());
  for (const i64 at : {0, 40, 69}) {
    AnyMatrix m = AnyMatrix::symmetric(full);
    m.set(at, at, Value(inf));
    const std::vector<double> y = values_of<double>(matrix_operator(m, dims("N"), dims("M"))(x));
    for (i64 i = 0; i < 70; ++i)
      EXPECT_EQ(y[static_cast<std::size_t>(i)], i == at ? inf : 70) << at << " " << i;
    const Array far = x.copy();
    far.select(0, at).fill(Value(inf));
    for (const double v :
         values_of<double>(matrix_operator(AnyMatrix::symmetric(full), dims("N"), dims("M"))(far)))
      EXPECT_EQ(v, inf) << at;
  }
}

// Elements that a form does not store, and bits that are not set, are zero whatever they meet: in
// the operator, in its adjoint and in tiles, on every kind of device.
TEST(MatrixOperator, ZerosThatAreNotStoredMeetInfinity) {
  const i64 n = 600, top = 100;
  const double inf = std::numeric_limits<double>::infinity();
  const Array upper = AnyMatrix::triangular(ones({n, n}, DType::f64, test_device()), false,
                                            /*strict=*/true, /*check=*/false)
                          .array();
  const Device other = test_device() == cpu ? Device::parse("sim:0") : test_device();
  for (const AnyMatrix& m : {AnyMatrix::triangular(upper, false, /*strict=*/true),
                             AnyMatrix::bit(upper), AnyMatrix::triangular_bit(upper)})
    for (const Device d : {test_device(), other}) {
      const NamedLinop A = matrix_operator(m, dims("N"), dims("M")).to(d);
      for (const i64 at : {0, 33, 599}) {
        SCOPED_TRACE(cat(name(m.form()), " on ", d, ", infinity at ", at));
        const Array x = ones({n}, DType::f64, cpu);
        x.select(0, at).fill(Value(inf));
        const Array there = x.to(d);
        const std::vector<double> y = values_of<double>(A(there).to(cpu)),
                                  z = values_of<double>(A.H()(there).to(cpu)),
                                  part =
                                      values_of<double>(A.split({Cut{"M", top, n}})(there).to(cpu));
        for (i64 i = 0; i < n; ++i) {
          const auto k = static_cast<std::size_t>(i);
          EXPECT_EQ(y[k], i < at ? inf : static_cast<double>(n - 1 - i)) << i;
          EXPECT_EQ(z[k], i > at ? inf : static_cast<double>(i)) << i;
          if (i >= top) {
            EXPECT_EQ(part[k - top], y[k]) << i;
          }
        }
      }
    }
}

}  // namespace
}  // namespace tessera
