// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/interpolate/piecewise.hpp"

#include <algorithm>
#include <numbers>
#include <type_traits>

namespace tessera::spread {
namespace {

// Polynomials are fitted in more digits than they are used in: near its middle a kernel multiplies
// the rounding of its argument by beta.
template <class R>
using Wider = std::conditional_t<std::is_same_v<R, float>, double, long double>;

// I0(beta sqrt(s)): a power series with positive terms, so nothing cancels.
template <class L>
L bessel_of_square(L beta, L s) {
  const L q = beta * beta / 4 * s, small = std::numeric_limits<L>::epsilon() / 64;
  L term = 1, sum = 1;
  for (int k = 1; term > sum * small; ++k) {
    term *= q / static_cast<L>(k * k);
    sum += term;
  }
  return sum;
}

// The Chebyshev coefficients on [0, 1] of the kernel along neighbour k.
template <class L>
void chebyshev(const SpreadKernel& kernel, int k, L* c) {
  constexpr int n = max_degree + 1;
  L turn[4 * n], value[n];  // angles are reduced to one turn: large ones lose digits
  for (int m = 0; m < 4 * n; ++m) turn[m] = std::cos(std::numbers::pi_v<L> * m / (2 * n));
  const L half = kernel.width[0] / 2, scale = kernel.scale;
  for (int i = 0; i < n; ++i) {
    const L u = (k - half + (turn[2 * i + 1] + 1) / 2) / half;
    value[i] = scale * bessel_of_square<L>(kernel.beta, std::max<L>(0, 1 - u * u));
  }
  for (int j = 0; j < n; ++j) {
    L sum = 0;
    for (int i = 0; i < n; ++i) sum += value[i] * turn[j * (2 * i + 1) % (4 * n)];
    c[j] = sum * (j == 0 ? 1 : 2) / n;
  }
}

// The sum of c[j] T_j up to `degree` in powers of t, lowest first.
template <class L>
void powers_of(const L* c, int degree, L* power) {
  L before[max_degree + 1] = {1}, now[max_degree + 1] = {0, 1};
  std::fill_n(power, max_degree + 1, L(0));
  for (int j = 0; j <= degree; ++j) {
    for (int i = 0; i <= j; ++i) power[i] += c[j] * before[i];
    L next[max_degree + 1] = {};  // T_{j+2} = 2 t T_{j+1} - T_j
    for (int i = 0; i <= max_degree; ++i) next[i] = (i > 0 ? 2 * now[i - 1] : 0) - before[i];
    std::copy_n(now, max_degree + 1, before);
    std::copy_n(next, max_degree + 1, now);
  }
}

}  // namespace

template <class R>
PiecewiseKernel<R>::PiecewiseKernel(const SpreadKernel& kernel)
    : width(static_cast<int>(kernel.width[0])) {
  using L = Wider<R>;
  const int pieces = (width + 1) / 2;  // the others are their mirror images
  L c[most_piecewise / 2][max_degree + 1];
  for (int k = 0; k < pieces; ++k) chebyshev<L>(kernel, k, c[k]);
  // Coefficients fall faster than any power: what is left out stays below the rounding of the
  // largest weight.
  const L largest_weight = kernel.scale * bessel_of_square<L>(kernel.beta, 1),
          small = largest_weight * std::numeric_limits<R>::epsilon() / 4;
  for (degree = max_degree; degree > 1; --degree) {
    L largest = 0;
    for (int k = 0; k < pieces; ++k) largest = std::max(largest, std::abs(c[k][degree]));
    if (largest > small) break;
  }
  exact = degree < max_degree;
  L power[max_degree + 1];
  for (int k = 0; k < pieces; ++k) {
    powers_of<L>(c[k], degree, power);
    for (int d = 0; d <= degree; ++d) {
      const R value = static_cast<R>(power[degree - d]);
      coefficient[d][k] = value;
      coefficient[d][width - 1 - k] = (degree - d) % 2 == 0 ? value : -value;
    }
  }
}

template struct PiecewiseKernel<float>;
template struct PiecewiseKernel<double>;

}  // namespace tessera::spread
