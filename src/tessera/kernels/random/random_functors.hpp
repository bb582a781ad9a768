// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the words of blocks become numbers: shared by all kernels, so that every device draws the
// same ones (transcendental functions may differ in the last bits). Pure functions of (seed, draw,
// position). What is drawn is a small struct that says how many elements a block serves and makes
// them:
//   with_draw(spec, [&](auto draw) {
//     typename decltype(draw)::Element x[draw.per_block];
//     draw.of_block(philox(spec.seed, spec.draw, block), position, x);   // of x[0]
//   });

#include "tessera/base/real_of.hpp"
#include "tessera/kernels/elementwise/elementwise_functors.hpp"
#include "tessera/kernels/random/random.hpp"

namespace tessera {

// Sixteen neighbouring blocks serve a tile of 16 * per_block neighbouring elements: their first
// parts the first sixteen, their second parts the next sixteen. So registers of blocks are
// registers of elements, and threads that make neighbouring blocks write to neighbouring places.
inline constexpr i64 tile_blocks = 16;
template <class Draw>
inline constexpr i64 tile_elements = tile_blocks* Draw::per_block;

TESSERA_HOST_DEVICE inline std::uint64_t join_words(std::uint32_t low, std::uint32_t high) {
  return low | static_cast<std::uint64_t>(high) << 32;
}

struct BitsDraw {
  using Element = std::uint64_t;
  static constexpr int per_block = 2;

  TESSERA_HOST_DEVICE void of_block(const Philox& r, std::uint64_t, Element* out) const {
    for (int k = 0; k < 2; ++k) out[k] = join_words(r.word[2 * k], r.word[2 * k + 1]);
  }
};

// [0, 1), as many random bits as T holds exactly: 53, 24, 11 (float16), 8 (bfloat16).
TESSERA_HOST_DEVICE inline double unit_double(std::uint64_t x) {
#if defined(__x86_64__) && !defined(__CUDA_ARCH__)
  // Without a conversion of 64-bit integers, which AVX2 lacks: 52 bits below a one that is taken
  // away, then the last bit. Both sums are exact.
  const std::uint64_t last = (0 - (x >> 11 & 1)) & 0x3ca0000000000000u;  // 2^-53 or 0
  return (__builtin_bit_cast(double, x >> 12 | 0x3ff0000000000000u) - 1) +
         __builtin_bit_cast(double, last);
#else
  return static_cast<double>(x >> 11) * 0x1p-53;
#endif
}
template <class T>
TESSERA_HOST_DEVICE inline float unit_float(std::uint32_t word) {
  constexpr int bits = std::is_same_v<T, float> ? 24 : std::is_same_v<T, Half> ? 11 : 8;
  constexpr float step = 1.0f / static_cast<float>(1 << bits);
  return static_cast<float>(static_cast<std::int32_t>(word >> (32 - bits))) * step;
}

// a + u * (b - a), rounded after the product on every device: nvcc would fuse it, and so would g++
// where it is not told otherwise (cmake/Library.cmake).
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
struct UniformDraw {
  using Element = T;
  using W = Work<T>;
  static constexpr int per_block = std::is_same_v<T, double> ? 2 : 4;
  W low, high;

  explicit UniformDraw(const RandomSpec& s)
      : low(static_cast<W>(s.low)), high(static_cast<W>(s.high)) {}

  TESSERA_HOST_DEVICE T scaled(W u) const {
    const T v = convert<T>(between(low, u, high));
    return static_cast<W>(v) < high ? v : convert<T>(low);
  }
  TESSERA_HOST_DEVICE void of_block(const Philox& r, std::uint64_t, T* out) const {
    for (int k = 0; k < per_block; ++k)
      if constexpr (per_block == 2)
        out[k] = scaled(unit_double(join_words(r.word[2 * k], r.word[2 * k + 1])));
      else
        out[k] = scaled(unit_float<T>(r.word[k]));
  }
};

// What a pair of normal numbers is made of: u in (0, 1], and a part of a turn in [0, 1).
template <class F>
struct NormalWords {
  F u, turn;
};
TESSERA_HOST_DEVICE inline NormalWords<double> normal_words(std::uint64_t a, std::uint64_t b) {
  return {unit_double(a) + 0x1p-53, unit_double(b)};
}
TESSERA_HOST_DEVICE inline NormalWords<float> normal_words(std::uint32_t a, std::uint32_t b) {
  return {(static_cast<float>(a) + 1) * 0x1p-32f, unit_float<float>(b)};
}

// Two independent standard normal numbers (Box-Muller); F is float or double. Sine and cosine are
// taken of the way from the nearest quarter of a turn, which is exact.
template <class F>
TESSERA_HOST_DEVICE inline Complex<F> normal_pair(const NormalWords<F>& w) {
  const int quarter = static_cast<int>(4 * w.turn + F(0.5));
  const F angle = (4 * w.turn - static_cast<F>(quarter)) * static_cast<F>(1.57079632679489661923);
  const F radius = math::sqrt(F(-2) * math::log(w.u));
  const F s = radius * math::sin(angle), c = radius * math::cos(angle);
  switch (quarter & 3) {
    case 0: return {c, s};
    case 1: return {-s, c};
    case 2: return {-c, -s};
    default: return {s, -c};
  }
}

// Real T: mean + deviation * z, with both numbers of a pair. Complex T: a pair is an element, each
// part has the deviation over sqrt(2).
template <class T>
struct NormalDraw {
  using Element = T;
  using F = typename RealOf<Work<T>>::type;
  static constexpr bool complex = is_complex_v<T>;
  static constexpr int pairs = std::is_same_v<F, double> ? 1 : 2;  // of a block
  static constexpr int per_block = complex ? pairs : 2 * pairs;
  F mean, deviation;

  explicit NormalDraw(const RandomSpec& s)
      : mean(static_cast<F>(s.low)),
        deviation(static_cast<F>(complex ? s.high * 0.70710678118654752440 : s.high)) {}

  TESSERA_HOST_DEVICE T scaled(F z) const { return convert<T>(mean + deviation * z); }
  TESSERA_HOST_DEVICE T scaled(F re, F im) const { return {mean + deviation * re, deviation * im}; }
  TESSERA_HOST_DEVICE void of_block(const Philox& r, std::uint64_t, T* out) const {
    for (int k = 0; k < pairs; ++k) {
      Complex<F> z;
      if constexpr (pairs == 1)
        z = normal_pair(
            normal_words(join_words(r.word[0], r.word[1]), join_words(r.word[2], r.word[3])));
      else
        z = normal_pair(normal_words(r.word[2 * k], r.word[2 * k + 1]));
      if constexpr (complex) {
        out[k] = scaled(z.re, z.im);
      } else {
        out[2 * k] = scaled(z.re);
        out[2 * k + 1] = scaled(z.im);
      }
    }
  }
};

TESSERA_HOST_DEVICE inline std::uint64_t high_product(std::uint64_t a, std::uint64_t b) {
#ifdef __CUDA_ARCH__
  return __umul64hi(a, b);
#else
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(static_cast<Wide>(a) * b >> 64);
#endif
}

// Whether integers below `range` (0 = 2^64) are drawn from words of 32 bits: where less than one
// word in 256 is replaced, which is all ranges up to 2^24 and powers of two up to 2^32.
inline bool takes_short_words(std::uint64_t range) {
  constexpr std::uint64_t words = std::uint64_t{1} << 32;
  return range != 0 && range <= words && words % range < 1 << 24;
}

// [0, range) without bias, 0 = 2^64: the upper half of the product of a word with the range
// (Lemire), unless the lower half is below 2^bits mod range. Such a word is replaced by the words
// of a block of the element's own, under changed keys, until one will do.
template <class Word>
struct Below {
  static constexpr bool is_short = sizeof(Word) == 4;
  std::uint64_t seed, draw, range, threshold;

  Below(std::uint64_t seed_, std::uint64_t draw_, std::uint64_t range_)
      : seed(seed_), draw(draw_), range(range_) {
    threshold = range == 0 ? 0 : (is_short ? (std::uint64_t{1} << 32) - range : 0 - range) % range;
  }

  // False where the word is to be replaced.
  TESSERA_HOST_DEVICE bool take(Word word, std::uint64_t& below) const {
    if constexpr (is_short) {
      const std::uint64_t product = word * range;
      below = product >> 32;
      return static_cast<std::uint32_t>(product) >= threshold;
    } else {
      below = range == 0 ? word : high_product(word, range);
      return word * range >= threshold;
    }
  }
  TESSERA_HOST_DEVICE std::uint64_t replaced(std::uint64_t position) const {
    for (std::uint64_t round = 1;; ++round) {
      const Philox r = philox(seed + round * 0x9E3779B97F4A7C15u, draw, position);
      std::uint64_t below = 0;
      for (int k = 0; k < 4; k += is_short ? 1 : 2) {
        if constexpr (is_short) {
          if (take(r.word[k], below)) return below;
        } else {
          if (take(join_words(r.word[k], r.word[k + 1]), below)) return below;
        }
      }
    }
  }
};

// low + [0, range), from words of 32 or 64 bits.
template <class T, class Word>
struct IntegerDraw {
  using Element = T;
  static constexpr int per_block = Below<Word>::is_short ? 4 : 2;
  Below<Word> below;
  std::uint64_t low;

  explicit IntegerDraw(const RandomSpec& s)
      : below(s.seed, s.draw, s.integer_range), low(static_cast<std::uint64_t>(s.integer_low)) {}

  TESSERA_HOST_DEVICE T shifted(std::uint64_t b) const { return static_cast<T>(low + b); }
  TESSERA_HOST_DEVICE void of_block(const Philox& r, std::uint64_t position, T* out) const {
    for (int k = 0; k < per_block; ++k) {
      Word word;
      if constexpr (per_block == 4)
        word = r.word[k];
      else
        word = join_words(r.word[2 * k], r.word[2 * k + 1]);
      std::uint64_t b = 0;
      if (!below.take(word, b))
        b = below.replaced(position + static_cast<std::uint64_t>(k * tile_blocks));
      out[k] = shifted(b);
    }
  }
};

// f(draw) with what the spec asks for.
template <class F>
void with_draw(const RandomSpec& spec, F&& f) {
  const DType t = spec.out.dtype;
  switch (spec.distribution) {
    case Distribution::bits:
      dispatch<std::uint64_t>(t, "random bits", [&]<class T>() { f(BitsDraw{}); });
      break;
    case Distribution::uniform:
      dispatch<Half, BFloat16, float, double>(t, "uniform",
                                              [&]<class T>() { f(UniformDraw<T>(spec)); });
      break;
    case Distribution::normal:
      dispatch<Half, BFloat16, float, double, c64, c128>(
          t, "normal", [&]<class T>() { f(NormalDraw<T>(spec)); });
      break;
    case Distribution::integers:
      dispatch<bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
               std::uint16_t, std::uint32_t, std::uint64_t>(t, "integers", [&]<class T>() {
        if (takes_short_words(spec.integer_range))
          f(IntegerDraw<T, std::uint32_t>(spec));
        else
          f(IntegerDraw<T, std::uint64_t>(spec));
      });
      break;
  }
}

}  // namespace tessera
