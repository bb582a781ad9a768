// SPDX-License-Identifier: Apache-2.0
#pragma once
// Between a regular grid of one to three axes and points that lie off it. Interpolation reads each
// point from the grid points within half a kernel width of it; gridding, its adjoint, adds each
// point to them. Points are sorted once, by tiles of the grid: neighbours are read together, and
// on the cpu every tile is written by one thread, in an order that does not depend on the threads.
//   GridPoints p = make_grid_points(locs, {64, 48}, {.width = {4.0}, .beta = 7.0});
//   Array y = interpolate(x, p);   Array z = interpolate_adjoint(y, p);

#include "tessera/array/array.hpp"
#include "tessera/kernels/kernel.hpp"

namespace tessera {

// kaiser_bessel: I0(beta sqrt(1 - u^2)), not normalised; spline: 1 - |u|; u in [-1, 1] is the
// distance in half widths, and both ends count.
enum class SpreadKind : std::uint8_t { kaiser_bessel, spline };

struct SpreadKernel {
  SmallVec<double, 3> width{4.0};  // in grid points; one for all axes, or one each
  SpreadKind kind = SpreadKind::kaiser_bessel;
  double beta = 1.0;
  int norm = 1;          // 1: product of the axes; 2: of the Euclidean distance
  bool circular = true;  // the grid repeats; else it ends, with zeros beyond
  // Times every Kaiser-Bessel function, so that products of wide ones stay in the range of single
  // precision; a power of two changes no digit.
  double scale = 1;
};
inline constexpr double max_spread_width = 62, max_spread_beta = 80;

// What locations count. Without an image: grid points from 0. With one: cycles of an image of these
// sizes, x of which lie at x n / image on an axis of n grid points, plus `zero` of the axis where
// that is given; those beyond image / 2 are those that are `image` lower, or, without `wrap`,
// refused.
struct Frequencies {
  Shape image{}, zero{};
  bool wrap = true;
};

// The points as kernels want them. A value: copies share the arrays.
struct TESSERA_API GridPoints {
  Shape grid;
  SpreadKernel kernel;  // with a width for each axis
  Array locs;           // float64 (count, axes), in order of the tiles
  Array order;          // int64: locs[i] belongs to point number order[i]
  Array starts;         // int64: where the points of each tile start, and the end
  i64 count() const { return order.shape(0); }
  Device device() const { return locs.device(); }
  GridPoints to(Device d) const;
};

// locs of shape (..., axes), numbered in row-major order; waits for them. ShapeError for other
// shapes, ArgumentError for widths, norms and locations that are not finite or refused. The text
// starts with `who`.
TESSERA_API GridPoints make_grid_points(const Array& locs, const Shape& grid,
                                        const SpreadKernel& kernel,
                                        std::string_view who = "interpolate",
                                        const Frequencies& of = {});
// Its two halves, for those who check now and sort when points are first used: what is refused, and
// the kernel with a width for each axis; and the sorting, on the device of the locations.
TESSERA_API SpreadKernel checked_points(const Array& locs, const Shape& grid,
                                        const SpreadKernel& kernel, std::string_view who,
                                        const Frequencies& of = {});
TESSERA_API GridPoints sorted_points(const Array& locs, const Shape& grid,
                                     const SpreadKernel& checked, const Frequencies& of = {});
// Of locations (..., axes): only that they are finite and not refused.
TESSERA_API void check_locations(const Array& locs, const Shape& grid, std::string_view who,
                                 const Frequencies& of = {});
// Where locations lie on a grid that repeats, in grid points from 0 on; float64, of their shape.
TESSERA_API Array grid_positions(const Array& locs, const Shape& grid, const Frequencies& of);

// How a grid is cut: `length` grid points per axis (the last tile takes the rest), never less than
// a kernel is wide, so that a point touches its own tile and the next.
struct TESSERA_API SpreadTiles {
  Shape length, count;
  SpreadTiles(const Shape& grid, const SpreadKernel& kernel);
};

// points[b..., j...] = sum over g of weight(g - locs[j]) grid[b..., g...]; or, gridding,
// grid[b..., g...] += sum over j of weight(g - locs[j]) points[b..., j...].
// Operands: grid, locs, order, starts, points; gridding: points, locs, order, starts, grid. float32
// to complex128, the same on both sides; weights are computed in the precision of the data.
struct InterpolateSpec {
  bool gridding = false;
  Operand grid;        // batch axes, then those of the grid
  Operand points;      // batch axes, then any number of axes whose product is the count of points
  i64 batch_axes = 0;  // the same sizes on both sides
  SpreadKernel kernel;
};

// (batch..., grid...) -> (batch..., count) and back.
TESSERA_API Array interpolate(const Array& values, const GridPoints& points);
TESSERA_API Array interpolate_adjoint(const Array& values, const GridPoints& points);

}  // namespace tessera
