// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <complex>
#include <numbers>

#include "support/arrays.hpp"
#include "tessera/linop/ops/transforms/nufft.hpp"

namespace tessera {
namespace {

using std::numbers::pi;

double bessel_i0_series(double x) {
  double term = 1, sum = 1;
  for (int k = 1; term > sum * 1e-18; ++k) sum += term *= x * x / 4 / (static_cast<double>(k) * k);
  return sum;
}

// What becomes of exp(2 pi i f x) for frequencies f of the image, interpolated at position x.
double error_by_definition(int width, double oversamp, double x) {
  const double beta = nufft::kaiser_bessel_beta(width, oversamp), half = width / 2.0;
  constexpr int frequencies = 129;
  double sum = 0;
  for (int i = 0; i < frequencies; ++i) {
    const double f = (static_cast<double>(i) / (frequencies - 1) - 0.5) / oversamp;
    const double square = beta * beta - pi * pi * width * width * f * f;
    const double a = std::sqrt(std::abs(square));
    const double transform = width * (square > 0 ? std::sinh(a) / a : std::sin(a) / a);
    std::complex<double> got;
    for (double g = std::ceil(x - half); g - x <= half; ++g) {
      const double u = (g - x) / half;
      got += bessel_i0_series(beta * std::sqrt(std::max(0.0, 1 - u * u))) *
             std::polar(1.0, 2 * pi * f * (g - x));
    }
    sum += std::norm(got / transform - 1.0);
  }
  return std::sqrt(sum / frequencies);
}

TEST(NufftTolerance, ErrorsOfKernelsAreThoseOfTheirDefinition) {
  for (double oversamp : {1.25, 1.5, 2.0})
    for (int width = 2; width <= 16; ++width) {
      double worst = 0;
      for (int i = 0; i < 128; ++i)
        worst = std::max(worst, error_by_definition(width, oversamp, i / 128.0));
      const double known = nufft::kernel_error(width, oversamp);
      // Below 1e-14 rounding is what is seen.
      EXPECT_FALSE(!(worst < 1.06 * known + 1e-14)) << width << " " << oversamp << " " << worst;
      EXPECT_FALSE(!(worst > 0.94 * known - 1e-14)) << width << " " << oversamp << " " << worst;
    }
}

TEST(NufftTolerance, TheCheapestKernelThatReachesItIsTaken) {
  // Few points on a large grid: a small padded grid. Many points: a narrow kernel.
  EXPECT_EQ(nufft::kernel_for(1e-3, {128, 128, 128}, 1000).oversamp, 1.25);
  EXPECT_EQ(nufft::kernel_for(1e-3, {16, 16, 16}, 1000000).oversamp, 2);
  for (i64 axes = 1; axes <= 3; ++axes)
    for (double tol = 0.5; tol >= nufft::least_tolerance; tol /= 3) {
      const Shape grid(axes, 20);
      const nufft::KernelChoice k = nufft::kernel_for(tol, grid, 1000);
      EXPECT_LE(2 * nufft::kernel_error(static_cast<int>(k.width), k.oversamp), tol);
    }
  EXPECT_EQ(nufft::kernel_for(nufft::least_tolerance, {8, 8, 8}, 0).oversamp, 2);
}

TEST(NufftTolerance, WhatCannotBeReachedIsRefused) {
  for (double tol : {0.0, -1e-3, 1e-13, 1.0, 2.0, std::nan("")}) {
    const std::string text =
        thrown_text<ArgumentError>([&] { (void)nufft::kernel_for(tol, {8}, 10); });
    EXPECT_NE(text.find("expected at least 1e-12"), std::string::npos) << text;
  }
  EXPECT_THROW((void)nufft::kernel_error(17, 2), ArgumentError);
  EXPECT_THROW((void)nufft::kernel_error(4, 1.3), ArgumentError);
}

}  // namespace
}  // namespace tessera
