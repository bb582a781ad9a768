// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/elementwise/math/math_blocks.hpp"
#include "tessera/kernels/elementwise/math/quick_angles.hpp"
#include "tessera/kernels/elementwise/math/quick_exp.hpp"

namespace tessera {
namespace {

// math::exp has other formulas at these.
TESSERA_INLINE bool is_rare_angle(double im) {
  return !(quick::size_of_number(im) <= quick::angle_limit<double>) | (im == 0);
}

template <class T>
void complex_exp_block(const void* const* in, void* out, i64 n, unsigned scalars) {
  const T* z = static_cast<const T*>(in[0]);
  T* r = static_cast<T*>(out);
  const i64 computed = scalars ? std::min<i64>(n, 1) : n;
  wide_math([=](auto fused) {
    constexpr i64 part = 128;
    double re[part], im[part];
    for (i64 i = 0; i < computed; i += part) {
      const i64 some = std::min(part, computed - i);
      std::uint64_t rare = 0;
      for (i64 k = 0; k < some; ++k) {
        re[k] = z[i + k].re;
        im[k] = z[i + k].im;
        rare |= quick::mask<double>(is_rare_angle(im[k]));
      }
      for (i64 k = 0; k < some; ++k) {
        // Twice the half: no overflow while the product is finite.
        const double half = quick::exp<fused()>(0.5 * re[k]);
        const quick::Circle<double> at = quick::sin_and_cos<fused()>(im[k]);
        re[k] = half * (half * at.cos);
        im[k] = half * (half * at.sin);
      }
      for (i64 k = 0; rare && k < some; ++k) {
        if (!is_rare_angle(z[i + k].im)) continue;
        const c128 w = math::exp(c128(z[i + k]));
        re[k] = w.re;
        im[k] = w.im;
      }
      for (i64 k = 0; k < some; ++k) r[i + k] = T(c128(re[k], im[k]));
    }
  });
  if (scalars && n > 0) std::fill(r + 1, r + n, *r);
}

// The parts side by side, as arctan2 takes them.
template <class T>
void angle_block(const void* const* in, void* out, i64 n, unsigned scalars) {
  using R = decltype(T::re);
  const T* z = static_cast<const T*>(in[0]);
  R* r = static_cast<R*>(out);
  const i64 computed = scalars ? std::min<i64>(n, 1) : n;
  constexpr i64 part = 512;
  R re[part], im[part];
  for (i64 i = 0; i < computed; i += part) {
    const i64 some = std::min(part, computed - i);
    for (i64 k = 0; k < some; ++k) {
      re[k] = z[i + k].re;
      im[k] = z[i + k].im;
    }
    const void* const parts[] = {im, re};
    block_2<element::arctan2, R>(parts, r + i, some, 0);
  }
  if (scalars && n > 0) std::fill(r + 1, r + n, *r);
}

}  // namespace

template <>
void block_1<element::angle, c64>(const void* const* in, void* out, i64 n, unsigned scalars) {
  angle_block<c64>(in, out, n, scalars);
}
template <>
void block_1<element::angle, c128>(const void* const* in, void* out, i64 n, unsigned scalars) {
  angle_block<c128>(in, out, n, scalars);
}
template <>
void block_1<element::exp, c64>(const void* const* in, void* out, i64 n, unsigned scalars) {
  complex_exp_block<c64>(in, out, n, scalars);
}
template <>
void block_1<element::exp, c128>(const void* const* in, void* out, i64 n, unsigned scalars) {
  complex_exp_block<c128>(in, out, n, scalars);
}
}  // namespace tessera
