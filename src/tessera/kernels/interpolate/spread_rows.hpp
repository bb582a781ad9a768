// SPDX-License-Identifier: Apache-2.0
#pragma once
// Interpolation and gridding a row of taps at a time, for kernels whose weights are polynomials.
// Points that lie on a grid point (one tap more than the width) or whose row wraps around go tap by
// tap.
//   interpolate_rows<c64>(range);   grid_rows<c64>(range);

#include <algorithm>

#include "tessera/kernels/interpolate/footprint.hpp"
#include "tessera/kernels/wide.hpp"

namespace tessera::spread {

// Note [blocks]
// Points go in blocks: first the footprints of all of a block, then batch by batch its rows. The
// polynomials of one point do not wait for the rows of another, what a block touches of one batch
// stays in the nearest cache, and weights are made once for all batches. Values lie in the order of
// the caller's points, which may be anywhere in memory: those of a block are collected first, so
// that they are fetched side by side. Every element of the grid is summed in the order of the
// points, however they are cut into blocks.
template <class T, int W>
struct PointBlock {
  using R = typename RealOf<T>::type;
  static constexpr i64 most = 32;
  const PointRange<T>& r;
  i64 begin = 0, count = 0;
  i64 given[most];     // where the values are, without the batch
  bool by_rows[most];  // else tap by tap
  Footprint<R, W> footprint[most];

  explicit PointBlock(const PointRange<T>& range) : r(range) {}
  void find(i64 first) {
    const SpreadState& s = *r.s;
    const SpreadShape<R>& shape = s.shape<R>();
    const PiecewiseKernel<R>& pieces = s.pieces<R>();
    begin = first;
    count = std::min(most, r.end - first);
    for (i64 k = 0; k < count; ++k) given[k] = s.points.at(r.order[begin + k]);
    for (i64 k = 0; k < count; ++k)
      by_rows[k] = footprint[k].find(s, shape, pieces, r.locs + (begin + k) * shape.axes);
  }
  PointRange<T> of_batch(i64 b) const {
    PointRange<T> one = r;
    one.first_batch = b;
    one.batches = 1;
    return one;
  }
};

template <class T, int W>
inline void interpolate_range(const PointRange<T>& r) {
  using R = typename RealOf<T>::type;
  PointBlock<T, W> block(r);
  for (i64 begin = r.begin; begin < r.end; begin += block.count) {
    block.find(begin);
    for (i64 b = r.first_batch; b < r.first_batch + r.batches; ++b) {
      const T* grid = r.grid + r.s->grid_batch[static_cast<std::size_t>(b)];
      T* points = r.points + r.s->points_batch[static_cast<std::size_t>(b)];
      for (i64 k = 0; k < block.count; ++k)
        if (block.by_rows[k])
          points[block.given[k]] = read_footprint<T, R, W>(block.footprint[k], grid);
        else
          interpolate_point(block.of_batch(b), begin + k);
    }
  }
}

template <class T, int W>
inline void grid_range(const PointRange<T>& r) {
  using R = typename RealOf<T>::type;
  PointBlock<T, W> block(r);
  for (i64 begin = r.begin; begin < r.end; begin += block.count) {
    block.find(begin);
    for (i64 b = r.first_batch; b < r.first_batch + r.batches; ++b) {
      T* grid = r.grid + r.s->grid_batch[static_cast<std::size_t>(b)];
      const T* points = r.points + r.s->points_batch[static_cast<std::size_t>(b)];
      T value[PointBlock<T, W>::most];
      for (i64 k = 0; k < block.count; ++k) value[k] = points[block.given[k]];
      for (i64 k = 0; k < block.count; ++k)
        if (block.by_rows[k])
          add_footprint<T, R, W>(block.footprint[k], value[k], grid);
        else
          grid_point(block.of_batch(b), begin + k);
    }
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
