// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/elementwise/math/math_blocks.hpp"
#include "tessera/kernels/elementwise/math/quick_power.hpp"

namespace tessera {

// hypot is slow for what it guards against: squares that are too large or too small. Those, and
// what is not a number, go through it.
template <>
void block_1<element::absolute, c128>(const void* const* in, void* out, i64 n, unsigned scalars) {
  const c128* a = static_cast<const c128*>(in[0]);
  double* r = static_cast<double*>(out);
  wide([=] {
    constexpr i64 part = 128;
    double sizes[part];
    for (i64 i = 0; i < n; i += part) {
      const i64 some = std::min(part, n - i), computed = scalars ? 1 : some;
      const c128* z = scalars ? a : a + i;
      std::uint64_t beyond = 0;
      for (i64 k = 0; k < computed; ++k) {
        sizes[k] = math::sqrt(z[k].re * z[k].re + z[k].im * z[k].im);
        beyond |= quick::mask<double>(!quick::is_length(z[k].re, z[k].im));
      }
      if (beyond)
        for (i64 k = 0; k < computed; ++k)
          if (!quick::is_length(z[k].re, z[k].im)) sizes[k] = element::absolute{}(z[k]);
      if (scalars)
        std::fill(r + i, r + i + some, sizes[0]);
      else
        std::copy(sizes, sizes + some, r + i);
    }
  });
}

template BlockFn family_block<ElementFamily::real_math>(ElementOp, DType);
template BlockFn family_block<ElementFamily::test>(ElementOp, DType);
template BlockFn family_block<ElementFamily::real_part>(ElementOp, DType);
}  // namespace tessera
