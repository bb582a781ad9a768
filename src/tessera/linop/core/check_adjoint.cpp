// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/core/check_adjoint.hpp"

#include <cmath>

namespace tessera {
namespace {

double rounding(const NamedLinop& a, const Shape& input, DType t) {
  // Sums of short numbers are formed in float32: what is left is the rounding of each step.
  if (t == DType::f16) return 16 * 0x1p-10;
  if (t == DType::bf16) return 16 * 0x1p-7;
  const auto terms = static_cast<double>(count_of(input) + count_of(a.output_shape(input)));
  return (real_of(t) == DType::f32 ? 0x1p-23 : 0x1p-52) * (256 + 16 * std::sqrt(terms));
}

}  // namespace

AdjointCheck check_adjoint(const NamedLinop& a, const Shape& input, DType dtype, Device device,
                           std::uint64_t seed, std::optional<double> tolerance) {
  Random random(seed);
  const Array x = random.normal(input, dtype, device);
  const Array y =
      random.normal(a.output_shape(input), a.output_dtype(dtype), a.output_device(device));
  const Array ax = a(x), hy = a.H()(y);
  const DType common = promote(hy.dtype(), x.dtype());
  c128 left = vdot(y, ax).item().as<c128>(),
       right = vdot(hy.astype(common), x.astype(common)).item().as<c128>();
  // From real to complex numbers an adjoint that gives real ones is that of Re<x, y>.
  const bool to_complex = !is_complex(x.dtype()) && is_complex(y.dtype());
  if (a.real_linear() || (to_complex && norm(hy.imag()).item().as<double>() == 0))
    left.im = right.im = 0;
  const double scale = norm(ax).item().as<double>() * norm(y).item().as<double>() /
                       std::sqrt(static_cast<double>(y.size()));
  const double error = std::hypot(left.re - right.re, left.im - right.im) / (scale > 0 ? scale : 1);
  return {error, tolerance.value_or(rounding(a, input, dtype))};
}

}  // namespace tessera
