// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/elementwise/math_blocks.hpp"

namespace tessera {

// hypot is slow for what it guards against: squares that are too large or too small. Parts in which
// there are some, or what is not a number, go through it.
template <>
void block_1<element::absolute, c128>(const void* const* in, void* out, i64 n, unsigned scalars) {
  const c128* a = static_cast<const c128*>(in[0]);
  double* r = static_cast<double*>(out);
  if (scalars) {
    std::fill(r, r + n, element::absolute{}(*a));
    return;
  }
  constexpr i64 part = 128;
  for (i64 i = 0; i < n; i += part, a += part) {
    const i64 some = std::min(part, n - i);
    double sizes[part];
    std::uint64_t beyond = 0;
    for (i64 k = 0; k < some; ++k) {
      const double squares = a[k].re * a[k].re + a[k].im * a[k].im;
      sizes[k] = math::sqrt(squares);
      const bool fits = (squares >= 1e-290) & (squares <= 1e300);
      beyond |= !fits & !((a[k].re == 0) & (a[k].im == 0));
    }
    if (beyond)
      for (i64 k = 0; k < some; ++k) sizes[k] = element::absolute{}(a[k]);
    std::copy(sizes, sizes + some, r + i);
  }
}

template BlockFn family_block<ElementFamily::real_math>(ElementOp, DType);
template BlockFn family_block<ElementFamily::test>(ElementOp, DType);
template BlockFn family_block<ElementFamily::real_part>(ElementOp, DType);
}  // namespace tessera
