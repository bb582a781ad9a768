// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the cpu's interpolation and gridding share: the prepared state, and loops over a range of
// points. Points of any kernel go one tap at a time (interpolate_cpu.cpp); most points of a NUFFT go
// a row of taps at a time (spread_rows.hpp). Private to the cpu's kernel.

#include <memory>

#include "tessera/kernels/axis_indexer.hpp"
#include "tessera/kernels/interpolate/piecewise.hpp"
#include "tessera/kernels/interpolate/taps.hpp"

namespace tessera::spread {

struct SpreadState {
  InterpolateSpec spec;
  AxisIndexer points;
  Shape grid;
  i64 stride[3] = {0, 0, 0};                  // of the grid, volumes
  std::vector<i64> grid_batch, points_batch;  // offsets of each batch
  std::vector<std::vector<i64>> colours;      // tiles that do not touch each other
  i64 count = 0;
  bool by_rows = false;  // the kernel has polynomials, and taps of a row are neighbours in memory
  std::shared_ptr<const SpreadShape<float>> single;
  std::shared_ptr<const SpreadShape<double>> wide;
  std::shared_ptr<const PiecewiseKernel<float>> single_pieces;
  std::shared_ptr<const PiecewiseKernel<double>> wide_pieces;
  template <class R>
  const SpreadShape<R>& shape() const {
    if constexpr (std::is_same_v<R, float>)
      return *single;
    else
      return *wide;
  }
  template <class R>
  const PiecewiseKernel<R>& pieces() const {
    if constexpr (std::is_same_v<R, float>)
      return *single_pieces;
    else
      return *wide_pieces;
  }
};

// Points `begin` to `end`, in order of the tiles, of some batches.
template <class T>
struct PointRange {
  const SpreadState* s;
  T *grid, *points;  // one is read, the other written
  const double* locs;
  const i64* order;
  i64 begin, end, first_batch, batches;
};

// One point, tap by tap. Not inlined: they stand in every loop over rows for the points that those
// leave out.
template <class T>
void interpolate_point(const PointRange<T>& r, i64 i);
template <class T>
void grid_point(const PointRange<T>& r, i64 i);

// Ranges of points, for widths from least_piecewise to most_piecewise.
template <class T>
void interpolate_rows(const PointRange<T>& r);
template <class T>
void grid_rows(const PointRange<T>& r);

}  // namespace tessera::spread
