// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the cpu's ray transform knows before it runs, the memory of one of its tasks, and how
// images and data come into it. Private to the cpu's kernel.

#include <algorithm>
#include <vector>

#include "tessera/kernels/rays/ray_cones.hpp"
#include "tessera/kernels/rays/ray_images.hpp"

namespace tessera::rays {

struct State {
  RaysSpec spec;
  std::vector<i64> volume_item, data_item;  // offsets of images, in real numbers
  i64 voxel_step[3] = {0, 0, 0};            // x, y, z
  i64 view_step = 0, cell_step = 0, row_step = 0;
  i64 voxels[3] = {1, 1, 1}, views = 0, cells = 0, rows = 1;
  i64 images = 1, groups = 1;  // that are followed together, and how often
  i64 chunk = 1, chunks = 1;   // forward: cells of a job, in whole blocks of the detector
  i64 range = 1, ranges = 1;   // forward: views of a job
  i64 block = 1;               // slabs that are packed together
  i64 tasks = 1, slot_bytes = 0;

  const RayGeometry& geometry() const { return spec.geometry; }
  bool cone() const { return geometry().rows; }
  bool fan() const { return geometry().beam != Beam::parallel; }
  static i64 lead(i64 first) { return first % cell_block; }
  i64 first_block() const { return geometry().first_cell - lead(geometry().first_cell); }
  i64 last_cell() const { return geometry().first_cell + cells; }
  // The centre of a slab, counted from the first one here.
  double centre(int axis, i64 slab) const {
    return static_cast<double>(geometry().first_voxel[axis] + slab) + 0.5;
  }

  // Packed slabs are columns, or rows of voxels for each image: forward with margins, backward from
  // the block on in which the first voxel lies. Numbers from slab to slab and voxel to voxel:
  i64 slab_image(int axis) const {
    const i64 n = voxels[1 - axis];
    return spec.adjoint ? whole_blocks(lead(geometry().first_voxel[1 - axis]) + n) : n + 2 * margin;
  }
  i64 slab_step(int axis) const {
    if (cone()) return (voxels[1 - axis] + 2 * geometry().taps) * voxels[2];
    // Not a power of two, whose multiples are all in the same few lines of the first cache.
    return images * slab_image(axis) + (spec.adjoint ? cell_block : 0);
  }
  i64 place_step() const { return cone() ? voxels[2] : 1; }
  i64 first_place(int axis) const {
    if (cone()) return geometry().taps * voxels[2];
    return spec.adjoint ? lead(geometry().first_voxel[1 - axis]) : margin;
  }

  // The packed data of a view likewise: cells for each image, or rows for each cell.
  i64 packed_cells() const { return spec.adjoint ? whole_blocks(cells) + cell_block : chunk; }
  i64 cell_image() const { return spec.adjoint ? cells + 2 * margin : chunk; }
  i64 cell_rows() const {
    return spec.adjoint ? rows + 2 * margin : whole_blocks(lead(geometry().first_row) + rows);
  }
  i64 packed_view() const { return cone() ? packed_cells() * cell_rows() : images * cell_image(); }
};

template <class R>
struct Slot {
  CellEdges* edges = nullptr;  // of each view of a job
  FanRun<R> fan;
  ColumnTaps<R> taps;
  R *slabs = nullptr, *data = nullptr, *column = nullptr;
  R *scale = nullptr, *height = nullptr;  // of cells, of rows: while data are moved
};

// Takes its memory from `at`; the bytes that it needs where `at` is null.
template <class R>
i64 lay_out_slot(const State& s, std::byte* at, Slot<R>& slot) {
  i64 used = 0;
  const auto take = [&]<class T>(T*& p, i64 count) {
    p = at ? reinterpret_cast<T*>(at + used) : nullptr;
    used += (count * i64{sizeof(T)} + 63) / 64 * 64;
  };
  const i64 views = s.spec.adjoint ? 1 : s.range, cells = s.packed_cells();
  take(slot.edges, views);
  double* directions = nullptr;
  if (s.fan()) take(directions, directions_of(cells));
  for (i64 v = 0; v < views; ++v) {
    CellEdges e;
    for (double** p : {&e.left, &e.right, &e.length}) take(*p, cells);
    if (s.fan()) take(e.toward, cells);
    take(e.axis, cells);
    e.directions = directions;
    if (at) slot.edges[v] = e;
  }
  take(slot.slabs, s.block * std::max(s.slab_step(0), s.slab_step(1)));
  take(slot.data, views * s.packed_view());
  take(slot.scale, cells);
  if (s.cone()) {
    ColumnTaps<R>& t = slot.taps;
    t.taps = s.geometry().taps;
    for (R** p : {&t.low, &t.reach, &t.scale}) take(*p, cells);
    take(t.first, cells);
    take(t.weight, t.taps * cells);
    take(slot.column, column_room(s.voxels[2]));
    take(slot.height, s.rows);
  } else if (s.fan() && s.spec.adjoint) {
    take(slot.fan.edge, cells + 2 * margin + 1);
    take(slot.fan.table, cells + 1);
    slot.fan.edge += at ? margin : 0;
  }
  return used;
}

// Slabs [first, first + count) along `axis` between the volume and the task's memory.
enum class Move { read, write, add };
template <Move move, class R>
void move_slabs(const State& s, i64 group, int axis, i64 first, i64 count, R* slabs, R* volume) {
  const i64 n = s.voxels[1 - axis], across = s.voxel_step[axis], along = s.voxel_step[1 - axis];
  const i64 pitch = s.slab_step(axis), step = s.place_step();
  const i64 items = static_cast<i64>(s.volume_item.size());
  for (i64 g = 0; g < s.images && group * s.images + g < items; ++g)
    for (i64 z = 0; z < s.voxels[2]; ++z) {
      R* const from = volume + s.volume_item[static_cast<std::size_t>(group * s.images + g)] +
                      first * across + z * s.voxel_step[2];
      R* const to = slabs + s.first_place(axis) + (s.cone() ? z : g * s.slab_image(axis));
      const bool outer_slabs = std::abs(across) >= std::abs(along);
      const i64 outer = outer_slabs ? count : n, inner = outer_slabs ? n : count;
      for (i64 o = 0; o < outer; ++o)
        for (i64 i = 0; i < inner; ++i) {
          const i64 slab = outer_slabs ? o : i, place = outer_slabs ? i : o;
          R& packed = to[slab * pitch + place * step];
          R& voxel = from[slab * across + place * along];
          if constexpr (move == Move::read)
            packed = voxel;
          else if constexpr (move == Move::write)
            voxel = packed;
          else
            voxel += packed;
        }
    }
}

// Where an image of a group is in the data; null for those that only fill the group.
template <class R>
R* data_of(const State& s, i64 item, i64 view, i64 cell, R* data) {
  if (item >= static_cast<i64>(s.data_item.size())) return nullptr;
  return data + s.data_item[static_cast<std::size_t>(item)] + view * s.view_step +
         (cell - s.geometry().first_cell) * s.cell_step;
}

// Cells [begin, end) of the whole detector between the data and the task's memory, where `packed`
// is the first of them; backward they are times the numbers from `scale` on.
template <bool Adjoint, class R>
void move_cells(const State& s, i64 group, i64 view, i64 begin, i64 end, R* packed, R* data,
                const R* scale) {
  const i64 count = end - begin, step = s.cell_step;
  for (i64 g = 0; g < s.images; ++g) {
    R* const to = packed + g * s.cell_image();
    R* const at = data_of(s, group * s.images + g, view, begin, data);
    for (i64 d = 0; d < count; ++d)
      if constexpr (Adjoint)
        to[d] = at ? scale[d] * at[d * step] : R(0);
      else if (at)
        at[d * step] = to[d];
  }
}

// Likewise the rows of cells of a cone, times what rays to their middles are longer by than their
// projections onto the plane. A block of cells at a time, which lie side by side in the data.
template <bool Adjoint, class R>
void move_rows(const State& s, i64 item, i64 number, const double* view, const CellEdges& e,
               i64 begin, i64 end, const Slot<R>& slot, R* packed, R* data) {
  const i64 pitch = s.cell_rows(), cell_step = s.cell_step, row_step = s.row_step;
  for (i64 r = 0; r < s.rows; ++r)
    slot.height[r] = static_cast<R>(row_height(s.geometry(), view, s.geometry().first_row + r));
  for (i64 d = begin; d < end; d += cell_block) {
    const i64 count = std::min(cell_block, end - d);
    R* const to = packed + (d - begin) * pitch;
    R* const at = data_of(s, item, number, d, data);
    R per[cell_block] = {}, times[cell_block];
    for (i64 i = 0; i < count; ++i)
      per[i] = static_cast<R>(e.toward[d + i - e.begin] / e.length[d + i - e.begin]);
    for (i64 r = 0; r < s.rows; ++r) {
      const R z = slot.height[r];
      for (i64 i = 0; i < cell_block; ++i) times[i] = std::sqrt(1 + (z * per[i]) * (z * per[i]));
      for (i64 i = 0; i < count; ++i)
        if constexpr (Adjoint)
          to[i * pitch + r] = times[i] * at[r * row_step + i * cell_step];
        else
          at[r * row_step + i * cell_step] = times[i] * to[i * pitch + r];
    }
  }
}

}  // namespace tessera::rays
