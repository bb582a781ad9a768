// SPDX-License-Identifier: Apache-2.0
// Interpolation: threads share the points. Gridding: threads share tiles of the grid, of one colour
// at a time. Either way the weights of a point are made once for all batches of a range of points.
#include "tessera/device/threads.hpp"
#include "tessera/kernels/interpolate/spread_cpu.hpp"

namespace tessera {
namespace spread {
namespace {

constexpr i64 batch_group = 8;

template <class R>
struct Taps {
  int count[3];
  R weight[3][max_taps];
  i64 offset[3][max_taps];
  bool row_is_dense = true;  // neighbours along the last axis follow each other in memory
};

template <class R>
void find_taps(const SpreadState& s, const SpreadShape<R>& shape, const double* loc, Taps<R>& t) {
  i64 index[max_taps];
  for (int a = 0; a < 3; ++a) {
    const int at = a - 3 + shape.axes;
    t.count[a] = shape.axis(a, at >= 0 ? loc[at] : 0, t.weight[a], index);
    for (int k = 0; k < t.count[a]; ++k) t.offset[a][k] = index[k] * s.stride[a];
  }
  t.row_is_dense = true;
  for (int k = 1; k < t.count[2]; ++k)
    t.row_is_dense = t.row_is_dense && t.offset[2][k] == t.offset[2][0] + k;
}

// Calls f(offset, weights of a row) for the rows of a footprint.
template <class R, class F>
void for_rows(const SpreadShape<R>& shape, const Taps<R>& t, F&& f) {
  if (t.count[2] == 0) return;
  R row[max_taps];
  for (int i = 0; i < t.count[0]; ++i)
    for (int j = 0; j < t.count[1]; ++j) {
      if (shape.euclidean) {
        const R s = t.weight[0][i] + t.weight[1][j];
        for (int k = 0; k < t.count[2]; ++k) row[k] = shape.value(s + t.weight[2][k]);
      } else {
        const R w = t.weight[0][i] * t.weight[1][j];
        for (int k = 0; k < t.count[2]; ++k) row[k] = w * t.weight[2][k];
      }
      f(t.offset[0][i] + t.offset[1][j], row);
    }
}

template <class T, class R>
T dot_row(const Taps<R>& t, const R* row, const T* from) {
  T sum(0);
  if (t.row_is_dense) {
    const T* p = from + t.offset[2][0];
    for (int k = 0; k < t.count[2]; ++k) sum += scaled(p[k], row[k]);
  } else {
    for (int k = 0; k < t.count[2]; ++k) sum += scaled(from[t.offset[2][k]], row[k]);
  }
  return sum;
}

template <class T, class R>
void add_row(const Taps<R>& t, const R* row, const T& value, T* to) {
  if (t.row_is_dense) {
    T* p = to + t.offset[2][0];
    for (int k = 0; k < t.count[2]; ++k) p[k] += scaled(value, row[k]);
  } else {
    for (int k = 0; k < t.count[2]; ++k) to[t.offset[2][k]] += scaled(value, row[k]);
  }
}

}  // namespace

template <class T>
[[gnu::noinline]] void interpolate_point(const PointRange<T>& r, i64 i) {
  using R = typename RealOf<T>::type;
  const SpreadState& s = *r.s;
  const SpreadShape<R>& shape = s.shape<R>();
  Taps<R> t;
  find_taps(s, shape, r.locs + i * shape.axes, t);
  const i64 to = s.points.at(r.order[i]), end = r.first_batch + r.batches;
  for (i64 first = r.first_batch; first < end; first += batch_group) {
    const i64 n = std::min(batch_group, end - first);
    T sum[batch_group] = {};
    for_rows(shape, t, [&](i64 offset, const R* row) {
      for (i64 b = 0; b < n; ++b)
        sum[b] +=
            dot_row(t, row, r.grid + s.grid_batch[static_cast<std::size_t>(first + b)] + offset);
    });
    for (i64 b = 0; b < n; ++b)
      r.points[s.points_batch[static_cast<std::size_t>(first + b)] + to] = sum[b];
  }
}

template <class T>
[[gnu::noinline]] void grid_point(const PointRange<T>& r, i64 i) {
  using R = typename RealOf<T>::type;
  const SpreadState& s = *r.s;
  const SpreadShape<R>& shape = s.shape<R>();
  Taps<R> t;
  find_taps(s, shape, r.locs + i * shape.axes, t);
  const i64 from = s.points.at(r.order[i]);
  for_rows(shape, t, [&](i64 offset, const R* row) {
    for (i64 b = r.first_batch; b < r.first_batch + r.batches; ++b)
      add_row(t, row, r.points[s.points_batch[static_cast<std::size_t>(b)] + from],
              r.grid + s.grid_batch[static_cast<std::size_t>(b)] + offset);
  });
}

template void interpolate_point(const PointRange<c64>& r, i64 i);
template void interpolate_point(const PointRange<c128>& r, i64 i);
template void grid_point(const PointRange<c64>& r, i64 i);
template void grid_point(const PointRange<c128>& r, i64 i);

namespace {

template <class T>
void interpolate_points(const PointRange<T>& r) {
  if constexpr (is_complex_v<T>)
    if (r.s->by_rows) return interpolate_rows(r);
  for (i64 i = r.begin; i < r.end; ++i) interpolate_point(r, i);
}

template <class T>
void grid_points(const PointRange<T>& r) {
  if constexpr (is_complex_v<T>)
    if (r.s->by_rows) return grid_rows(r);
  for (i64 i = r.begin; i < r.end; ++i) grid_point(r, i);
}

template <class T>
void run_interpolate(const SpreadState& s, T* grid, const double* locs, const i64* order,
                     T* points) {
  const i64 batches = static_cast<i64>(s.grid_batch.size());
  parallel_for(s.count, 256, [&](i64 begin, i64 end) {
    interpolate_points(PointRange<T>{&s, grid, points, locs, order, begin, end, 0, batches});
  });
}

// Note [colours]
// A point writes into its tile and the next along each axis. Tiles of one colour are never
// neighbours, so they can be written at once; the colours follow one another. Every element of the
// grid is summed in the same order, whatever the number of threads, and whatever the number of
// batches that are taken together: all of them, unless that leaves threads without a tile.
template <class T>
void run_gridding(const SpreadState& s, T* points, const double* locs, const i64* order,
                  const i64* starts, T* grid) {
  const i64 batches = static_cast<i64>(s.grid_batch.size()), threads = num_threads();
  for (const std::vector<i64>& tiles : s.colours) {
    const i64 count = static_cast<i64>(tiles.size());
    const bool all = threads == 1 || count >= 8 * threads;
    const i64 together = all ? batches : std::min(batches, batch_group),
              groups = (batches + together - 1) / together;
    parallel_for(count * groups, 1, [&](i64 begin, i64 end) {
      for (i64 k = begin; k < end; ++k) {
        const i64 tile = tiles[static_cast<std::size_t>(k / groups)], first = k % groups * together;
        grid_points(PointRange<T>{&s, grid, points, locs, order, starts[tile], starts[tile + 1],
                                  first, std::min(together, batches - first)});
      }
    });
  }
}

void run(const void* state, const Launch& launch) {
  const SpreadState& s = *static_cast<const SpreadState*>(state);
  if (s.count == 0 || s.grid_batch.empty()) return;
  const auto* locs = static_cast<const double*>(launch.operand[1]);
  const auto* order = static_cast<const i64*>(launch.operand[2]);
  dispatch<float, double, c64, c128>(s.spec.grid.dtype, "interpolate", [&]<class T>() {
    if (s.spec.gridding)
      run_gridding<T>(s, static_cast<T*>(launch.operand[0]), locs, order,
                      static_cast<const i64*>(launch.operand[3]),
                      static_cast<T*>(launch.operand[4]));
    else
      run_interpolate<T>(s, static_cast<T*>(launch.operand[0]), locs, order,
                         static_cast<T*>(launch.operand[4]));
  });
}

// 0, 1, 0, 1, ...; the last of an odd ring is a third colour.
i64 axis_colour(i64 tile, i64 tiles, bool circular) {
  return circular && tiles > 1 && tiles % 2 == 1 && tile == tiles - 1 ? 2 : tile % 2;
}

std::vector<std::vector<i64>> colours_of(const Shape& grid, const SpreadKernel& kernel) {
  const SpreadTiles tiles(grid, kernel);
  std::vector<std::vector<i64>> all(27);
  for (i64 t = 0; t < count_of(tiles.count); ++t) {
    i64 rest = t, colour = 0;
    for (i64 a = grid.size() - 1; a >= 0; --a) {
      colour = 3 * colour + axis_colour(rest % tiles.count[a], tiles.count[a], kernel.circular);
      rest /= tiles.count[a];
    }
    all[static_cast<std::size_t>(colour)].push_back(t);
  }
  std::erase_if(all, [](const std::vector<i64>& c) { return c.empty(); });
  return all;
}

template <class R>
void add_pieces(SpreadState& s, std::shared_ptr<const PiecewiseKernel<R>>& pieces) {
  const bool dense_rows = s.stride[2] == 1 || s.grid.back() == 1;
  if (!is_complex(s.spec.grid.dtype) || !dense_rows || !is_piecewise(s.spec.kernel)) return;
  pieces = std::make_shared<const PiecewiseKernel<R>>(s.spec.kernel);
  s.by_rows = pieces->exact;
}

}  // namespace
}  // namespace spread

Prepared prepare_interpolate_cpu(const InterpolateSpec& spec, Device) {
  require<DTypeError>(spec.grid.dtype == spec.points.dtype, "interpolate: a grid of ",
                      name(spec.grid.dtype), " and points of ", name(spec.points.dtype));
  dispatch<float, double, c64, c128>(spec.grid.dtype, "interpolate", []<class T>() {});
  auto s = std::make_shared<spread::SpreadState>();
  const Layout &g = spec.grid.layout, &p = spec.points.layout;
  s->spec = spec;
  s->grid = Shape(g.shape.begin() + spec.batch_axes, g.shape.end());
  s->points = AxisIndexer(p, spec.batch_axes, p.ndim());
  s->count = count_of(Shape(p.shape.begin() + spec.batch_axes, p.shape.end()));
  for (i64 a = 0; a < s->grid.size(); ++a)
    s->stride[a + 3 - s->grid.size()] = g.strides[spec.batch_axes + a];
  s->grid_batch = AxisIndexer::offsets(g, 0, spec.batch_axes);
  s->points_batch = AxisIndexer::offsets(p, 0, spec.batch_axes);
  if (spec.gridding) s->colours = spread::colours_of(s->grid, spec.kernel);
  if (real_of(spec.grid.dtype) == DType::f32) {
    s->single = std::make_shared<const spread::SpreadShape<float>>(s->grid, spec.kernel);
    spread::add_pieces(*s, s->single_pieces);
  } else {
    s->wide = std::make_shared<const spread::SpreadShape<double>>(s->grid, spec.kernel);
    spread::add_pieces(*s, s->wide_pieces);
  }
  Prepared prepared;
  double taps = 1;
  for (double w : spec.kernel.width) taps *= w;
  prepared.flops = 4 * taps * static_cast<double>(p.size());
  prepared.task = {spread::run, std::move(s)};
  return prepared;
}

}  // namespace tessera
