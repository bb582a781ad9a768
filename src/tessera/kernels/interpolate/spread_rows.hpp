// SPDX-License-Identifier: Apache-2.0
#pragma once
// Interpolation and gridding a row of taps at a time, for kernels whose weights are polynomials:
// the width is known to the compiler, so that a row of complex numbers and its weights stay in
// vector registers. A point's weights are made once for all batches. Points that lie on a grid
// point (one tap more than the width) or whose row wraps around go tap by tap.
//   interpolate_rows<c64>(range);   grid_rows<c64>(range);

#include "tessera/kernels/interpolate/spread_cpu.hpp"
#include "tessera/kernels/wide.hpp"

namespace tessera::spread {

// The rows of one point's footprint: where they start on the grid, and their weights.
template <class R, int W>
struct FootprintRows {
  int count;
  i64 offset[W * W];
  R weight[W * W];
  R along[W];  // weights within a row

  // Neighbours along one axis. False: the point goes tap by tap.
  static inline bool taps(const SpreadShape<R>& shape, const PiecewiseKernel<R>& k, i64 stride,
                          int axis, double loc, R* w, i64* at) {
    const double edge = loc - W / 2.0, first = std::ceil(edge), fraction = first - edge;
    const i64 g = static_cast<i64>(first), n = shape.size[axis];
    const bool inside = g >= 0 && g + W <= n;
    if (fraction <= 0 || (!inside && (axis == 2 || !shape.circular || n < W))) return false;
    k.template weights<W>(fraction, w);
    for (int t = 0; t < W; ++t) at[t] = (g + t) * stride;
    if (inside) return true;
    for (int t = 0; t < W; ++t) at[t] += g + t < 0 ? n * stride : g + t >= n ? -n * stride : 0;
    return true;
  }

  inline bool find(const SpreadState& s, const SpreadShape<R>& shape, const PiecewiseKernel<R>& k,
                   const double* loc) {
    R x[W], y[W], z[W];
    i64 at[W], y_at[W], z_at[W];
    if (!taps(shape, k, 1, 2, loc[shape.axes - 1], x, at)) return false;
    for (int t = 0; t < W; ++t) along[t] = x[t];
    if (shape.axes == 1) {
      count = 1;
      offset[0] = at[0];
      weight[0] = R(1);
      return true;
    }
    if (!taps(shape, k, s.stride[1], 1, loc[shape.axes - 2], y, y_at)) return false;
    if (shape.axes == 2) {
      count = W;
      for (int j = 0; j < W; ++j) {
        offset[j] = y_at[j] + at[0];
        weight[j] = y[j];
      }
      return true;
    }
    if (!taps(shape, k, s.stride[0], 0, loc[0], z, z_at)) return false;
    count = W * W;
    for (int i = 0; i < W; ++i)
      for (int j = 0; j < W; ++j) {
        offset[i * W + j] = z_at[i] + y_at[j] + at[0];
        weight[i * W + j] = z[i] * y[j];
      }
    return true;
  }
};

// A row of W complex numbers in vector registers of 16 bytes, the last one half full where that is
// what is left. Neither loads nor stores ask for aligned addresses.
template <class R, int W>
struct ComplexRow {
  static constexpr int lanes = 16 / sizeof(R), full = 2 * W / lanes, half = 2 * W % lanes;
  typedef R Vector __attribute__((vector_size(16)));
  typedef R Loaded __attribute__((vector_size(16), aligned(sizeof(R)), may_alias));
  typedef R Half __attribute__((vector_size(8)));
  typedef R LoadedHalf __attribute__((vector_size(8), aligned(sizeof(R)), may_alias));
  Vector v[full] = {};
  Half rest = {};

  // value times each of the weights
  [[gnu::always_inline]] void spread(R re, R im, const R* weight) {
    R all[2 * W];
    for (int k = 0; k < W; ++k) {
      all[2 * k] = re * weight[k];
      all[2 * k + 1] = im * weight[k];
    }
    __builtin_memcpy(v, all, sizeof(v));
    if constexpr (half != 0) __builtin_memcpy(&rest, all + full * lanes, sizeof(rest));
  }
  // The sum of the numbers times each of the weights.
  template <class T>
  [[gnu::always_inline]] T weighed(const R* weight) const {
    R all[2 * W], re = 0, im = 0;
    __builtin_memcpy(all, v, sizeof(v));
    if constexpr (half != 0) __builtin_memcpy(all + full * lanes, &rest, sizeof(rest));
    for (int k = 0; k < W; ++k) {
      re += all[2 * k] * weight[k];
      im += all[2 * k + 1] * weight[k];
    }
    return T(re, im);
  }
  [[gnu::always_inline]] void add(const R* from, R w) {
#pragma GCC unroll 16
    for (int k = 0; k < full; ++k) v[k] += *reinterpret_cast<const Loaded*>(from + k * lanes) * w;
    if constexpr (half != 0) rest += *reinterpret_cast<const LoadedHalf*>(from + full * lanes) * w;
  }
  [[gnu::always_inline]] void add_to(R* to, R w) const {
#pragma GCC unroll 16
    for (int k = 0; k < full; ++k) *reinterpret_cast<Loaded*>(to + k * lanes) += v[k] * w;
    if constexpr (half != 0) *reinterpret_cast<LoadedHalf*>(to + full * lanes) += rest * w;
  }
};

// The sum over a footprint; even and odd rows apart, so that none waits for the one before.
template <class T, class R, int W>
inline T read_footprint(const FootprintRows<R, W>& rows, const T* grid) {
  ComplexRow<R, W> even, odd;
  int r = 0;
  for (; r + 2 <= rows.count; r += 2) {
    even.add(reinterpret_cast<const R*>(grid + rows.offset[r]), rows.weight[r]);
    odd.add(reinterpret_cast<const R*>(grid + rows.offset[r + 1]), rows.weight[r + 1]);
  }
  if (r < rows.count) even.add(reinterpret_cast<const R*>(grid + rows.offset[r]), rows.weight[r]);
  return even.template weighed<T>(rows.along) + odd.template weighed<T>(rows.along);
}

template <class T, class R, int W>
inline void add_footprint(const FootprintRows<R, W>& rows, const T& value, T* grid) {
  ComplexRow<R, W> row;
  row.spread(value.re, value.im, rows.along);
  for (int r = 0; r < rows.count; ++r)
    row.add_to(reinterpret_cast<R*>(grid + rows.offset[r]), rows.weight[r]);
}

// Values lie in the order of the caller's points, which may be anywhere: those of a point some way
// ahead are asked for early.
template <bool Written, class T>
[[gnu::always_inline]] inline void ask_for_values(const PointRange<T>& r, i64 i) {
  constexpr i64 ahead = 8;
  if (i + ahead >= r.end) return;
  const T* value = r.points + r.s->points.at(r.order[i + ahead]);
  for (i64 b = r.first_batch; b < r.first_batch + r.batches; ++b)
    __builtin_prefetch(value + r.s->points_batch[static_cast<std::size_t>(b)], Written ? 1 : 0);
}

template <class T, int W>
inline void interpolate_range(const PointRange<T>& r) {
  using R = typename RealOf<T>::type;
  const SpreadState& s = *r.s;
  const SpreadShape<R>& shape = s.shape<R>();
  const PiecewiseKernel<R>& pieces = s.pieces<R>();
  FootprintRows<R, W> rows;
  for (i64 i = r.begin; i < r.end; ++i) {
    ask_for_values<true>(r, i);
    if (!rows.find(s, shape, pieces, r.locs + i * shape.axes)) {
      interpolate_point(r, i);
      continue;
    }
    T* to = r.points + s.points.at(r.order[i]);
    for (i64 b = r.first_batch; b < r.first_batch + r.batches; ++b)
      to[s.points_batch[static_cast<std::size_t>(b)]] =
          read_footprint<T, R, W>(rows, r.grid + s.grid_batch[static_cast<std::size_t>(b)]);
  }
}

template <class T, int W>
inline void grid_range(const PointRange<T>& r) {
  using R = typename RealOf<T>::type;
  const SpreadState& s = *r.s;
  const SpreadShape<R>& shape = s.shape<R>();
  const PiecewiseKernel<R>& pieces = s.pieces<R>();
  FootprintRows<R, W> rows;
  for (i64 i = r.begin; i < r.end; ++i) {
    ask_for_values<false>(r, i);
    if (!rows.find(s, shape, pieces, r.locs + i * shape.axes)) {
      grid_point(r, i);
      continue;
    }
    const T* from = r.points + s.points.at(r.order[i]);
    for (i64 b = r.first_batch; b < r.first_batch + r.batches; ++b)
      add_footprint<T, R, W>(rows, from[s.points_batch[static_cast<std::size_t>(b)]],
                             r.grid + s.grid_batch[static_cast<std::size_t>(b)]);
  }
}

template <class T, int W = least_piecewise>
void interpolate_width(const PointRange<T>& r, int width) {
  if constexpr (W <= most_piecewise) {
    if (width != W) return interpolate_width<T, W + 1>(r, width);
    wide([=] { interpolate_range<T, W>(r); });
  }
}
template <class T, int W = least_piecewise>
void grid_width(const PointRange<T>& r, int width) {
  if constexpr (W <= most_piecewise) {
    if (width != W) return grid_width<T, W + 1>(r, width);
    wide([=] { grid_range<T, W>(r); });
  }
}

template <class T>
void interpolate_rows(const PointRange<T>& r) {
  interpolate_width<T>(r, r.s->template pieces<typename RealOf<T>::type>().width);
}
template <class T>
void grid_rows(const PointRange<T>& r) {
  grid_width<T>(r, r.s->template pieces<typename RealOf<T>::type>().width);
}

}  // namespace tessera::spread
