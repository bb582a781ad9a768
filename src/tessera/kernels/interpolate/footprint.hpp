// SPDX-License-Identifier: Apache-2.0
#pragma once
// The taps of one point as rows in vector registers, for kernels whose weights are polynomials: the
// width is known to the compiler. Private to the cpu's kernel.
//   Footprint<float, 6> f;   if (f.find(state, shape, pieces, loc)) y = read_footprint<c64>(f, grid);

#include "tessera/kernels/interpolate/spread_cpu.hpp"
#include "tessera/kernels/register.hpp"

namespace tessera::spread {

// Numbers in vector registers: of 16 bytes, and of 32 for double precision on x86-64, where a row has
// twice as many. Neither loads nor stores ask for aligned addresses.
template <class R>
struct Lanes {
#if defined(__x86_64__)
  static constexpr int bytes = sizeof(R) == 8 ? 32 : 16;
#else
  static constexpr int bytes = 16;
#endif
  static constexpr int count = bytes / sizeof(R);
  using Vector = Register<R, bytes>;
  TESSERA_INLINE static Vector load(const R* p) { return load_register<bytes>(p); }
  TESSERA_INLINE static void store(R* p, const Vector& v) { store_register<R, bytes>(p, v); }
};

// The weights of a point's neighbours along its axes.
template <class R, int W>
struct AxisWeights {
  static constexpr int lanes = Lanes<R>::count, vectors = (W + lanes - 1) / lanes;
  static_assert(vectors * lanes <= most_piecewise);  // coefficients beyond the width are zeros
  R of[3][vectors * lanes];

  // Axes from 3 - Axes on; `fraction` as PiecewiseKernel has it. All polynomials are evaluated at
  // once, so that none waits for the product before.
  template <int Axes>
  [[gnu::always_inline]] void find(const PiecewiseKernel<R>& k, const double* fraction) {
    using L = Lanes<R>;
    typename L::Vector v[Axes][vectors];
    R t[Axes];
    for (int a = 0; a < Axes; ++a) {
      t[a] = static_cast<R>(2 * fraction[a] - 1);
      for (int n = 0; n < vectors; ++n) v[a][n] = L::load(&k.coefficient[0][n * lanes]);
    }
    for (int d = 1; d <= k.degree; ++d)
#pragma GCC unroll 8
      for (int n = 0; n < vectors; ++n) {
        const typename L::Vector c = L::load(&k.coefficient[d][n * lanes]);
#pragma GCC unroll 3
        for (int a = 0; a < Axes; ++a) v[a][n] = v[a][n] * t[a] + c;
      }
    for (int a = 0; a < Axes; ++a)
      for (int n = 0; n < vectors; ++n) L::store(&of[3 - Axes + a][n * lanes], v[a][n]);
  }
};

// The footprint of one point: rows of W taps, W of them on a plane, W planes in a volume.
template <class R, int W>
struct Footprint {
  int planes = 1;
  bool single_row = false;
  i64 row_at[W], plane_at[W];  // row_at counts from the grid's first element
  AxisWeights<R, W> weights;
  R along[2 * W];  // weights within a row, each twice: for real and imaginary parts

  // False: the point goes tap by tap.
  [[gnu::always_inline]] bool find(const SpreadState& s, const SpreadShape<R>& shape,
                                   const PiecewiseKernel<R>& k, const double* loc) {
    const int axes = shape.axes;
    double fraction[3] = {};
    i64 first[3] = {};
    for (int a = 0; a < axes; ++a) {
      const double edge = loc[a] - W / 2.0, at = std::ceil(edge);
      fraction[a] = at - edge;
      first[a] = static_cast<i64>(at);
      if (fraction[a] <= 0) return false;
    }
    const i64 row = first[axes - 1];
    if (row < 0 || row + W > shape.size[2]) return false;
    if (axes == 1) {
      single_row = true;
      row_at[0] = row;
      weights.template find<1>(k, fraction);
    } else if (axes == 2) {
      if (!taps(shape, 1, first[0], s.stride[1], row, row_at)) return false;
      weights.template find<2>(k, fraction);
    } else {
      if (!taps(shape, 0, first[0], s.stride[0], 0, plane_at)) return false;
      if (!taps(shape, 1, first[1], s.stride[1], row, row_at)) return false;
      planes = W;
      weights.template find<3>(k, fraction);
    }
    for (int t = 0; t < W; ++t) along[2 * t] = along[2 * t + 1] = weights.of[2][t];
    return true;
  }
  // Weights of the rows on plane i.
  [[gnu::always_inline]] const R* row_weights(int i, R* room) const {
    if (planes == 1) return weights.of[1];
    for (int j = 0; j < AxisWeights<R, W>::vectors * Lanes<R>::count; ++j)
      room[j] = weights.of[1][j] * weights.of[0][i];
    return room;
  }
  i64 plane(int i) const { return planes == 1 ? 0 : plane_at[i]; }

 private:
  // Where neighbours along an axis lie, counted from `start`; around the end where it repeats.
  [[gnu::always_inline]] static bool taps(const SpreadShape<R>& shape, int axis, i64 first,
                                          i64 stride, i64 start, i64* at) {
    const i64 n = shape.size[axis];
    for (int t = 0; t < W; ++t) at[t] = (first + t) * stride + start;
    if (first >= 0 && first + W <= n) return true;
    if (!shape.circular || n < W) return false;
    for (int t = 0; t < W; ++t)
      at[t] += first + t < 0 ? n * stride : first + t >= n ? -n * stride : 0;
    return true;
  }
};

// A row of W complex numbers in vector registers, the last one half full where that is what is left.
template <class R, int W>
struct ComplexRow {
  using L = Lanes<R>;
  static constexpr int lanes = L::count, full = 2 * W / lanes, half = 2 * W % lanes;
  typedef R Half __attribute__((vector_size(2 * sizeof(R))));
  typedef R LoadedHalf __attribute__((vector_size(2 * sizeof(R)), aligned(sizeof(R)), may_alias));
  typename L::Vector v[full] = {};
  Half rest = {};

  // value times each of the weights, which are there twice
  [[gnu::always_inline]] void spread(R re, R im, const R* twice) {
    typename L::Vector value;
    for (int k = 0; k < lanes; k += 2) {
      value[k] = re;
      value[k + 1] = im;
    }
#pragma GCC unroll 16
    for (int k = 0; k < full; ++k) v[k] = L::load(twice + k * lanes) * value;
    if constexpr (half != 0) rest = last(twice) * Half{re, im};
  }
  // The sum of the numbers times each of the weights, which are there twice.
  template <class T>
  [[gnu::always_inline]] T weighed(const R* twice) const {
    typename L::Vector sum = v[0] * L::load(twice);
#pragma GCC unroll 16
    for (int k = 1; k < full; ++k) sum += v[k] * L::load(twice + k * lanes);
    R re = sum[0], im = sum[1];
    if constexpr (lanes == 4) {
      re += sum[2];
      im += sum[3];
    }
    if constexpr (half != 0) {
      const Half tail = rest * last(twice);
      re += tail[0];
      im += tail[1];
    }
    return T(re, im);
  }
  [[gnu::always_inline]] void add(const R* from, R w) {
#pragma GCC unroll 16
    for (int k = 0; k < full; ++k) v[k] += L::load(from + k * lanes) * w;
    if constexpr (half != 0) rest += last(from) * w;
  }
  [[gnu::always_inline]] void add(const ComplexRow& other) {
#pragma GCC unroll 16
    for (int k = 0; k < full; ++k) v[k] += other.v[k];
    if constexpr (half != 0) rest += other.rest;
  }
  [[gnu::always_inline]] void add_to(R* to, R w) const {
#pragma GCC unroll 16
    for (int k = 0; k < full; ++k) L::store(to + k * lanes, L::load(to + k * lanes) + v[k] * w);
    if constexpr (half != 0) *reinterpret_cast<LoadedHalf*>(to + full * lanes) += rest * w;
  }

 private:
  [[gnu::always_inline]] static Half last(const R* p) {
    return *reinterpret_cast<const LoadedHalf*>(p + full * lanes);
  }
};

// The sum over a footprint. Even and odd rows apart, so that none waits for the one before, where
// both have room in the registers.
template <class T, class R, int W>
[[gnu::always_inline]] inline T read_footprint(const Footprint<R, W>& f, const T* grid) {
  constexpr bool apart =
      ComplexRow<R, W>::full * Lanes<R>::bytes <= (Lanes<R>::bytes == 32 ? 192 : 160);
  const auto row = [&](i64 at) { return reinterpret_cast<const R*>(grid + at); };
  ComplexRow<R, W> even, odd;
  if (f.single_row) {
    even.add(row(f.row_at[0]), R(1));
    return even.template weighed<T>(f.along);
  }
  R room[most_piecewise];
  for (int i = 0; i < f.planes; ++i) {
    const R* w = f.row_weights(i, room);
    const i64 plane = f.plane(i);
    int j = 0;
    for (; j + 2 <= W; j += 2) {
      even.add(row(plane + f.row_at[j]), w[j]);
      (apart ? odd : even).add(row(plane + f.row_at[j + 1]), w[j + 1]);
    }
    if constexpr (W % 2 == 1) even.add(row(plane + f.row_at[j]), w[j]);
  }
  if constexpr (apart) even.add(odd);
  return even.template weighed<T>(f.along);
}

template <class T, class R, int W>
[[gnu::always_inline]] inline void add_footprint(const Footprint<R, W>& f, const T& value,
                                                 T* grid) {
  ComplexRow<R, W> row;
  row.spread(value.re, value.im, f.along);
  const auto to = [&](i64 at) { return reinterpret_cast<R*>(grid + at); };
  if (f.single_row) return row.add_to(to(f.row_at[0]), R(1));
  R room[most_piecewise];
  for (int i = 0; i < f.planes; ++i) {
    const R* w = f.row_weights(i, room);
    const i64 plane = f.plane(i);
    for (int j = 0; j < W; ++j) row.add_to(to(plane + f.row_at[j]), w[j]);
  }
}

}  // namespace tessera::spread
