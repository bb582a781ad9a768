// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/convolve/lines.hpp"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "tessera/base/tags.hpp"
#include "tessera/base/trace.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/register.hpp"
#include "tessera/kernels/wide.hpp"

namespace tessera {
namespace {

// Longer vectors are matrices of blocks, whose products are quicker.
constexpr i64 few_taps = 64, few_products = i64{1} << 17;

// Integers wrap; signed overflow would be undefined, also that of short ones, which are ints when
// they are multiplied.
template <class T>
struct SumOf {
  using type = T;
};
template <class T>
requires std::is_integral_v<T>
struct SumOf<T> {
  using type = std::conditional_t<(sizeof(T) < 4), std::uint32_t, std::make_unsigned_t<T>>;
};

template <class T>
struct Taps {
  using Sum = typename SumOf<T>::type;
  const T* signal;
  i64 n;  // of the signal
  std::vector<Sum> tap;
  i64 before;  // how far the first window reaches beyond the beginning

  i64 many() const { return static_cast<i64>(tap.size()); }
};

// Sums of 128 bytes side by side, over all taps. Numbers that are added as they are may be the
// compiler's own vectors of some bytes: of plain loops g++ takes the one over the taps into
// registers of x86-64, and shuffles. Longer vectors than registers would be kept in memory.
template <class T>
inline constexpr bool adds_as_it_is = std::is_arithmetic_v<T> &&
                                      sizeof(T) == sizeof(typename SumOf<T>::type);
#if defined(__x86_64__)
int vector_bytes() {
  const Instructions host = host_instructions();
  return host == Instructions::avx512 ? 64 : host == Instructions::avx2 ? 32 : 0;
}
#else
constexpr int vector_bytes() { return 0; }
#endif

template <int bytes, class T, class Sum>
TESSERA_INLINE void window_sums(const T* from, const Sum* tap, i64 many, T* out) {
  if constexpr (bytes > 0 && adds_as_it_is<T>) {
    typedef Sum Vector __attribute__((vector_size(bytes)));
    typedef Sum InMemory __attribute__((vector_size(bytes), aligned(alignof(Sum)), may_alias));
    constexpr int registers = 128 / bytes;
    Vector sum[registers] = {};
    for (i64 k = 0; k < many; ++k)
#pragma GCC unroll 4
      for (int r = 0; r < registers; ++r)
        sum[r] += reinterpret_cast<const InMemory*>(from + k)[r] * tap[k];
#pragma GCC unroll 4
    for (int r = 0; r < registers; ++r) reinterpret_cast<InMemory*>(out)[r] = sum[r];
  } else {
    constexpr i64 width = 128 / sizeof(Sum);
    Sum sum[width] = {};
    for (i64 k = 0; k < many; ++k) {
      const Sum factor = tap[k];
      for (i64 j = 0; j < width; ++j) sum[j] += static_cast<Sum>(from[k + j]) * factor;
    }
    for (i64 j = 0; j < width; ++j) out[j] = static_cast<T>(sum[j]);
  }
}

// out[i] for windows that lie inside: their first element is signal[i - before].
template <class T>
void whole_windows(const Taps<T>& t, i64 begin, i64 end, T* out) {
  using Sum = typename Taps<T>::Sum;
  constexpr i64 width = 128 / sizeof(Sum);
  const T* const from = t.signal - t.before;
  const Sum* const tap = t.tap.data();
  const i64 many = t.many();
  const int bytes = adds_as_it_is<T> ? vector_bytes() : 0;
  wide([=] {
    i64 i = begin;
    if (bytes == 64)
      for (; i + width <= end; i += width) window_sums<64>(from + i, tap, many, out + i);
    else if (bytes == 32)
      for (; i + width <= end; i += width) window_sums<32>(from + i, tap, many, out + i);
    else
      for (; i + width <= end; i += width) window_sums<0>(from + i, tap, many, out + i);
    for (; i < end; ++i) {
      Sum sum{};
      for (i64 k = 0; k < many; ++k) sum += static_cast<Sum>(from[i + k]) * tap[k];
      out[i] = static_cast<T>(sum);
    }
  });
}

template <class T>
T cut_window(const Taps<T>& t, i64 i) {
  const i64 first = i - t.before, k0 = std::max<i64>(0, -first),
            k1 = std::min(t.many(), t.n - first);
  typename Taps<T>::Sum sum{};
  for (i64 k = k0; k < k1; ++k)
    sum += static_cast<typename Taps<T>::Sum>(t.signal[first + k]) *
           t.tap[static_cast<std::size_t>(k)];
  return static_cast<T>(sum);
}

template <class T>
void all_windows(const Taps<T>& t, i64 length, T* out) {
  // Windows [begin, end) lie inside.
  const i64 begin = std::min(t.before, length),
            end = std::max(begin, t.n - t.many() + 1 + t.before);
  for (i64 i = 0; i < begin; ++i) out[i] = cut_window(t, i);
  const i64 grain = std::max<i64>(1024, 65536 / t.many());
  parallel_for(end - begin, grain,
               [&](i64 first, i64 last) { whole_windows(t, begin + first, begin + last, out); });
  for (i64 i = end; i < length; ++i) out[i] = cut_window(t, i);
}

struct Pair {
  Array longer, shorter;
  bool exchanged = false;
};

// Sums of longer[n + k] taps[n]; `backwards`: the taps in reverse, `conjugate`: of each.
Array windows_of(const Pair& p, Overlap overlap, bool backwards, bool conjugate, const char* who) {
  const i64 m = p.shorter.size(), n = p.longer.size();
  const i64 before = overlap == Overlap::valid ? 0 : overlap == Overlap::same ? m / 2 : m - 1;
  const i64 behind = overlap == Overlap::valid  ? 0
                     : overlap == Overlap::same ? m - m / 2 - 1
                                                : m - 1;
  const i64 length = n - m + 1 + before + behind;
  const Array signal = p.longer.contiguous(), taps = p.shorter.contiguous(),
              out = empty_dense({length}, signal.dtype());
  signal.storage().wait();
  taps.storage().wait();
  dispatch<float, double, c64, c128, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t,
           std::int32_t, std::uint32_t, i64, std::uint64_t>(out.dtype(), who, [&]<class T>() {
    const T* const given = static_cast<const T*>(taps.data());
    Taps<T> t{static_cast<const T*>(signal.data()), n, {}, before};
    for (i64 k = 0; k < m; ++k) {
      T tap = given[backwards ? m - 1 - k : k];
      if constexpr (is_complex_v<T>)
        if (conjugate) tap = conj(tap);
      t.tap.push_back(static_cast<typename Taps<T>::Sum>(tap));
    }
    T* const to = static_cast<T*>(out.data());
    all_windows(t, length, to);
    if (p.exchanged) std::reverse(to, to + length);
  });
  count(Counter::launches);
  tag_launch(name(Kind::cpu), who, out.dtype());
  return out;
}

bool is_for_taps(const Array& a, const Array& v) {
  if (a.device() != cpu || v.device() != cpu || a.ndim() > 1 || v.ndim() > 1) return false;
  const DType t = promote(a.dtype(), v.dtype());
  if (!is_integer(t) && !is_complex(t) && t != DType::f32 && t != DType::f64) return false;
  const i64 m = std::min(a.size(), v.size()), n = std::max(a.size(), v.size());
  return m > 0 && (m <= few_taps || n <= few_products / m);
}

Pair by_length(const Array& a, const Array& v) {
  const DType t = promote(a.dtype(), v.dtype());
  const Array x = a.reshape({-1}).astype(t), y = v.reshape({-1}).astype(t);
  return y.size() <= x.size() ? Pair{x, y, false} : Pair{y, x, true};
}

}  // namespace

Array convolve_lines(const Array& a, const Array& v, Overlap overlap) {
  if (!is_for_taps(a, v)) return {};
  Pair p = by_length(a, v);
  p.exchanged = false;  // a convolution is the same either way
  return windows_of(p, overlap, true, false, "convolve");
}

Array correlate_lines(const Array& a, const Array& v, Overlap overlap) {
  if (!is_for_taps(a, v)) return {};
  const Pair p = by_length(a, v);
  // The signal would have to be conjugated.
  if (p.exchanged && is_complex(p.longer.dtype())) return {};
  return windows_of(p, overlap, false, true, "correlate");
}

}  // namespace tessera
