// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the grid is cut for CUDA kernels that keep a part of it in shared memory: pieces of tiles, as
// long as kernels are wide or longer, so that the taps of a point whose first tap lies in a piece
// reach no further than the next piece. Grids repeat.
//   PieceCut<3> cut(tiles, grid, {12, 12, 12}, width);   PieceBox<3> box(cut, 17);

#include <algorithm>
#include <limits>

#include "tessera/kernels/cuda/loops.cuh"
#include "tessera/kernels/interpolate/points.cuh"

namespace tessera::cuda {

inline constexpr i64 no_element = std::numeric_limits<i64>::min();

// The pieces along one axis: all `length` long but for the last two, which share what is left.
struct AxisPieces {
  int size = 1, length = 1, count = 1, last = 0;  // last: where the last one begins
  int tile_length = 1, tiles = 1;

  AxisPieces() = default;
  AxisPieces(int n, int tile, int tile_count, int wanted, int width)
      : size(n), length(wanted), count(n / wanted), tile_length(tile), tiles(tile_count) {
    const int rest = n - count * length;
    if (count == 0) {
      last = n / 2;
      count = 2;
    } else if (rest >= width) {
      last = count++ * length;
    } else if (count == 1 || (rest > 0 && length + rest >= 2 * width)) {
      last = (count++ - 1) * length + (length + rest) / 2;
    } else {
      last = (count - 1) * length;
    }
  }
  TESSERA_HOST_DEVICE int begin(int i) const { return i < count - 1 ? i * length : last; }
  TESSERA_HOST_DEVICE int end(int i) const {
    return i == count - 1 ? size : i == count - 2 ? last : (i + 1) * length;
  }
  int longest() const {
    int most = 0;
    for (int i = 0; i < count; ++i) most = std::max(most, end(i) - begin(i));
    return most;
  }
  int shortest() const {
    int least = size;
    for (int i = 0; i < count; ++i) least = std::min(least, end(i) - begin(i));
    return least;
  }
  TESSERA_HOST_DEVICE int tile_of(int cell) const {
    const int t = cell / tile_length;
    return t < tiles ? t : tiles - 1;
  }
  TESSERA_HOST_DEVICE bool is_tile(int i) const {
    const int t = tile_of(begin(i));
    return begin(i) == t * tile_length && end(i) == (t == tiles - 1 ? size : (t + 1) * tile_length);
  }
};

// A piece with what reaches beyond it, as it lies in shared memory.
struct PieceRoom {
  int stride_x = 1, cells_y = 1, cells_z = 1;  // of rows; rows of a plane; planes
  FastDivider by_row, by_plane;                // divides by stride_x, and by cells_y
  TESSERA_HOST_DEVICE int cells() const { return stride_x * cells_y * cells_z; }
};

struct PieceCut {
  AxisPieces axis[3];
  PieceRoom room;
  int pieces = 1;
  bool possible = true;

  // `parts`: how many pieces a tile makes along each axis. `rows`: how many elements apart rows
  // should lie, modulo 16; -1: as close as they can.
  PieceCut() = default;
  PieceCut(const Shape& grid, const SpreadTiles& tiles, const int (&parts)[3], int width,
           int rows) {
    const int dims = static_cast<int>(grid.size());
    int cells[3] = {1, 1, 1};
    for (int a = 3 - dims; a < 3; ++a) {
      const i64 at = a - 3 + dims;
      const int tile = static_cast<int>(tiles.length[at]);
      axis[a] = AxisPieces(static_cast<int>(grid[at]), tile, static_cast<int>(tiles.count[at]),
                           std::max(tile / parts[a], width), width);
      possible = possible && tile % parts[a] == 0 && tile / parts[a] >= width &&
                 axis[a].count >= 2 && axis[a].shortest() >= width;
      for (int i = 0; i < axis[a].count; ++i) {  // a piece lies in one tile
        const int begin = axis[a].begin(i), end = axis[a].end(i);
        possible = possible && axis[a].tile_of(begin) == axis[a].tile_of(end - 1);
      }
      cells[a] = axis[a].longest() + width;
      pieces *= axis[a].count;
    }
    room.stride_x = cells[2];
    while (rows >= 0 && room.stride_x % 16 != rows) ++room.stride_x;
    room.cells_y = cells[1];
    room.cells_z = cells[0];
    room.by_row = FastDivider(static_cast<std::uint32_t>(room.stride_x));
    room.by_plane = FastDivider(static_cast<std::uint32_t>(room.cells_y));
  }
};

// What both kernels take.
template <class R>
struct PieceArgs {
  PointArgs<R> point;
  Loops batch;   // operands 0: grid, 1: points
  Loops points;  // operand 0: points
  i64 stride[3] = {0, 0, 0};
  PieceCut cut;
  const i64* order = nullptr;
  const i64* starts = nullptr;
  const void* from = nullptr;
  void* to = nullptr;
};

#ifdef __CUDACC__

// One of the pieces: where it begins, how long it is, the tile it lies in, and whether it is all
// of that tile.
template <int Dims>
struct PieceBox {
  int at[3] = {0, 0, 0}, begin[3] = {0, 0, 0}, length[3] = {1, 1, 1};
  i64 tile = 0;
  bool whole = true;

  __device__ void find(const PieceCut& cut) {
#pragma unroll
    for (int a = 3 - Dims; a < 3; ++a) {
      const AxisPieces& axis = cut.axis[a];
      begin[a] = axis.begin(at[a]);
      length[a] = axis.end(at[a]) - begin[a];
      tile = tile * axis.tiles + axis.tile_of(begin[a]);
      whole = whole && axis.is_tile(at[a]);
    }
  }
  // Where a first tap lies along an axis, counted from the piece; negative: before it.
  __device__ int local(const PieceCut& cut, int axis, int first) const {
    const int n = cut.axis[axis].size;
    return (first < 0 ? first + n : first >= n ? first - n : first) - begin[axis];
  }
  // The element of a grid that a cell of the room stands for, before its first one where strides are
  // negative; or no_element.
  template <class Strides>
  __device__ i64 element(const PieceCut& cut, const Strides& stride, int width, int cell) const {
    const std::uint32_t row = cut.room.by_row.divide(static_cast<std::uint32_t>(cell));
    const int c2 = cell - static_cast<int>(row) * cut.room.stride_x;
    int c1 = 0, c0 = 0;
    if constexpr (Dims == 2) c1 = static_cast<int>(row);
    if constexpr (Dims == 3) {
      c0 = static_cast<int>(cut.room.by_plane.divide(row));
      c1 = static_cast<int>(row) - c0 * cut.room.cells_y;
    }
    const int c[3] = {c0, c1, c2};
    i64 to = 0;
    bool inside = true;
#pragma unroll
    for (int a = 3 - Dims; a < 3; ++a) {
      inside = inside && c[a] < length[a] + width;
      const int n = cut.axis[a].size, g = begin[a] + c[a];
      to += static_cast<i64>(g < n ? g : g - n) * stride[a];
    }
    return inside ? to : no_element;
  }
};

#endif

}  // namespace tessera::cuda
