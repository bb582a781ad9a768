// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/ops/transforms/nufft.hpp"

#include <cmath>
#include <complex>
#include <functional>
#include <numbers>

#include "support/arrays.hpp"
#include "tessera/kernels/random/random.hpp"
#include "tessera/linop/ops/basic/diagonal.hpp"
#include "tessera/linop/ops/sampling/interpolate.hpp"

namespace tessera {
namespace {

TEST(Nufft, ShapeParameterAndSizes) {
  EXPECT_NEAR(nufft::kaiser_bessel_beta(4, 1.25), 6.9966590, 1e-7);
  EXPECT_NEAR(nufft::kaiser_bessel_beta(6, 2), 13.8551003, 1e-7);
  EXPECT_NEAR(nufft::kaiser_bessel_beta(4, 2), 8.9961523, 1e-7);
  EXPECT_THROW((void)nufft::kaiser_bessel_beta(1, 1.25), ArgumentError);
  EXPECT_EQ(nufft::padded_size({64, 119, 1}, 1.25), (Shape{80, 149, 2}));
  EXPECT_EQ(nufft::padded_size({64, 2, 1}, 1.25, 4.5), (Shape{80, 5, 5}));
  EXPECT_THROW((void)nufft::padded_size({64}, 0.9), ArgumentError);
}

TEST(Nufft, Apodisation) {
  const double known[] = {.07492529, .03248311, .01905986, .01411244,
                          .01280297, .01411244, .01905986, .03248311};
  const Array a = nufft::apodization({8}, {10}, 4, 1.25).front();
  for (i64 i = 0; i < 8; ++i) EXPECT_NEAR(a.host<double>()[i], known[i], 1e-8);
  EXPECT_NEAR(nufft::apodization({64}, {80}, 4, 1.25)[0].host<double>()[32], 0.01280297, 1e-8);
  const std::vector<Array> plane = nufft::apodization({8, 6}, {10, 8}, 4, 1.25);
  ASSERT_EQ(plane.size(), 2u);
  EXPECT_EQ(plane[0].shape(), (Shape{8, 1}));
  EXPECT_EQ(plane[1].shape(), (Shape{6}));
  EXPECT_NEAR(plane[0].host<double>()[3], known[3], 1e-8);
  // Without oversampling the square root turns imaginary at the ends; the weights stay finite.
  const Array ends = nufft::apodization({9}, {9}, 4, 1).front();
  for (i64 i = 0; i < 9; ++i) EXPECT_TRUE(std::isfinite(ends.host<double>()[i]));
}

TEST(Nufft, LocationsWrapAround) {
  const Array k = laid_out<double>({5, 1}, {0, -32, 32, 31.5, -96.25});
  const std::vector<double> at = values_of<double>(nufft::prepared_locs(k, {64}, {80}));
  const double want[] = {40, 0, 0, 79.375, 79.6875};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(at[i], want[i], 1e-12);
}

TEST(Nufft, ScaleStandsInTheChain) {
  // 64 x 64 -> 80 x 80: 1 / (4^2 sqrt(64^2 / 80^2)) = 1 / 12.8; folded into the apodisation.
  const NUFFT a(Array::empty({0, 2}, DType::f64, test_device()), {64, 64});
  const Diagonal* apodise = a.map.parts().front().as<Diagonal>();
  ASSERT_NE(apodise, nullptr);
  EXPECT_NEAR(apodise->scale.as<double>(), 1 / 12.8, 1e-12);
}

TEST(Nufft, ImagesSmallerThanTheKernelAreTransformedAsWell) {
  NufftOptions fine;
  fine.oversamp = 2;
  fine.width = 8;
  for (i64 n = 1; n <= 3; ++n) {
    const Array k = Random(2).uniform({5, 1}, DType::f64, test_device(), -0.5, 0.5);
    const NUFFT a(k, {n}, {}, {}, {}, {}, fine);
    EXPECT_EQ(a.padded(), Shape{8});
    const Array x = Random(3).normal({n}, DType::c128, test_device());
    const std::vector<c128> y = values_of<c128>(NamedLinop(a)(x)), in = values_of<c128>(x);
    const std::vector<double> at = values_of<double>(k);
    for (std::size_t j = 0; j < y.size(); ++j) {
      std::complex<double> want;
      for (i64 m = 0; m < n; ++m) {
        const c128 v = in[static_cast<std::size_t>(m)];
        const double turns = at[j] * static_cast<double>(m - n / 2) / static_cast<double>(n);
        want += std::complex<double>(v.re, v.im) *
                std::polar(1 / std::sqrt(static_cast<double>(n)), -2 * std::numbers::pi * turns);
      }
      EXPECT_FALSE(!(std::abs(std::complex<double>(y[j].re, y[j].im) - want) < 1e-6)) << n;
    }
  }
}

TEST(Nufft, SplittingLeavesNothingOfTheWhole) {
  const Array k = Random(1).uniform({6, 4, 1}, DType::f64, test_device(), -4, 4);
  const NamedLinop a = NUFFT(k, {8}, dims("RK"));
  const NamedLinop part = a.split({{"R", 1, 3}});
  const NUFFT* n = part.as<NUFFT>();
  ASSERT_NE(n, nullptr);
  EXPECT_EQ(n->locs.shape(), (Shape{2, 4, 1}));
  bool seen = false;
  for (const NamedLinop& p : part.parts())
    if (const Interpolate* i = p.as<Interpolate>()) {
      seen = true;
      EXPECT_EQ(i->locs.shape(), (Shape{2, 4, 1}));
      EXPECT_EQ(i->points().count(), 8);
    }
  EXPECT_TRUE(seen);
}

TEST(Nufft, PointsAreSortedOnceForAdjointNormalAndOtherNames) {
  const Array k = Random(1).uniform({6, 2}, DType::f64, test_device(), -4, 4);
  const NamedLinop a = NUFFT(k, {8, 9});
  const auto points = [](const NamedLinop& of) {
    const void* found = nullptr;
    const std::function<void(const NamedLinop&)> look = [&](const NamedLinop& part) {
      if (const Interpolate* i = part.as<Interpolate>()) found = i->points().order.data();
      for (const NamedLinop& p : part.parts()) look(p);
    };
    look(of);
    return found;
  };
  const void* const first = points(a);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(points(a.H()), first);
  EXPECT_EQ(points(a.N()), first);
  EXPECT_EQ(points(a.rename({{"Nx", "X"}, {"K", "P"}})), first);
  EXPECT_EQ(points(a.to(test_device())), first);
}

TEST(Nufft, OtherLocationsShareWhatDoesNotDependOnThem) {
  const Array k = Random(1).uniform({6, 2}, DType::f64, test_device(), -4, 4),
              other = Random(2).uniform({6, 2}, DType::f64, test_device(), -4, 4);
  const NUFFT a(k, {8, 9}), b = a.with_locs(other);
  const Diagonal *apodise = a.map.parts().front().as<Diagonal>(),
                 *same = b.map.parts().front().as<Diagonal>();
  ASSERT_TRUE(apodise && same);
  EXPECT_EQ(apodise->factors[0].weight.data(), same->factors[0].weight.data());
  const Array x = Random(3).normal({8, 9}, DType::c128, test_device());
  const std::vector<c128> got = values_of<c128>(NamedLinop(b)(x)),
                          want = values_of<c128>(NamedLinop(NUFFT(other, {8, 9}))(x));
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(got[i].re, want[i].re);
    EXPECT_EQ(got[i].im, want[i].im);
  }
  const std::string text = thrown_text<ShapeError>([&] {
    (void)a.with_locs(Array::empty({5, 2}, DType::f64, test_device()));
  });
  EXPECT_NE(text.find("with_locs takes locations of shape (6, 2), got (5, 2)"), std::string::npos)
      << text;
}

TEST(Nufft, ProductsOfWideKernelsStayInTheRangeOfSinglePrecision) {
  for (double oversamp : {1.25, 1.5, 2.0})
    for (int width = 2; width <= 16; ++width) {
      const double scale = nufft::kernel_scale(width, oversamp);
      int exponent = 0;
      EXPECT_EQ(std::frexp(scale, &exponent), 0.5) << "not a power of two";
      NufftOptions o;
      o.oversamp = oversamp;
      o.width = width;
      const Array k = Random(2).uniform({6, 3}, DType::f64, test_device(), -1.5, 1.5);
      const NUFFT a(k, {5, 4, 3}, {}, {}, {}, {}, o);
      const Array x = Random(3).normal({5, 4, 3}, DType::c64, test_device()),
                  y = Random(4).normal({6}, DType::c64, test_device());
      for (const c64& v : values_of<c64>(NamedLinop(a)(x)))
        EXPECT_FALSE(!(std::abs(v.re) + std::abs(v.im) < 100)) << oversamp << " " << width;
      for (const c64& v : values_of<c64>(NamedLinop(a).H()(y)))
        EXPECT_FALSE(!(std::abs(v.re) + std::abs(v.im) < 100)) << oversamp << " " << width;
    }
}

TEST(Nufft, NormalsAreWhatIsPredictedToBeCheaper) {
  // Many points on a small grid: a convolution does not see them.
  EXPECT_TRUE(nufft::normal_cost({16, 16}, 1000000, {2, 6}).prefers_toeplitz());
  EXPECT_FALSE(nufft::normal_cost({256, 256}, 1000, {2, 6}).prefers_toeplitz());
  EXPECT_TRUE(nufft::options_for(1e-6, {16, 16}, 1000000).toeplitz);
  EXPECT_FALSE(nufft::options_for(1e-6, {256, 256}, 1000).toeplitz);
  EXPECT_TRUE(nufft::options_for(1e-6, {256, 256}, 1000).chosen_by_cost);
}

TEST(Nufft, ToeplitzKernelIsTheSpectrumOfThePointSpread) {
  const Array k = Random(2).uniform({7, 1}, DType::f64, test_device(), -4, 4);
  NufftOptions o;
  o.oversamp = 2;
  o.width = 8;
  const NUFFT a(k, {8}, {}, {}, {}, {NamedDimension::ellipses()}, o);
  const Array w = laid_out<double>({7}, {1, 2, 0.5, 1, 3, 1, 1});
  const Array kernel = nufft::toeplitz_kernel(a, w, {16});
  EXPECT_EQ(kernel.dtype(), DType::f64);
  const std::vector<double> got = values_of<double>(kernel), at = values_of<double>(k),
                            weight = values_of<double>(w);
  for (i64 m = 0; m < 16; ++m) {
    std::complex<double> sum = 0;
    for (i64 d = -7; d <= 7; ++d)
      for (std::size_t j = 0; j < 7; ++j)
        sum += weight[j] / 8 *
               std::polar(1.0, 2 * std::numbers::pi * static_cast<double>(d) *
                                   (at[j] / 8 - static_cast<double>(m) / 16));
    EXPECT_NEAR(got[static_cast<std::size_t>(m)], sum.real(), 1e-7);
  }
}

}  // namespace
}  // namespace tessera
