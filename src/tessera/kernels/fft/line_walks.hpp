// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the passes of a transform read and write their registers: columns or lines of the caller's,
// lines in lanes, buffers between passes, and buffers whose points meet the weight of a filter.
// walk(i, v, by): register v of point i, then of point i + by, ... Swap: parts in each other's
// place. Private to the cpu's FFT.
//   auto from = Source<float, 16, false>{x, 2 * step, 8}.walk(p, 0, m);   Split<float, 16> z = from.get();

#include <algorithm>
#include <type_traits>

#include "tessera/kernels/fft/split.hpp"

namespace tessera {

template <class R, int bytes, bool Swap>
struct Source {
  const R* at;
  i64 step, next;  // from point to point, from register to register
  struct Walk {
    const R* p;
    i64 by;
    TESSERA_INLINE Split<R, bytes> get() {
      const Split<R, bytes> z = load_split<bytes>(p);
      p += by;
      if constexpr (Swap)
        return swapped(z);
      else
        return z;
    }
  };
  TESSERA_INLINE Walk walk(i64 i, i64 v, i64 by) const {
    return {at + i * step + v * next, by * step};
  }
};
template <class R, int bytes, bool Swap>
struct Target {
  R* at;
  i64 step, next;
  R scale;
  struct Walk {
    R* p;
    i64 by;
    Register<R, bytes> scale;
    TESSERA_INLINE void put(const Split<R, bytes>& z) {
      const Split<R, bytes> s = scaled(z, scale);
      if constexpr (Swap)
        store_split(p, swapped(s));
      else
        store_split(p, s);
      p += by;
    }
  };
  TESSERA_INLINE Walk walk(i64 i, i64 v, i64 by) const {
    return {at + i * step + v * next, by * step, in_all_lanes<bytes>(scale)};
  }
};
// Dense lines, one in each lane: `distance` from line to line, of which there may be fewer than
// lanes (the last one fills the others, and its copies go nowhere). One register.
template <class R, int bytes, bool Swap>
struct LaneSource {
  const R* at;
  i64 distance, lines;
  struct Walk {
    const R* p[lanes<R, bytes>];
    i64 by;
    TESSERA_INLINE Split<R, bytes> get() {
      Register<R, bytes> re = {}, im = {};
#pragma GCC unroll 8
      for (int l = 0; l < lanes<R, bytes>; ++l) {
        re[l] = p[l][0];
        im[l] = p[l][1];
        p[l] += by;
      }
      if constexpr (Swap)
        return {im, re};
      else
        return {re, im};
    }
  };
  TESSERA_INLINE Walk walk(i64 i, i64, i64 by) const {
    Walk w;
#pragma GCC unroll 8
    for (int l = 0; l < lanes<R, bytes>; ++l)
      w.p[l] = at + std::min<i64>(l, lines - 1) * distance + 2 * i;
    w.by = 2 * by;
    return w;
  }
};
template <class R, int bytes, bool Swap>
struct LaneTarget {
  R* at;
  i64 distance, lines;
  R scale;
  struct Walk {
    R* p;
    i64 by, distance, lines;
    Register<R, bytes> scale;
    TESSERA_INLINE void put(const Split<R, bytes>& z) {
      Split<R, bytes> s = scaled(z, scale);
      if constexpr (Swap) s = swapped(s);
      R* q = p;
#pragma GCC unroll 8
      for (int l = 0; l < lanes<R, bytes>; ++l) {
        if (l >= lines) break;
        q[0] = s.re[l];
        q[1] = s.im[l];
        q += distance;
      }
      p += by;
    }
  };
  TESSERA_INLINE Walk walk(i64 i, i64, i64 by) const {
    return {at + 2 * i, 2 * by, distance, lines, in_all_lanes<bytes>(scale)};
  }
};
template <class R, int bytes>
struct Buffer {
  R* at;
  i64 step;
  struct Walk {
    R* p;
    i64 by;
    TESSERA_INLINE Split<R, bytes> get() {
      const Split<R, bytes> z = load_blocked<bytes>(p);
      p += by;
      return z;
    }
    TESSERA_INLINE void put(const Split<R, bytes>& z) {
      store_blocked(p, z);
      p += by;
    }
  };
  TESSERA_INLINE Walk walk(i64 i, i64 v, i64 by) const {
    return {at + i * step + v * 2 * lanes<R, bytes>, by * step};
  }
};
// A buffer whose points are multiplied by a weight on their way in, and turned for the way back:
// the transform that follows is the inverse, of swapped parts. After a backward transform they are
// swapped already: swapped(z) * w is swapped(z * conj(w)).
template <class R, int bytes, class W, bool Same>
struct Weighted {
  Buffer<R, bytes> buffer;
  const W* weight;
  i64 weight_step;
  R sign;  // of the weight's imaginary part
  struct Walk {
    typename Buffer<R, bytes>::Walk to;
    const W* w;
    i64 by;
    R sign;
    TESSERA_INLINE void put(const Split<R, bytes>& z) {
      if constexpr (std::is_same_v<W, R>) {
        const Register<R, bytes> factor = Same ? in_all_lanes<bytes>(*w) : load_in_order<bytes>(w);
        to.put(swapped(scaled(z, factor)));
      } else {
        Split<R, bytes> factor;
        if constexpr (Same)
          factor = split_number<bytes>(w->re, w->im);
        else
          factor = load_split<bytes>(reinterpret_cast<const R*>(w));
        factor.im *= sign;
        to.put(swapped(unfused_product(z, factor)));
      }
      w += by;
    }
  };
  TESSERA_INLINE Walk walk(i64 i, i64 v, i64 by) const {
    return {buffer.walk(i, v, by), weight + i * weight_step + (Same ? 0 : v * lanes<R, bytes>),
            by * weight_step, sign};
  }
};

}  // namespace tessera
