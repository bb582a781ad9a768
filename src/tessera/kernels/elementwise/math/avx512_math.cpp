// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/elementwise/math/avx512_math.hpp"

#if defined(__x86_64__)

// g++ 12 warns of what its own headers leave undefined on purpose.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>

#include <cmath>
#include <limits>

#include "tessera/kernels/elementwise/math/quick_power.hpp"
#include "tessera/kernels/wide.hpp"

namespace tessera::avx512 {
namespace {

#define TESSERA_512 [[gnu::target(TESSERA_AVX512)]]
#define TESSERA_INLINE_512 [[gnu::target(TESSERA_AVX512), gnu::always_inline]] inline

using D = __m512d;
using S = __m512;
struct TwoD {
  D high, low;
};

TESSERA_INLINE_512 D all(double x) { return _mm512_set1_pd(x); }
TESSERA_INLINE_512 S all(float x) { return _mm512_set1_ps(x); }
TESSERA_INLINE_512 D fma(D a, D b, D c) { return _mm512_fmadd_pd(a, b, c); }
TESSERA_INLINE_512 S fma(S a, S b, S c) { return _mm512_fmadd_ps(a, b, c); }

// c[First] + x c[First + 1] + ... of N terms, in halves; x2, x4 and x8 are powers of x.
template <int First, int N, class V, class R, int All>
TESSERA_INLINE_512 V series_part(const R (&c)[All], V x, V x2, V x4, V x8) {
  if constexpr (N == 1) {
    return all(c[First]);
  } else if constexpr (N == 2) {
    return fma(x, all(c[First + 1]), all(c[First]));
  } else {
    constexpr int low = N > 8 ? 8 : N > 4 ? 4 : 2;
    return fma(low == 8   ? x8
               : low == 4 ? x4
                          : x2,
               series_part<First + low, N - low>(c, x, x2, x4, x8),
               series_part<First, low>(c, x, x2, x4, x8));
  }
}
template <class V, class R, int N>
TESSERA_INLINE_512 V series(const R (&c)[N], V x, V x2) {
  const V x4 = x2 * x2;
  return series_part<0, N>(c, x, x2, x4, x4 * x4);
}

// Sixteen numbers, by the lowest four bits of an index.
TESSERA_INLINE_512 D in_table(const double (&table)[16], __m512i index) {
  return _mm512_permutex2var_pd(_mm512_loadu_pd(table), index, _mm512_loadu_pd(table + 8));
}
TESSERA_INLINE_512 S in_table(const float (&table)[16], __m512i index) {
  return _mm512_permutexvar_ps(index, _mm512_loadu_ps(table));
}

// x = 2^k m, 3/4 <= m < 3/2, and m is about 1 / inverse[cell]. Of zero k is -inf, of infinity inf;
// m of a negative number is NaN.
struct PartsD {
  D k, m;
  __m512i cell;
};
TESSERA_INLINE_512 PartsD parts(D x) {
  const D m = _mm512_getmant_pd(x, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_nan);
  return {_mm512_getexp_pd(x) - _mm512_getexp_pd(m), m,
          _mm512_srli_epi64(_mm512_castpd_si512(m), 48)};
}

// The cells on both sides of 1 have the inverse 1, so that logarithms near zero lose nothing.
#define TESSERA_INVERSES                                                                       \
  0x1p0, 0x1.d4p-1, 0x1.bap-1, 0x1.a4p-1, 0x1.9p-1, 0x1.7ep-1, 0x1.6cp-1, 0x1.5cp-1, 0x1.4ep0, \
      0x1.41p0, 0x1.35p0, 0x1.2ap0, 0x1.1fp0, 0x1.16p0, 0x1.0dp0, 0x1p0
constexpr double inverse[16] = {TESSERA_INVERSES};
constexpr float inverse_f[16] = {TESSERA_INVERSES};
#undef TESSERA_INVERSES

// For a base b: -log_b(inverse) and log_b 2 as sums of a part whose products with exponents are
// exact and a rest, 1 / ln b likewise, and log_b(1 + r) = r / ln b + r^2 terms(r).
struct Natural {
  static constexpr double two = 0x1.62e42fefa38p-1, two_low = 0x1.ef35793c7673p-45;
  static constexpr double scale = 1, scale_low = 0;
  static constexpr double high[16] = {0,
                                      0x1.700d30aeacp-4,
                                      0x1.2d1610c868p-3,
                                      0x1.95a5adcf7p-3,
                                      0x1.f991c6cb3cp-3,
                                      0x1.2bef07cdc9p-2,
                                      0x1.5d5bddf596p-2,
                                      0x1.8b639a88b3p-2,
                                      -0x1.1058bf9ae5p-2,
                                      -0x1.cf6354e09cp-3,
                                      -0x1.815c0a1436p-3,
                                      -0x1.371fc201e8p-3,
                                      -0x1.d4313d66ccp-4,
                                      -0x1.51b073f06p-4,
                                      -0x1.95c830ec9p-5,
                                      0};
  static constexpr double low[16] = {0,
                                     0x1.c1e8da99ded32p-49,
                                     0x1.39d6ccb81b4a1p-47,
                                     0x1.7f22858a0ff6fp-47,
                                     -0x1.90d04cd7cc834p-44,
                                     0x1.a9cfa4a5004f4p-45,
                                     -0x1.a0b2a08a465dcp-47,
                                     -0x1.05ae1e5e7047p-45,
                                     0x1.4ab9d817d52cdp-44,
                                     -0x1.771239a07d55bp-45,
                                     0x1.02a52f9201ce8p-44,
                                     -0x1.ee8779b2d8abcp-44,
                                     0x1.9454379135713p-45,
                                     -0x1.83f69278e686ap-44,
                                     0x1.c148297c5feb8p-45,
                                     0};
  static constexpr double terms[] = {-0x1p-1,
                                     0x1.5555555555a3ap-2,
                                     -0x1.000000000419p-2,
                                     0x1.999999898ca88p-3,
                                     -0x1.55555443d9487p-3,
                                     0x1.2492b09e0fc2dp-3,
                                     -0x1.0009a59a92b8ep-3,
                                     0x1.c5ea4752e2c4ep-4,
                                     -0x1.6a3df3a2d0318p-4};
};
struct Binary {
  static constexpr double two = 1, two_low = 0;
  static constexpr double scale = 0x1.71547652b82fep0, scale_low = 0x1.777d0ffda0d24p-56;
  static constexpr double high[16] = {0,
                                      0x1.097e38ce6p-3,
                                      0x1.b2602497d6p-3,
                                      0x1.249cd2b13dp-2,
                                      0x1.6cb0f6865dp-2,
                                      0x1.b0b67f4f47p-2,
                                      0x1.f804ae8d0dp-2,
                                      0x1.1d368296b5p-1,
                                      -0x1.88e9c72e0bp-2,
                                      -0x1.4e43880e9p-2,
                                      -0x1.15fa676bb1p-2,
                                      -0x1.c0db6cdd94p-3,
                                      -0x1.51bab907a6p-3,
                                      -0x1.e72ec117fcp-4,
                                      -0x1.24b5b7e134p-4,
                                      0};
  static constexpr double low[16] = {0,
                                     0x1.924ae921f7ecap-45,
                                     -0x1.974e6432d9ee8p-44,
                                     -0x1.49d97df07e357p-45,
                                     -0x1.c57f2495fb7fap-44,
                                     -0x1.fc02bc277071dp-44,
                                     -0x1.7f33943464056p-45,
                                     0x1.2a606046ad444p-44,
                                     -0x1.12d25b3252647p-45,
                                     0x1.258110a38f4e9p-44,
                                     0x1.c029a071eeb1p-44,
                                     -0x1.bdc81c4db3134p-44,
                                     0x1.badba7fbb3d2p-46,
                                     0x1.a4de3424a2624p-44,
                                     -0x1.a3c89a2cf3516p-44,
                                     0};
  static constexpr double terms[] = {
      -0x1.71547652b82fep-1, 0x1.ec709dc3a0b0dp-2,  -0x1.71547652be195p-2,
      0x1.2776c50365c65p-2,  -0x1.ec709c3912363p-3, 0x1.a617f7efef7a8p-3,
      -0x1.7162613551d7bp-3, 0x1.476e39bd44484p-3,  -0x1.054d67f79d248p-3};
};
struct Decimal {
  static constexpr double two = 0x1.34413509f7p-2, two_low = 0x1.3fde623e2566bp-43;
  static constexpr double scale = 0x1.bcb7b1526e50ep-2, scale_low = 0x1.95355baaafad3p-57;
  static constexpr double high[16] = {0,
                                      0x1.3faf7c663p-5,
                                      0x1.0585283764p-4,
                                      0x1.605735ee98p-4,
                                      0x1.b721cd1714p-4,
                                      0x1.0484e4942ap-3,
                                      0x1.2f7301cf4ep-3,
                                      0x1.576e3b0bdep-3,
                                      -0x1.d91d5866acp-4,
                                      -0x1.927e64181p-4,
                                      -0x1.4eb812997cp-4,
                                      -0x1.0e3d29d81p-4,
                                      -0x1.96aaacffp-5,
                                      -0x1.25502c0fcp-5,
                                      -0x1.60753003bp-6,
                                      0};
  static constexpr double low[16] = {0,
                                     0x1.83662f181f53fp-47,
                                     0x1.77c3e779b9fcfp-48,
                                     0x1.7c3cf23a17d9fp-46,
                                     0x1.7e295f660b9dap-44,
                                     0x1.4867cc62a8c08p-44,
                                     0x1.0f5c70d1a6341p-44,
                                     0x1.4e036062e2e73p-48,
                                     0x1.66473a1327abcp-44,
                                     0x1.0e034db19292ep-45,
                                     -0x1.bc74d0b95527p-45,
                                     -0x1.65e62559618f2p-44,
                                     0x1.862239186139bp-44,
                                     -0x1.8a5c00ed6bef7p-44,
                                     0x1.ac42915db7ec8p-44,
                                     0};
  static constexpr double terms[] = {
      -0x1.bcb7b1526e50ep-3, 0x1.287a7636f479fp-3,  -0x1.bcb7b152756f4p-4,
      0x1.63c6276734124p-4,  -0x1.287a754968843p-4, 0x1.fc4059d605807p-5,
      -0x1.bcc8737694e37p-5, 0x1.8a44044af0c16p-5,  -0x1.3aa3afe081eebp-5};
};

// log_b(x), of a reduced argument r that is to belong to the parts of x.
template <class Base>
TESSERA_INLINE_512 D log_of_parts(const PartsD& p, D r) {
  const D r2 = r * r;
  D rest = in_table(Base::low, p.cell);
  if constexpr (Base::two_low != 0) rest = fma(p.k, all(Base::two_low), rest);
  if constexpr (Base::scale_low != 0) rest = fma(r, all(Base::scale_low), rest);
  rest = fma(r2, series(Base::terms, r, r2), rest);
  // Exact; the larger of the two, or zero.
  const D sum = fma(p.k, all(Base::two), in_table(Base::high, p.cell));
  if constexpr (Base::scale == 1)
    return sum + (r + rest);
  else
    return sum + fma(r, all(Base::scale), rest);
}

template <class Base>
struct Log {
  TESSERA_INLINE_512 static D of(D x) {
    const PartsD p = parts(x);
    return log_of_parts<Base>(p, _mm512_fmsub_pd(p.m, in_table(inverse, p.cell), all(1.)));
  }
};

struct Log1p {
  TESSERA_INLINE_512 static D of(D x) {
    const D one = all(1.), u = one + x, added = u - one;
    const D lost = (one - (u - added)) + (x - added);
    const PartsD p = parts(u);
    const D by = in_table(inverse, p.cell), r = _mm512_fmsub_pd(p.m, by, one);
    constexpr int zeros_infinities_nans = 0x9f;
    const auto usual = static_cast<__mmask8>(~_mm512_fpclass_pd_mask(u, zeros_infinities_nans));
    const D share = _mm512_maskz_scalef_pd(usual, lost, _mm512_setzero_pd() - p.k);
    const D y = log_of_parts<Natural>(p, fma(share, by, r));
    const __mmask8 zero = _mm512_cmp_pd_mask(x, _mm512_setzero_pd(), _CMP_EQ_OQ);
    return _mm512_mask_mov_pd(y, zero, x);  // with its sign
  }
};

struct LogF {
  static constexpr float terms[] = {-0.5f, 0x1.555558p-2f, -0x1.00032ep-2f, 0x1.99b49p-3f,
                                    -0x1.40061p-3f};
  static constexpr float ln[16] = {0,
                                   0x1.700d3p-4f,
                                   0x1.2d161p-3f,
                                   0x1.95a5aep-3f,
                                   0x1.f991c6p-3f,
                                   0x1.2bef08p-2f,
                                   0x1.5d5bdep-2f,
                                   0x1.8b639ap-2f,
                                   -0x1.1058cp-2f,
                                   -0x1.cf6354p-3f,
                                   -0x1.815c0ap-3f,
                                   -0x1.371fc2p-3f,
                                   -0x1.d4313ep-4f,
                                   -0x1.51b074p-4f,
                                   -0x1.95c83p-5f,
                                   0};
  TESSERA_INLINE_512 static S of(S x) {
    const S m = _mm512_getmant_ps(x, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_nan);
    const S k = _mm512_getexp_ps(x) - _mm512_getexp_ps(m);
    const __m512i cell = _mm512_srli_epi32(_mm512_castps_si512(m), 19);
    const S r = _mm512_fmsub_ps(m, in_table(inverse_f, cell), all(1.f)), r2 = r * r;
    const S rest = fma(r2, series(terms, r, r2), k * all(0x1.7f7d1cp-20f));
    return fma(k, all(0x1.62e4p-1f), in_table(ln, cell)) + (r + rest);
  }
};

// As quick::exp, to the last bit. What is brought between limits overflows or vanishes as it is
// scaled, which rounds once; a NaN stays.
struct Exp {
  using E = quick::Exponential<double>;
  using F = quick::Format<double>;
  TESSERA_INLINE_512 static D between(double low, double high, D x) {
    return _mm512_min_pd(all(high), _mm512_max_pd(all(low), x));
  }
  TESSERA_INLINE_512 static D power(D n, D r) {
    const D r2 = r * r;
    return _mm512_scalef_pd(all(1.) + fma(r2, series(E::terms, r, r2), r), n);
  }
  TESSERA_INLINE_512 static D of(D x) {
    const D bounded = between(E::underflow, E::overflow, x), whole = all(F::to_integer);
    const D n = fma(bounded, all(E::log2e), whole) - whole;
    const D high = _mm512_fnmadd_pd(n, all(F::ln2_high), bounded);
    return power(n, _mm512_fnmadd_pd(n, all(F::ln2_low), high));
  }
};
struct Exp2 : Exp {
  TESSERA_INLINE_512 static D of(D x) {
    const D bounded = between(E::underflow_2, E::overflow_2, x), whole = all(F::to_integer);
    const D n = (bounded + whole) - whole;
    return power(n, (bounded - n) * all(E::ln2));
  }
};

// By e = (exp(-2 |x|) - 1) / 2, which is nearly -1/2 where its reduced argument has lost bits.
struct TanhF {
  // e = r^2 terms(r) - r
  static constexpr float terms[] = {1.f, -0x1.5554dcp-1f, 0x1.55551ap-2f, -0x1.120b9p-3f,
                                    0x1.6d112cp-5f};
  TESSERA_INLINE_512 static S of(S x) {
    const __m512i sign = _mm512_set1_epi32(std::numeric_limits<int>::min());
    const __m512i xi = _mm512_castps_si512(x);
    const S size = _mm512_castsi512_ps(_mm512_andnot_epi32(sign, xi));
    const S bounded = _mm512_min_ps(all(20.f), size);  // a NaN stays
    // 2^n from the lowest bits of n + 127 + 3 * 2^22.
    const S whole = all(0x1.8p23f + 127), shifted = fma(bounded, all(-0x1.715476p1f), whole);
    const S power = _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(shifted), 23));
    const S r = fma(shifted - whole, all(0x1.62e43p-2f), bounded), r2 = r * r;
    const S part = _mm512_fmsub_ps(r2, series(terms, r, r2), r);
    const S e = fma(power, part, fma(power, all(0.5f), all(-0.5f))), y = e / (e + all(1.f));
    // The size of y with the sign of x.
    return _mm512_castsi512_ps(_mm512_ternarylogic_epi32(sign, xi, _mm512_castps_si512(y), 0xca));
  }
};

struct Cbrt {
  // Of the inverse of the root of 1 <= m < 2, to 2^-11.
  static constexpr double terms[] = {0x1.89aaa824baf04p0, -0x1.9a40a90fa4facp-1,
                                     0x1.3f54e3e89a473p-2, -0x1.8e66e7b39675p-5};
  // 2^(-j / 3) for j = 0, 1 and, at the end, -1.
  static constexpr double turns[8] = {1, 0x1.965fea53d6e3dp-1, 0, 0, 0, 0, 0, 0x1.428a2f98d728bp0};
  TESSERA_INLINE_512 static D of(D x) {
    const D whole = all(0x1.8p52), third = all(1. / 3);
    const D m = _mm512_getmant_pd(x, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_zero);
    const D e = _mm512_getexp_pd(x), k = fma(e, third, whole) - whole;
    const D j = _mm512_fnmadd_pd(k, all(3.), e), a = _mm512_scalef_pd(m, j);
    const D turn = _mm512_permutexvar_pd(_mm512_castpd_si512(j + whole), _mm512_loadu_pd(turns));
    const D guess = turn * series(terms, m, m * m);
    const D h = _mm512_fnmadd_pd(a * guess, guess * guess, all(1.));
    const D i = fma(guess * h, fma(h, all(2. / 9), third), guess), i2 = i * i, root = a * i2;
    // A step of Newton's method with the cube in two parts.
    const D square = root * root, square_low = _mm512_fmsub_pd(root, root, square);
    const D missing = _mm512_fnmadd_pd(square_low, root, _mm512_fnmadd_pd(square, root, a));
    const D y = _mm512_scalef_pd(fma(missing, i2 * third, root), k);
    const __m512i sign = _mm512_set1_epi64(std::numeric_limits<i64>::min());
    const D signed_y = _mm512_castsi512_pd(
        _mm512_ternarylogic_epi64(sign, _mm512_castpd_si512(x), _mm512_castpd_si512(y), 0xca));
    constexpr int zeros_infinities_nans = 0x9f;
    return _mm512_mask_mov_pd(signed_y, _mm512_fpclass_pd_mask(x, zeros_infinities_nans), x);
  }
};

// log2 of a positive number in two parts, to 2^-63 of it.
TESSERA_INLINE_512 TwoD log2_in_parts(D x) {
  // log2(1 + r) = (r - r^2 / 2) / ln 2 + r^3 terms(r)
  static constexpr double terms[] = {
      0x1.ec709dc3a03fdp-2, -0x1.71547652b8308p-2, 0x1.2776c50efad03p-2, -0x1.ec709dc389f7cp-3,
      0x1.a6176284afa45p-3, -0x1.71547587f3cf8p-3, 0x1.484bcea291255p-3, -0x1.27830813315e4p-3,
      0x1.0b8fdd9e70b24p-3, -0x1.acb8d851cab68p-4};
  const PartsD p = parts(x);
  const D by = in_table(inverse, p.cell), product = p.m * by;
  const D r = product - all(1.), r_low = _mm512_fmsub_pd(p.m, by, product);
  const D r2 = r * r, half = all(0.5) * r2, u = r - half;
  // What r - r^2 / 2 lost: in the difference, in the square, and r_low / (1 + r).
  D u_low = (r - u) - half;
  u_low = _mm512_fnmadd_pd(all(0.5), _mm512_fmsub_pd(r, r, r2), u_low);
  u_low = u_low + _mm512_fnmadd_pd(r - r2, r_low, r_low);
  const D scale = all(Binary::scale), log = u * scale;
  D log_low = _mm512_fmsub_pd(u, scale, log) + in_table(Binary::low, p.cell);
  log_low = fma(u_low, scale, fma(u, all(Binary::scale_low), log_low));
  log_low = fma(r * r2, series(terms, r, r2), log_low);
  const D sum = p.k + in_table(Binary::high, p.cell), first = sum + log;
  const D rest = log_low + ((sum - first) + log), high = first + rest;
  return {high, (first - high) + rest};
}

// |x|^y where quick::is_power takes the arguments.
TESSERA_INLINE_512 D power_of_size(D x, D y) {
  // 2^f = 1 + f ln 2 + f^2 terms(f) for |f| <= 1 / 32, and 2^(i / 16) in two parts.
  static constexpr double terms[] = {0x1.ebfbdff82c59p-3,   0x1.c6b08d704a0cp-5,
                                     0x1.3b2ab6fb339e8p-7,  0x1.5d87fe7860a6bp-10,
                                     0x1.430a2e7a2ed15p-13, 0x1.ffcd59b33b2a8p-17};
  static constexpr double roots[16] = {0x1p0,
                                       0x1.0b5586cf9890fp0,
                                       0x1.172b83c7d517bp0,
                                       0x1.2387a6e756238p0,
                                       0x1.306fe0a31b715p0,
                                       0x1.3dea64c123422p0,
                                       0x1.4bfdad5362a27p0,
                                       0x1.5ab07dd485429p0,
                                       0x1.6a09e667f3bcdp0,
                                       0x1.7a11473eb0187p0,
                                       0x1.8ace5422aa0dbp0,
                                       0x1.9c49182a3f09p0,
                                       0x1.ae89f995ad3adp0,
                                       0x1.c199bdd85529cp0,
                                       0x1.d5818dcfba487p0,
                                       0x1.ea4afa2a490dap0};
  static constexpr double roots_low[16] = {0,
                                           0x1.8a62e4adc610bp-54,
                                           -0x1.19041b9d78a76p-55,
                                           0x1.9b07eb6c70573p-54,
                                           0x1.6f46ad23182e4p-55,
                                           0x1.ada0911f09ebcp-55,
                                           0x1.d4397afec42e2p-56,
                                           0x1.6324c054647adp-54,
                                           -0x1.bdd3413b26456p-54,
                                           -0x1.41577ee04992fp-55,
                                           0x1.6e9f156864b27p-54,
                                           0x1.c7c46b071f2bep-56,
                                           0x1.7a1cd345dcc81p-54,
                                           0x1.11065895048ddp-55,
                                           0x1.2ed02d75b3707p-55,
                                           -0x1.e9c23179c2893p-54};
  const TwoD log = log2_in_parts(x);
  const D exponent = y * log.high;
  const D exponent_low = fma(y, log.low, _mm512_fmsub_pd(y, log.high, exponent));
  const D sixteenths = all(0x1.8p48), shifted = exponent + sixteenths, n = shifted - sixteenths;
  const D f = (exponent - n) + exponent_low;
  const __m512i cell = _mm512_castpd_si512(shifted);
  const D grown = fma(f * f, series(terms, f, f * f), f * all(quick::Exponential<double>::ln2));
  const D root = in_table(roots, cell);
  const D power = root + fma(root, grown, in_table(roots_low, cell));
  const D y_scaled = _mm512_scalef_pd(power, n);
  const D infinite = all(std::numeric_limits<double>::infinity());
  const __mmask8 above = _mm512_cmp_pd_mask(exponent, all(1025.), _CMP_GT_OQ);
  const __mmask8 seen = _mm512_cmp_pd_mask(exponent, all(-1076.), _CMP_GE_OQ);
  return _mm512_mask_mov_pd(_mm512_maskz_mov_pd(seen, y_scaled), above, infinite);
}

// Of the lanes with a negative base: the sign of an odd power, NaN if y is not an integer.
TESSERA_INLINE_512 D power_of_negative(D power, D y, __mmask8 below) {
  const D half = all(0.5) * y;
  const __mmask8 whole = _mm512_cmp_pd_mask(_mm512_roundscale_pd(y, 8), y, _CMP_EQ_OQ);
  const __mmask8 even = _mm512_cmp_pd_mask(_mm512_roundscale_pd(half, 8), half, _CMP_EQ_OQ);
  const D turned = _mm512_mask_xor_pd(power, static_cast<__mmask8>(below & ~even), power, all(-0.));
  return _mm512_mask_mov_pd(turned, static_cast<__mmask8>(below & ~whole),
                            all(std::numeric_limits<double>::quiet_NaN()));
}

// Lanes in `rare` go through the C library.
TESSERA_512 [[gnu::noinline]] D repaired(D z, D x, D y, unsigned rare) {
  alignas(64) double base[8], exponent[8], power[8];
  _mm512_store_pd(base, x);
  _mm512_store_pd(exponent, y);
  _mm512_store_pd(power, z);
  for (int i = 0; i < 8; ++i)
    if (rare >> i & 1) power[i] = std::pow(base[i], exponent[i]);
  return _mm512_load_pd(power);
}

TESSERA_INLINE_512 D power(D x, D y) {
  const D size = _mm512_abs_pd(x), largest = all(std::numeric_limits<double>::max());
  const __mmask8 taken = _mm512_mask_cmp_pd_mask(
      _mm512_mask_cmp_pd_mask(_mm512_cmp_pd_mask(size, _mm512_setzero_pd(), _CMP_GT_OQ), size,
                              largest, _CMP_LE_OQ),
      _mm512_abs_pd(y), all(0x1p50), _CMP_LE_OQ);
  D z = power_of_size(size, y);
  const __mmask8 below = _mm512_movepi64_mask(_mm512_castpd_si512(x));
  if (below) z = power_of_negative(z, y, below);
  return taken == 0xff ? z : repaired(z, x, y, static_cast<unsigned>(taken ^ 0xff));
}

// F::of for n numbers; the last few in the first lanes of a register.
template <class F>
TESSERA_512 void each(const double* x, double* y, i64 n) {
  i64 i = 0;
  for (; i + 8 <= n; i += 8) _mm512_storeu_pd(y + i, F::of(_mm512_loadu_pd(x + i)));
  if (i == n) return;
  const auto last = static_cast<__mmask8>((1u << (n - i)) - 1);
  _mm512_mask_storeu_pd(y + i, last, F::of(_mm512_maskz_loadu_pd(last, x + i)));
}
template <class F>
TESSERA_512 void each(const float* x, float* y, i64 n) {
  i64 i = 0;
  for (; i + 16 <= n; i += 16) _mm512_storeu_ps(y + i, F::of(_mm512_loadu_ps(x + i)));
  if (i == n) return;
  const auto last = static_cast<__mmask16>((1u << (n - i)) - 1);
  _mm512_mask_storeu_ps(y + i, last, F::of(_mm512_maskz_loadu_ps(last, x + i)));
}

}  // namespace

void log(const double* x, double* y, i64 n) { each<Log<Natural>>(x, y, n); }
void log(const float* x, float* y, i64 n) { each<LogF>(x, y, n); }
void log2(const double* x, double* y, i64 n) { each<Log<Binary>>(x, y, n); }
void log10(const double* x, double* y, i64 n) { each<Log<Decimal>>(x, y, n); }
void log1p(const double* x, double* y, i64 n) { each<Log1p>(x, y, n); }
void exp(const double* x, double* y, i64 n) { each<Exp>(x, y, n); }
void exp2(const double* x, double* y, i64 n) { each<Exp2>(x, y, n); }
void tanh(const float* x, float* y, i64 n) { each<TanhF>(x, y, n); }
void cbrt(const double* x, double* y, i64 n) { each<Cbrt>(x, y, n); }

TESSERA_512 void pow(const double* x, const double* y, double* z, i64 n, unsigned scalars) {
  // One is a power of every number: lanes beyond the end are never repaired.
  const D ones = all(1.), x_all = scalars & 1 && n ? all(*x) : ones,
          y_all = scalars & 2 && n ? all(*y) : ones;
  for (i64 i = 0; i < n; i += 8) {
    const auto some = static_cast<__mmask8>(n - i >= 8 ? 0xff : (1u << (n - i)) - 1);
    const D a = scalars & 1 ? x_all : _mm512_mask_loadu_pd(ones, some, x + i);
    const D b = scalars & 2 ? y_all : _mm512_mask_loadu_pd(ones, some, y + i);
    _mm512_mask_storeu_pd(z + i, some, power(a, b));
  }
}

}  // namespace tessera::avx512

#pragma GCC diagnostic pop

#endif
