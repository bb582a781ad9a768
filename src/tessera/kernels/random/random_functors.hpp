// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the words of a counter become a number: shared by all kernels, so that every device draws the
// same ones (transcendental functions may differ in the last bit). Pure functions of (seed, draw,
// position).
//   float u = draw_uniform<float>(philox(seed, draw, p));   u64 k = draw_below(seed, draw, p, 6);

#include "tessera/kernels/elementwise/elementwise_functors.hpp"
#include "tessera/kernels/random/random.hpp"

namespace tessera {

TESSERA_HOST_DEVICE inline std::uint64_t join_words(std::uint32_t low, std::uint32_t high) {
  return low | static_cast<std::uint64_t>(high) << 32;
}

// [0, 1), as many random bits as T holds exactly: 53, 24, 11 (float16), 8 (bfloat16).
template <class T>
TESSERA_HOST_DEVICE inline Work<T> draw_uniform(const Philox& r) {
  if constexpr (std::is_same_v<T, double>)
    return static_cast<double>(join_words(r.word[0], r.word[1]) >> 11) * 0x1p-53;
  else if constexpr (std::is_same_v<T, float>)
    return static_cast<float>(r.word[0] >> 8) * 0x1p-24f;
  else if constexpr (std::is_same_v<T, Half>)
    return static_cast<float>(r.word[0] >> 21) * 0x1p-11f;
  else
    return static_cast<float>(r.word[0] >> 24) * 0x1p-8f;
}

// a + u * (b - a), rounded after the product on every device: nvcc would fuse it.
TESSERA_HOST_DEVICE inline float between(float a, float u, float b) {
#ifdef __CUDA_ARCH__
  return __fadd_rn(a, __fmul_rn(u, b - a));
#else
  return a + u * (b - a);
#endif
}
TESSERA_HOST_DEVICE inline double between(double a, double u, double b) {
#ifdef __CUDA_ARCH__
  return __dadd_rn(a, __dmul_rn(u, b - a));
#else
  return a + u * (b - a);
#endif
}

// [low, high): a product that rounds up to `high` is taken as `low`.
template <class T>
TESSERA_HOST_DEVICE inline T draw_between(const Philox& r, double low, double high) {
  using W = Work<T>;
  const W a = static_cast<W>(low), b = static_cast<W>(high);
  const T v = convert<T>(between(a, draw_uniform<T>(r), b));
  return static_cast<W>(v) < b ? v : convert<T>(a);
}

// What a pair of normal numbers is made of: u in (0, 1], and an angle in [0, 2 pi).
template <class F>
struct NormalWords {
  F u, angle;
  TESSERA_HOST_DEVICE explicit NormalWords(const Philox& r) {
    constexpr F two_pi = static_cast<F>(6.28318530717958647692);
    if constexpr (std::is_same_v<F, double>) {
      u = (static_cast<double>(join_words(r.word[0], r.word[1]) >> 11) + 1) * 0x1p-53;
      angle = two_pi * (static_cast<double>(join_words(r.word[2], r.word[3]) >> 11) * 0x1p-53);
    } else {
      u = (static_cast<float>(r.word[0]) + 1) * 0x1p-32f;
      angle = two_pi * (static_cast<float>(r.word[1] >> 8) * 0x1p-24f);
    }
  }
};

// Two independent standard normal numbers (Box-Muller); F is float or double.
template <class F>
TESSERA_HOST_DEVICE inline Complex<F> draw_normal_pair(const Philox& r) {
  const NormalWords<F> w(r);
  const F radius = math::sqrt(F(-2) * math::log(w.u));
  return {radius * math::cos(w.angle), radius * math::sin(w.angle)};
}

// Real T: mean + deviation * z. Complex T: each part has the deviation over sqrt(2).
template <class T>
TESSERA_HOST_DEVICE inline T draw_normal(const Philox& r, double mean, double deviation) {
  if constexpr (is_complex_v<T>) {
    using F = decltype(T::re);
    const F s = static_cast<F>(deviation * 0.70710678118654752440);
    const T z = draw_normal_pair<F>(r);
    return {static_cast<F>(mean) + s * z.re, s * z.im};
  } else {
    using W = Work<T>;
    return convert<T>(static_cast<W>(mean) + static_cast<W>(deviation) * draw_normal_pair<W>(r).re);
  }
}

TESSERA_HOST_DEVICE inline std::uint64_t high_product(std::uint64_t a, std::uint64_t b) {
#ifdef __CUDA_ARCH__
  return __umul64hi(a, b);
#else
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(static_cast<Wide>(a) * b >> 64);
#endif
}

// [0, range) without bias, 0 = 2^64: Lemire's multiplication; the rare words that would bias the
// result are replaced by further words of the same position, under changed keys.
TESSERA_HOST_DEVICE inline std::uint64_t draw_below(std::uint64_t seed, std::uint64_t draw,
                                                    std::uint64_t position, std::uint64_t range) {
  const std::uint64_t threshold = range == 0 ? 0 : (0 - range) % range;
  for (std::uint64_t round = 0;; ++round) {
    const Philox r = philox(seed + round * 0x9E3779B97F4A7C15u, draw, position);
    for (int k = 0; k < 4; k += 2) {
      const std::uint64_t x = join_words(r.word[k], r.word[k + 1]);
      if (range == 0) return x;
      if (x * range >= threshold) return high_product(x, range);
    }
  }
}

}  // namespace tessera
