// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/interpolate/piecewise.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tessera/kernels/interpolate/footprint.hpp"
#include "tessera/kernels/interpolate/points.cuh"

namespace tessera::spread {
namespace {

// I0(beta sqrt(1 - u^2)) as the sum of (x^2 / 4)^k / k!^2, in more digits than are tested.
long double weight_by_definition(long double beta, long double u) {
  const long double q = beta * beta / 4 * std::max(0.0L, 1 - u * u);
  long double term = 1, sum = 1;
  for (int k = 1; k < 100; ++k) sum += term *= q / (k * k);
  return sum;
}

template <class R, int W>
void expect_weights(double beta) {
  const PiecewiseKernel<R> kernel(SpreadKernel{.width = {double{W}}, .beta = beta});
  ASSERT_TRUE(kernel.exact) << W << " " << beta;
  double worst = 0;
  for (int i = 1; i < 64; ++i) {
    const double fraction = i / 64.0;  // exact, as are the distances below
    AxisWeights<R, W> weights;
    R* got = weights.of[2];  // of the last axis
    std::fill_n(got, W, std::numeric_limits<R>::quiet_NaN());
    weights.template find<1>(kernel, &fraction);
    for (int k = 0; k < W; ++k) {
      const long double u = (k - W / 2.0L + fraction) / (W / 2.0L);
      const double error = static_cast<double>(std::abs(got[k] - weight_by_definition(beta, u)));
      worst = error <= worst ? worst : error;
    }
  }
  const double scale = static_cast<double>(weight_by_definition(beta, 0));
  EXPECT_FALSE(!(worst <= 2 * std::numeric_limits<R>::epsilon() * scale))
      << W << " " << beta << ": " << worst / scale;
}

template <int W>
void expect_width() {
  for (double per_point : {0.0, 1.0, 1.75, 2.36}) {
    expect_weights<float, W>(per_point * W);
    expect_weights<double, W>(per_point * W);
  }
  if constexpr (W < most_piecewise) expect_width<W + 1>();
}

TEST(Piecewise, WeightsAreTheKernelToRounding) { expect_width<least_piecewise>(); }

// What CUDA's kernels make of a point: the taps that all others have, from edge to edge.
template <class R>
void expect_taps_on_cuda(const SpreadKernel& kernel) {
  const int width = static_cast<int>(kernel.width[0]);
  const Shape grid{3 * width};
  const SpreadShape<R> shape(grid, kernel);
  cuda::PointArgs<R> args(kernel, PiecewiseKernel<R>(kernel), grid);
  for (int i = 0; i <= 64; ++i) {
    const double loc = width + i / 64.0;
    args.locs = &loc;
    const cuda::PointOnAxis at[3] = {{}, {}, args.on_axis(2, 1, 0)};
    R weight[max_taps], got[most_piecewise + 1];
    i64 index[max_taps];
    const int taps = shape.axis(2, loc, weight, index);
    args.template weights<1>(at, nullptr, nullptr, got);
    ASSERT_EQ(taps, width + (at[2].on_grid ? 1 : 0)) << loc;
    EXPECT_EQ(at[2].first, index[0]) << loc;
    const R peak = shape.value(0);
    for (int k = 0; k <= width; ++k)
      EXPECT_NEAR(got[k], k < taps ? weight[k] : 0, 32 * std::numeric_limits<R>::epsilon() * peak)
          << "width " << width << " scale " << kernel.scale << " at " << loc << " tap " << k;
  }
}

TEST(Piecewise, PointsOnCudaHaveTheTapsOfTheHost) {
  for (double width = least_piecewise; width <= most_piecewise; ++width)
    for (double scale : {1.0, 0x1p-8, 0x1p-40}) {
      const SpreadKernel kernel{.width = {width}, .beta = 1.75 * width, .scale = scale};
      expect_taps_on_cuda<float>(kernel);
      expect_taps_on_cuda<double>(kernel);
    }
}

TEST(Piecewise, KernelsThatPolynomialsCannotFollowAreLeftOut) {
  EXPECT_FALSE(PiecewiseKernel<double>(SpreadKernel{.width = {2.0}, .beta = 80}).exact);
  EXPECT_TRUE(is_piecewise({.width = {4.0, 4.0}}));
  EXPECT_FALSE(is_piecewise({.width = {4.0, 6.0}}));
  EXPECT_FALSE(is_piecewise({.width = {4.5}}));
  EXPECT_FALSE(is_piecewise({.width = {17.0}}));
  EXPECT_FALSE(is_piecewise({.width = {1.0}}));
  EXPECT_FALSE(is_piecewise({.width = {4.0}, .norm = 2}));
  EXPECT_FALSE(is_piecewise({.width = {4.0}, .kind = SpreadKind::spline}));
}

}  // namespace
}  // namespace tessera::spread
