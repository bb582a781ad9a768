// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/rays/ray_edges.hpp"

#include <algorithm>
#include <cstring>

#include "tessera/kernels/wide.hpp"

namespace tessera::rays {
namespace {

constexpr double close = 1e-9;

struct Directions {
  double *edge_x, *edge_y, *middle_x, *middle_y;
};

void line_directions(const RayGeometry& g, const double* view, i64 begin, i64 count,
                     const Directions& to) {
  const double x = view[3] - view[0], y = view[4] - view[1], zero = g.zero[0];
  const double step_x = view[6], step_y = view[7], voxel_x = g.voxel[0], voxel_y = g.voxel[1];
  wide([=] {
    for (i64 i = 0; i < count; ++i) {
      const double edge = static_cast<double>(begin + i) - zero, middle = edge + 0.5;
      to.edge_x[i] = (x + edge * step_x) / voxel_x;
      to.edge_y[i] = (y + edge * step_y) / voxel_y;
      to.middle_x[i] = (x + middle * step_x) / voxel_x;
      to.middle_y[i] = (y + middle * step_y) / voxel_y;
    }
  });
}

// Turned by the angle of the block, then within it: a sine for each block, not for each cell.
void arc_directions(const RayGeometry& g, const double* view, i64 begin, i64 count,
                    const Directions& to) {
  const double step = view[6];
  double cosine[2 * cell_block], sine[2 * cell_block];
  for (i64 i = 0; i < 2 * cell_block; ++i) {
    cosine[i] = std::cos(0.5 * static_cast<double>(i) * step);
    sine[i] = std::sin(0.5 * static_cast<double>(i) * step);
  }
  const double x = view[3] - view[0], y = view[4] - view[1];
  for (i64 block = 0; block < count; block += cell_block) {
    const double angle = (static_cast<double>(begin + block) - g.zero[0]) * step;
    const double c = std::cos(angle), s = std::sin(angle);
    const double turned_x = c * x - s * y, turned_y = s * x + c * y;
    for (i64 i = 0; i < cell_block; ++i) {
      const auto turn = [&](i64 half, double& dx, double& dy) {
        dx = (cosine[half] * turned_x - sine[half] * turned_y) / g.voxel[0];
        dy = (sine[half] * turned_x + cosine[half] * turned_y) / g.voxel[1];
      };
      turn(2 * i, to.edge_x[block + i], to.edge_y[block + i]);
      turn(2 * i + 1, to.middle_x[block + i], to.middle_y[block + i]);
    }
  }
}

void find_parallel(const RayGeometry& g, const double* view, i64 cells, CellEdges& e) {
  const RayLine middle = ray_line(g, view, g.zero[0]);
  const int axis = main_axis(middle);
  e.middle = on_slabs(middle, axis);
  const double step[2] = {view[6] / g.voxel[0], view[7] / g.voxel[1]};
  const double width = e.width = step[1 - axis] - step[axis] * e.middle.slope;
  e.widest[axis] = std::fabs(width);
  std::fill_n(e.length, cells, slab_length(g, middle, axis));
  std::fill_n(e.axis, cells, static_cast<std::uint8_t>(axis));
  for (i64 d = 0; d < cells; ++d) {
    const double edge = static_cast<double>(e.begin + d) - g.zero[0];
    e.left[d] = edge * width;
    e.right[d] = (edge + 1) * width;
  }
}

void find_fan(const RayGeometry& g, const double* view, i64 cells, CellEdges& out) {
  const RayLine middle = ray_line(g, view, g.zero[0]);
  for (int a = 0; a < 2; ++a) out.source[a] = middle.point[a];
  const i64 count = cells + cell_block;
  const Directions to{out.directions, out.directions + count, out.directions + 2 * count,
                      out.directions + 3 * count};
  if (g.beam == Beam::arc)
    arc_directions(g, view, out.begin, count, to);
  else
    line_directions(g, view, out.begin, count, to);
  const CellEdges e = out;
  for (i64 d = 0; d < cells; ++d) {
    const double x = std::fabs(to.middle_x[d]), y = std::fabs(to.middle_y[d]);
    int axis = y >= x ? 1 : 0;
    if (std::fabs(y - x) <= close * x)  // where rounding chooses, as for all others
      axis = main_axis(ray_line(g, view, static_cast<double>(e.begin + d) + 0.5));
    e.axis[d] = static_cast<std::uint8_t>(axis);
  }
  const double voxel_x = g.voxel[0], voxel_y = g.voxel[1];
  wide([=] {
    for (i64 d = 0; d < cells; ++d) {
      const double x = to.middle_x[d], y = to.middle_y[d];
      const bool rows = e.axis[d] != 0;
      const double toward = 1 / (rows ? y : x), slope = (rows ? x : y) * toward;
      const double across = slope * (rows ? voxel_x : voxel_y), along = rows ? voxel_y : voxel_x;
      e.toward[d] = toward;
      e.length[d] = std::sqrt(across * across + along * along);
      e.left[d] = (rows ? to.edge_x[d] : to.edge_y[d]) / (rows ? to.edge_y[d] : to.edge_x[d]);
      e.right[d] = (rows ? to.edge_x[d + 1] : to.edge_y[d + 1]) /
                   (rows ? to.edge_y[d + 1] : to.edge_x[d + 1]);
    }
  });
  for (i64 d = 0; d < cells; ++d) {
    const int axis = e.axis[d];
    if (d < e.end - e.begin)
      out.widest[axis] = std::max(out.widest[axis], std::fabs(e.right[d] - e.left[d]));
  }
}

}  // namespace

CellRun CellEdges::next_run(int main, i64 from, i64 to) const {
  const auto first = [&](int which, i64 at) {
    if (at >= to) return to;
    const void* found = std::memchr(axis + (at - begin), which, static_cast<std::size_t>(to - at));
    return found ? begin + (static_cast<const std::uint8_t*>(found) - axis) : to;
  };
  const i64 start = first(main, from);
  return {start, first(1 - main, start), main};
}

void find_edges(const RayGeometry& g, const double* view, i64 begin, i64 end, CellEdges& e) {
  e.begin = begin;
  e.end = end;
  e.parallel = g.beam == Beam::parallel;
  e.widest[0] = e.widest[1] = 0;
  const i64 cells = whole_blocks(end - begin);
  if (e.parallel)
    find_parallel(g, view, cells, e);
  else
    find_fan(g, view, cells, e);
}

}  // namespace tessera::rays
