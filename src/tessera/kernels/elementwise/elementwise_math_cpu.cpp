// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/elementwise/elementwise_blocks.hpp"
#include "tessera/kernels/elementwise/quick_math.hpp"

namespace tessera {
namespace {

template <class T>
void tanh_block(const void* const* in, void* out, i64 n, unsigned scalars) {
  const T* a = static_cast<const T*>(in[0]);
  T* r = static_cast<T*>(out);
  if (scalars) {
    std::fill(r, r + n, quick::tanh(*a));
    return;
  }
#pragma GCC ivdep
  for (i64 i = 0; i < n; ++i) r[i] = quick::tanh(a[i]);
}

// Whether all are such as quick::circle takes: not so large, or not a number at all.
bool near_zero(const float* a, i64 n) {
  constexpr std::uint32_t limit = __builtin_bit_cast(std::uint32_t, quick::circle_limit);
  constexpr std::uint32_t infinity = quick::Format<float>::infinity;
  std::uint32_t far = 0;
  for (i64 i = 0; i < n; ++i)
    far |= (quick::bits(a[i]) & ~quick::sign_bit<float>)-limit < infinity - limit;
  return far == 0;
}

template <class F, float quick::Circle<float>::*Part>
void circle_block(const void* const* in, void* out, i64 n, unsigned scalars) {
  const float* a = static_cast<const float*>(in[0]);
  float* r = static_cast<float*>(out);
  constexpr i64 part = 512;
  for (i64 i = 0; i < n; i += part, a += part, r += part) {
    const i64 some = std::min(part, n - i);
    if (scalars) {
      std::fill(r, r + some, F{}(*static_cast<const float*>(in[0])));
    } else if (near_zero(a, some)) {
#pragma GCC ivdep
      for (i64 k = 0; k < some; ++k) r[k] = quick::circle(a[k]).*Part;
    } else {
      for (i64 k = 0; k < some; ++k) r[k] = F{}(a[k]);
    }
  }
}

}  // namespace

template <>
void block_1<element::tanh, float>(const void* const* in, void* out, i64 n, unsigned scalars) {
  tanh_block<float>(in, out, n, scalars);
}
template <>
void block_1<element::tanh, double>(const void* const* in, void* out, i64 n, unsigned scalars) {
  tanh_block<double>(in, out, n, scalars);
}
template <>
void block_1<element::sin, float>(const void* const* in, void* out, i64 n, unsigned scalars) {
  circle_block<element::sin, &quick::Circle<float>::sin>(in, out, n, scalars);
}
template <>
void block_1<element::cos, float>(const void* const* in, void* out, i64 n, unsigned scalars) {
  circle_block<element::cos, &quick::Circle<float>::cos>(in, out, n, scalars);
}

template BlockFn family_block<ElementFamily::math>(ElementOp, DType);
}  // namespace tessera
