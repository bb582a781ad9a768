// SPDX-License-Identifier: Apache-2.0
// What the laws cannot say: particular values, names, rewriting, errors, placement.
#include "tessera/linop/core/linop.hpp"

#include <gtest/gtest.h>

#include <numbers>

#include "support/distances.hpp"
#include "support/support.hpp"
#include "tessera/base/config.hpp"
#include "tessera/tessera.hpp"

namespace tessera {
namespace {

using Reals = std::vector<double>;

Array vector_of(const std::vector<c128>& v, DType t = DType::c128) {
  const Array a(Storage::allocate(cpu, static_cast<i64>(v.size()) * 16),
                Layout::contiguous({static_cast<i64>(v.size())}), DType::c128);
  std::copy(v.begin(), v.end(), a.host<c128>());
  return a.astype(t);
}

Array matrix_of(i64 rows, i64 columns, const Reals& v) {
  std::vector<c128> all(v.begin(), v.end());
  return vector_of(all, DType::f64).contiguous().reshape({rows, columns});
}

TEST(Linop, DiagonalValues) {
  const NamedLinop A(Diagonal(vector_of({{1, 0}, {0, 2}}), dims("N")));
  const Array x = vector_of({{1, 0}, {1, 0}});
  EXPECT_EQ(distance(A(x), vector_of({{1, 0}, {0, 2}})), 0);
  EXPECT_EQ(distance(A.H()(x), vector_of({{1, 0}, {0, -2}})), 0);
  EXPECT_EQ(distance(A.N()(x), vector_of({{1, 0}, {4, 0}})), 0);
}

TEST(Linop, DeepCopyIsIndependentWithTheSameSharing) {
  // Acceptance case 132: a plain and a conjugated view of one weight, and a transposed one.
  const Array w = matrix_of(2, 3, {1, 2, 3, 4, 5, 6}).astype(DType::c128);
  w.slice(0, 0, 1).fill(Value(c128(1, 2)));
  const NamedLinop A(Dense(w, dims("MN"), dims("N"), dims("M"))),
      B(Dense(w.transpose(), dims("NM"), dims("N"), dims("M")));
  const NamedLinop both = A.H() * Diagonal(ones({2}, DType::f64), dims("M")) * A + A.H() * B;
  const NamedLinop copy = both.deep_copy();
  const Array x = vector_of({{1, 1}, {2, 0}, {0, 3}});
  const Array before = both(x);
  EXPECT_EQ(distance(copy(x), before), 0);
  EXPECT_EQ(copy.bytes(), both.bytes());
  for (const Array& a : copy.arrays()) {
    EXPECT_FALSE(may_share_memory(a, w));
    EXPECT_TRUE(!is_complex(a.dtype()) || a.storage() == copy.arrays().front().storage());
  }
  copy.arrays().front().fill(Value(0));
  EXPECT_EQ(distance(copy(x), ops::multiply(before, 0.0)), 0);
  EXPECT_EQ(distance(both(x), before), 0);
}

TEST(Linop, CopySharesArraysAndCachesNothing) {
  // Acceptance case 32.
  const NamedLinop A(Diagonal(ones({3}, DType::f64), dims("N")));
  const NamedLinop H = A.H(), copy = A.copy();
  EXPECT_NE(copy, A);
  EXPECT_EQ(copy.arrays().front().data(), A.arrays().front().data());
  EXPECT_NE(copy.H(), H);
  EXPECT_NE(NamedLinop(FFT(1)).deep_copy(), NamedLinop(FFT(1)));
}

TEST(Linop, MappedAdjointsAreStillRecognised) {
  const Device sim = Device::parse("sim:0");
  for (const NamedLinop& A :
       {NamedLinop(Dense(matrix_of(2, 3, {1, 2, 3, 4, 5, 6}), dims("MN"), dims("N"), dims("M"))),
        NamedLinop(Sampling({zeros({2}, DType::i64)}, {3}, dims("M"), dims("N")))}) {
    const NamedLinop pair = stack({A.H().H(), A}, {}, StackDim{ND("S"), 0});
    const NamedLinop held = A.H() * Diagonal(ones({2}, DType::f64), dims("M")) * A;
    for (const NamedLinop& m : {held.deep_copy(), held.to(sim)}) {
      const std::vector<NamedLinop> parts = m.parts();
      ASSERT_EQ(parts.size(), 3u);
      EXPECT_TRUE(parts[2].is_adjoint_of(parts[0]));
      EXPECT_FALSE(parts[2].is_adjoint_of(A));
      EXPECT_TRUE(parts[2].H().is_adjoint_of(parts[2]));
    }
    const std::vector<NamedLinop> twice = pair.deep_copy().parts();
    EXPECT_EQ(twice[0], twice[1]);
  }
  const NamedLinop named = NamedLinop(Diagonal(ones({3}, DType::f64), dims("N"))).named("L");
  EXPECT_EQ((2.0 * named).to(sim).parts().size(), (2.0 * named).parts().size());
  EXPECT_EQ(named.deep_copy().name(), "L");
}

TEST(Linop, DenseValues) {
  const NamedLinop A(Dense(matrix_of(3, 2, {1, 2, 3, 4, 5, 6}), dims("MN"), dims("N"), dims("M")));
  const Array x = ones({2}, DType::f64), y = ones({3}, DType::f64);
  EXPECT_EQ(distance(A(x), Array::of<double>({3, 7, 11})), 0);
  EXPECT_EQ(distance(A.H()(y), Array::of<double>({9, 12})), 0);
  EXPECT_EQ(distance(A.N()(x), Array::of<double>({79, 100})), 0);
  EXPECT_EQ(A.N().shape().str(), "(N,) -> (N1,)");
}

TEST(Linop, CoilMapsHaveADiagonalNormal) {
  const Array maps = Random(1).normal({4, 3, 5}, DType::c64);
  const NamedLinop S(Dense(maps, dims("CXY"), dims("XY"), dims("CXY")));
  EXPECT_EQ(S.N().kind(), "Diagonal");
  EXPECT_EQ(S.N().shape().str(), "(X, Y) -> (X, Y)");
}

TEST(Linop, CentredTransformOfACentredDelta) {
  for (i64 n : {8, 9}) {
    const Array x = zeros({n}, DType::c128),
                expected = full({n}, Value(1 / std::sqrt(static_cast<double>(n))), DType::c128);
    x.select(0, n / 2).fill(Value(1.0));
    EXPECT_LT(distance(NamedLinop(FFT(1, dims("..."), {}, Norm::ortho, true))(x), expected), 1e-14);
    const Array plain = zeros({n}, DType::c128);
    plain.select(0, 0).fill(Value(1.0));
    EXPECT_LT(distance(NamedLinop(FFT(1))(plain), expected), 1e-14);
  }
}

// Against the definition: sum over m of x[m] exp(-2 pi i k m / n).
TEST(Linop, TransformAgreesWithItsDefinition) {
  const i64 n = 7;
  const Array x = Random(2).normal({n}, DType::c128).contiguous(),
              y = NamedLinop(FFT(1, dims("..."), {}, Norm::backward))(x);
  const c128* p = x.host<c128>();
  for (i64 k = 0; k < n; ++k) {
    std::complex<double> sum = 0;
    for (i64 m = 0; m < n; ++m)
      sum += std::complex<double>(p[m]) *
             std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k * m % n) / n);
    EXPECT_LT(std::abs(sum - std::complex<double>(y.select(0, k).item().as<c128>())), 1e-13);
  }
}

TEST(Linop, NamesOfCompositions) {
  const NamedLinop B(Dense(ones({3, 2}, DType::f64), dims("KN"), dims("N"), dims("K")));
  const NamedLinop A(Dense(ones({4, 3}, DType::f64), dims("MK"), dims("K"), dims("M")));
  const NamedLinop C = A * B;
  EXPECT_EQ(C.shape().str(), "(N,) -> (M,)");
  EXPECT_EQ(C.H().shape().str(), "(M,) -> (N,)");
  EXPECT_EQ(C.N().shape().str(), "(N,) -> (N1,)");
  EXPECT_EQ(C.size("K"), 3);
  EXPECT_EQ(C.parts().size(), 2u);
  EXPECT_EQ((Value(2.0) * C).parts().size(), 3u);
  EXPECT_THROW((void)(B * A), DimError);
  EXPECT_THROW((void)(A + B), DimError);
}

TEST(Linop, ANameThatDiesIsNotBornAgain) {
  const NamedLinop F(FFT(1, dims("C"), FFT::Grids{dims("X"), dims("K")}));
  const NamedLinop D(Diagonal(ones({5}, DType::f32), dims("CK"), dims("C")));
  EXPECT_EQ((F.H() * D * F).shape().str(), "(C, X) -> (C, X1)");
  EXPECT_EQ(F.N().shape().str(), "(C, X) -> (C, X)");  // point by point after all
}

TEST(Linop, TransformPairsCancel) {
  const NamedLinop F(FFT(2)), D(Diagonal(Random(3).normal({4, 6}, DType::c64), dims("NxNy")));
  const NamedLinop A = F * D;
  EXPECT_EQ(A.N().kind(), "Diagonal");
  EXPECT_EQ(A.N().shape().str(), "(Nx, Ny) -> (Nx, Ny)");
  const Plan p =
      chain({D, F, F.H(), D}).plan({.shape = {4, 6}, .dtype = DType::c64, .device = cpu});
  for (const Step& s : p.steps()) EXPECT_EQ(s.label.find("fft"), std::string::npos) << p.explain();
  EXPECT_FALSE(p.notes().empty());
  const Using off(config().rewrite, false);
  const NamedLinop plain = D * F.H() * F * D;
  const Array x = Random(4).normal({4, 6}, DType::c64);
  EXPECT_LT(distance(plain(x), (D * D)(x)), 1e-4);
  EXPECT_GE(plain.plan({.shape = {4, 6}, .dtype = DType::c64, .device = cpu}).steps().size(), 4u);
}

TEST(Linop, ComplexScalars) {
  const NamedLinop A(Diagonal(Random(5).normal({6}, DType::c128), dims("N")));
  const Array x = Random(6).normal({6}, DType::c128);
  const NamedLinop B = Value(c128(0, 1)) * A;
  EXPECT_LT(distance(B(x), ops::multiply(A(x), Value(c128(0, 1)))), 1e-14);
  EXPECT_LT(distance(B.H()(x), ops::multiply(A.H()(x), Value(c128(0, -1)))), 1e-14);
}

TEST(Linop, DtypesFollowTheOperands) {
  const NamedLinop D(Diagonal(ones({4}, DType::f32), dims("N")));
  EXPECT_EQ(D.output_dtype(DType::f32), DType::f32);
  EXPECT_EQ(D.output_dtype(DType::c64), DType::c64);
  EXPECT_EQ(D.output_dtype(DType::f64), DType::f64);
  EXPECT_EQ(NamedLinop(FFT(1)).output_dtype(DType::f32), DType::c64);
  EXPECT_EQ(NamedLinop(Scalar(c128(0, 1))).output_dtype(DType::f32), DType::c64);
  const Array x = Random(7).normal({8}, DType::f32);
  EXPECT_LT(distance(NamedLinop(FFT(1))(x), NamedLinop(FFT(1))(x.astype(DType::c64))), 1e-6);
}

TEST(Linop, ErrorsNameOperatorDimAndSizes) {
  const NamedLinop F(Diagonal(ones({6, 5}, DType::f32), dims("XY")));
  try {
    (void)F(ones({6, 4}, DType::f32));
    ADD_FAILURE() << "accepted a wrong size";
  } catch (const DimError& e) {
    const std::string text = e.what();
    for (const char* part : {"Diagonal (X, Y) -> (X, Y)", "(6, 4)", "dim 'Y' is 5", "axis 1 has 4"})
      EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  EXPECT_THROW((void)F(ones({6, 5}, DType::f32, Device::parse("sim:0"))), DeviceError);
  EXPECT_THROW(Diagonal(ones({2, 3}, DType::f32), dims("X")), DimError);
  EXPECT_THROW(Dense(ones({2, 3}, DType::f32), dims("XY"), dims("X"), dims("Z")), DimError);
  EXPECT_THROW(FFT(4), DimError);
  EXPECT_THROW((void)NamedLinop(Diagonal(ones({3}, DType::c64), dims("X")))(ones({3}, DType::f32),
                                                                            zeros({3}, DType::f32)),
               DTypeError);
}

TEST(Linop, MovesToADeviceAndComputesThere) {
  const Device there = Device::parse("sim:1");
  const NamedLinop A =
      NamedLinop(FFT(2)) * NamedLinop(Diagonal(Random(8).normal({6, 5}, DType::c64), dims("NxNy")));
  const Array x = Random(9).normal({6, 5}, DType::c64).contiguous(), expected = A(x);
  EXPECT_LT(distance(A.to(there)(x.to(there)), expected), 1e-5);
  const Plan p = A.plan({.shape = {6, 5}, .dtype = DType::c64, .device = cpu, .run_on = {there}});
  EXPECT_EQ(p.transferred_bytes(), 2 * 6 * 5 * 8);
  const Array y(Storage::allocate(cpu, 240), Layout::contiguous({6, 5}), DType::c64);
  tessera::Run run = p.instance();
  run(x, y);
  EXPECT_LT(distance(y, expected), 1e-5);
  const Plan chosen =
      A.plan({.shape = {6, 5}, .dtype = DType::c64, .device = cpu, .run_on = {cpu, there}});
  EXPECT_GE(chosen.notes().size(), 2u) << chosen.explain();
}

// Its adjoint by call, which makes the library wrap it.
struct Weighted {
  Array weight;
  static constexpr const char* kind = "Weighted";
  NamedShape shape() const { return {dims("N"), dims("N")}; }
  void apply(Recorder& r, const View& x, const View& y) const {
    record::multiply(r, r.constant(weight), x, y);
  }
  void apply_adjoint(Recorder& r, const View& y, const View& x) const {
    record::conj_multiply(r, r.constant(weight), y, x);
  }
};

TEST(Linop, AdjointsAndNormalsDoNotKeepEachOtherAlive) {
  const i64 before = memory_stats(cpu).in_use;
  {
    const NamedLinop by_value(
        Dense(Random(1).normal({60, 50}, DType::f64), dims("MN"), dims("N"), dims("M")));
    const NamedLinop by_call(Weighted{Random(2).normal({50}, DType::c128)});
    for (const NamedLinop& a : {by_value, by_call, by_call * by_call + by_call}) {
      EXPECT_TRUE(a.H().H() == a);
      EXPECT_TRUE(a.N() == a.N());
      const Array x = Random(3).normal({50}, DType::c128);
      EXPECT_LT(distance(a.N()(x), a.H()(a(x))), 1e-9);
      EXPECT_LT(distance(a.H().N()(a(x)), a(a.H()(a(x)))), 1e-6);
    }
    EXPECT_GT(memory_stats(cpu).in_use, before);
  }
  EXPECT_EQ(memory_stats(cpu).in_use, before);
}

TEST(Linop, PrintsItsTree) {
  const NamedLinop A = NamedLinop(FFT(1)) * NamedLinop(Diagonal(ones({4}, DType::f32), dims("Nx")));
  EXPECT_NE(A.tree().find("\n  FFT"), std::string::npos) << A.tree();
  EXPECT_NE(A.tree().find("weight (4,) float32"), std::string::npos) << A.tree();
}

}  // namespace
}  // namespace tessera
