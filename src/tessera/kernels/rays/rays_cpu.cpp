// SPDX-License-Identifier: Apache-2.0
// Note [slabs]: forward, a job is some cells of one view, which sums over all slabs; backward, it
// is some slabs, which sum over all views: first rows of the volume, then columns, for the rays
// that are closer to this axis or the other. So every output has one writer at a time, and sums in
// an order that no number of threads changes. Slabs and cells are packed in lanes of neighbouring
// numbers (ray_slabs.hpp).
#include <algorithm>

#include "tessera/device/threads.hpp"
#include "tessera/kernels/axis_indexer.hpp"
#include "tessera/kernels/rays/ray_slabs.hpp"

namespace tessera {
namespace {

using rays::CellRun;

constexpr i64 slab_bytes = 128 << 10, most_slabs = 64;

struct State {
  RaysSpec spec;
  std::vector<i64> volume_item, data_item;  // offsets of images, in real numbers
  i64 voxel_step[3] = {0, 0, 0};            // x, y, z
  i64 view_step = 0, cell_step = 0, row_step = 0;
  i64 voxels[3] = {1, 1, 1}, views = 0, cells = 0, rows = 1;
  i64 volume_lanes = 1, data_lanes = 1, groups = 1;
  i64 chunk = 1, chunks = 1, block = 1;  // cells of a job; slabs that are packed together
  i64 jobs = 0, tasks = 1, slot_bytes = 0;
  bool cone() const { return spec.geometry.rows; }
};

template <class R>
struct Slot {
  rays::SlabTaps<R> taps;
  rays::RowTaps<R> rows;
  R *slabs = nullptr, *sums = nullptr;
};

// Takes its memory from `at`; the bytes that it needs where `at` is null.
template <class R>
i64 lay_out_slot(const State& s, std::byte* at, Slot<R>& slot) {
  i64 used = 0;
  const auto take = [&]<class T>(T*& p, i64 count) {
    p = at ? reinterpret_cast<T*>(at + used) : nullptr;
    used += (count * i64{sizeof(T)} + 63) / 64 * 64;
  };
  const RayGeometry& g = s.spec.geometry;
  const i64 most = s.spec.adjoint ? s.cells : s.chunk;
  auto& t = slot.taps;
  for (double** p : {&t.base, &t.slope, &t.depth, &t.depth_slope}) take(*p, most + 1);
  for (R** p : {&t.length, &t.low, &t.reach, &t.scale}) take(*p, most);
  take(t.first, most);
  take(t.weight, g.taps * most);
  t.taps = g.taps;
  take(slot.slabs, s.block * (std::max(s.voxels[0], s.voxels[1]) + 2 * g.taps) * s.volume_lanes);
  take(slot.sums, most * s.data_lanes);
  if (s.cone()) {
    slot.rows.taps = g.row_taps;
    slot.rows.rows = s.rows;
    slot.rows.voxels = s.voxels[2];
    take(slot.rows.first, s.rows);
    take(slot.rows.weight, g.row_taps * s.rows);
    take(slot.rows.column, s.voxels[2] + 2 * g.row_taps);
  }
  return used;
}

// Slabs [first, first + count) along `axis` between the volume and the task's memory.
enum class Move { read, write, add };
template <Move move, class R>
void move_slabs(const State& s, i64 group, int axis, i64 first, i64 count, R* slabs, R* volume) {
  const i64 n = s.voxels[1 - axis], taps = s.spec.geometry.taps, lanes = s.volume_lanes;
  const i64 pitch = (n + 2 * taps) * lanes, across = s.voxel_step[axis],
            along = s.voxel_step[1 - axis];
  const i64 items = static_cast<i64>(s.volume_item.size());
  for (i64 l = 0; l < lanes; ++l) {
    const i64 item = s.cone() ? group : group * lanes + l;
    if (item >= items) break;
    R* const from = volume + s.volume_item[static_cast<std::size_t>(item)] + first * across +
                    (s.cone() ? l * s.voxel_step[2] : 0);
    R* const to = slabs + taps * lanes + l;
    const bool outer_slabs = std::abs(across) >= std::abs(along);
    const i64 outer = outer_slabs ? count : n, inner = outer_slabs ? n : count;
    for (i64 o = 0; o < outer; ++o)
      for (i64 i = 0; i < inner; ++i) {
        const i64 slab = outer_slabs ? o : i, place = outer_slabs ? i : o;
        R& packed = to[slab * pitch + place * lanes];
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

// The cells of a run between the data and the task's memory, times what rays are longer by.
template <bool Adjoint, class R>
void move_cells(const State& s, i64 group, const double* view, i64 number, const CellRun& run,
                R* sums, R* data) {
  const i64 lanes = s.data_lanes, items = static_cast<i64>(s.data_item.size());
  const RayGeometry& g = s.spec.geometry;
  for (i64 d = run.begin; d < run.end; ++d) {
    R* const packed = sums + (d - run.begin) * lanes;
    R* const cell = data + number * s.view_step + d * s.cell_step;
    rays::RayLine centre{};
    if (s.cone()) centre = rays::ray_line(g, view, static_cast<double>(g.first_cell + d) + 0.5);
    for (i64 l = 0; l < lanes; ++l) {
      const i64 item = s.cone() ? group : group * lanes + l;
      if (item >= items) {
        packed[l] = 0;
        continue;
      }
      R& at = cell[s.data_item[static_cast<std::size_t>(item)] + (s.cone() ? l * s.row_step : 0)];
      const R stretch =
          s.cone() ? static_cast<R>(rays::row_stretch(g, view, centre, g.first_row + l)) : R(1);
      if constexpr (Adjoint)
        packed[l] = stretch * at;
      else
        at = stretch * packed[l];
    }
  }
}

template <class R>
void zero_slabs(const State& s, const Slot<R>& slot, int axis, i64 count) {
  const i64 pitch = (s.voxels[1 - axis] + 2 * s.spec.geometry.taps) * s.volume_lanes;
  std::fill_n(slot.slabs, count * pitch, R(0));
}

template <bool Adjoint, class R>
void add_slabs(const State& s, const Slot<R>& slot, const double* view, const CellRun& run,
               i64 first, i64 count) {
  const RayGeometry& g = s.spec.geometry;
  const i64 n = s.voxels[1 - run.axis], pitch = (n + 2 * g.taps) * s.volume_lanes,
            cells = run.end - run.begin;
  for (i64 b = 0; b < count; ++b) {
    const double c = static_cast<double>(g.first_voxel[run.axis] + first + b) + 0.5;
    R* const slab = slot.slabs + b * pitch;
    rays::slab_weights(slot.taps, cells, c, g.first_voxel[1 - run.axis], n);
    if (s.cone()) {
      rays::add_cone_slab<Adjoint>(slot.taps, slot.rows, g, view, c, cells, n, slab, slot.sums);
      continue;
    }
    switch (s.volume_lanes) {
      case 1: rays::add_slab<1, Adjoint>(slot.taps, cells, slab, slot.sums); break;
      case 2: rays::add_slab<2, Adjoint>(slot.taps, cells, slab, slot.sums); break;
      case 4: rays::add_slab<4, Adjoint>(slot.taps, cells, slab, slot.sums); break;
      default: rays::add_slab<8, Adjoint>(slot.taps, cells, slab, slot.sums);
    }
  }
}

template <class R>
void project(const State& s, const Slot<R>& slot, i64 job, R* volume, const double* views,
             R* data) {
  const i64 chunk = job % s.chunks, number = job / s.chunks % s.views,
            group = job / s.chunks / s.views;
  const double* view = views + number * view_numbers;
  const i64 end = std::min(s.cells, (chunk + 1) * s.chunk);
  for (i64 begin = chunk * s.chunk; begin < end;) {
    const CellRun run = rays::next_run(s.spec.geometry, view, begin, end);
    rays::lines_of(slot.taps, s.spec.geometry, view, run);
    std::fill_n(slot.sums, (run.end - run.begin) * s.data_lanes, R(0));
    zero_slabs(s, slot, run.axis, s.block);  // beyond the volume: what is packed lies between
    for (i64 first = 0; first < s.voxels[run.axis]; first += s.block) {
      const i64 count = std::min(s.block, s.voxels[run.axis] - first);
      move_slabs<Move::read>(s, group, run.axis, first, count, slot.slabs, volume);
      add_slabs<false>(s, slot, view, run, first, count);
    }
    move_cells<false>(s, group, view, number, run, slot.sums, data);
    begin = run.end;
  }
}

// Rows are written, columns added to what the rows left.
template <class R>
void backproject(const State& s, const Slot<R>& slot, int axis, i64 job, R* volume,
                 const double* views, R* data) {
  const i64 blocks = (s.voxels[axis] + s.block - 1) / s.block, group = job / blocks,
            first = job % blocks * s.block, count = std::min(s.block, s.voxels[axis] - first);
  zero_slabs(s, slot, axis, count);
  bool met = axis == 1;
  for (i64 number = 0; number < s.views; ++number) {
    const double* view = views + number * view_numbers;
    for (i64 begin = 0; begin < s.cells;) {
      const CellRun run = rays::next_run(s.spec.geometry, view, begin, s.cells);
      begin = run.end;
      if (run.axis != axis) continue;
      met = true;
      rays::lines_of(slot.taps, s.spec.geometry, view, run);
      move_cells<true>(s, group, view, number, run, slot.sums, data);
      add_slabs<true>(s, slot, view, run, first, count);
    }
  }
  if (axis == 1)
    move_slabs<Move::write>(s, group, axis, first, count, slot.slabs, volume);
  else if (met)
    move_slabs<Move::add>(s, group, axis, first, count, slot.slabs, volume);
}

template <class R>
void run_rays(const void* state, const Launch& launch) {
  const State& s = *static_cast<const State*>(state);
  auto* in = static_cast<R*>(launch.operand[0]);
  const auto* views = static_cast<const double*>(launch.operand[1]);
  auto* out = static_cast<R*>(launch.operand[2]);
  const auto each_job = [&](i64 jobs, auto&& run) {
    const i64 tasks = std::min(s.tasks, jobs);
    parallel_for(tasks, 1, [&](i64 begin, i64 end) {
      for (i64 task = begin; task < end; ++task) {
        Slot<R> slot;
        lay_out_slot(s, static_cast<std::byte*>(launch.workspace) + task * s.slot_bytes, slot);
        for (i64 job = task; job < jobs; job += tasks) run(slot, job);
      }
    });
  };
  if (!s.spec.adjoint)
    return each_job(s.groups * s.views * s.chunks,
                    [&](Slot<R>& slot, i64 job) { project<R>(s, slot, job, in, views, out); });
  for (const int axis : {1, 0})
    each_job(s.groups * ((s.voxels[axis] + s.block - 1) / s.block),
             [&](Slot<R>& slot, i64 job) { backproject<R>(s, slot, axis, job, out, views, in); });
}

std::vector<i64> items_of(const Layout& l, i64 batch_axes, bool complex) {
  std::vector<i64> items;
  for (const i64 at : AxisIndexer::offsets(l, 0, batch_axes)) {
    items.push_back(complex ? 2 * at : at);
    if (complex) items.push_back(2 * at + 1);
  }
  return items;
}

void set_sizes(State& s) {
  const Layout &x = s.spec.volume.layout, &y = s.spec.data.layout;
  const i64 b = s.spec.batch_axes, parts = is_complex(s.spec.data.dtype) ? 2 : 1;
  for (i64 a = 0; a < (s.cone() ? 3 : 2); ++a) {
    s.voxels[a] = x.shape[x.ndim() - 1 - a];
    s.voxel_step[a] = parts * x.strides[x.ndim() - 1 - a];
  }
  s.views = y.shape[b];
  s.view_step = parts * y.strides[b];
  s.cells = y.shape[y.ndim() - 1];
  s.cell_step = parts * y.strides[y.ndim() - 1];
  if (s.cone()) {
    s.rows = y.shape[b + 1];
    s.row_step = parts * y.strides[b + 1];
  }
  s.volume_item = items_of(x, b, parts == 2);
  s.data_item = items_of(y, b, parts == 2);
}

void set_jobs(State& s, i64 real_size) {
  const i64 items = static_cast<i64>(s.volume_item.size()), threads = num_threads();
  const i64 lanes = items > 4 ? 8 : items > 2 ? 4 : items;
  s.volume_lanes = s.cone() ? s.voxels[2] : lanes;
  s.data_lanes = s.cone() ? s.rows : lanes;
  s.groups = s.cone() ? items : (items + lanes - 1) / lanes;
  const i64 n = std::max(s.voxels[0], s.voxels[1]);
  require<NotAvailable>(n + 2 * s.spec.geometry.taps < i64{1} << 31 &&
                            s.voxels[2] + 2 * s.spec.geometry.row_taps < i64{1} << 31,
                        "rays: an image of shape ", s.spec.volume.layout.shape,
                        "; expected axes of less than 2^31 voxels");
  const i64 slab = (n + 2 * s.spec.geometry.taps) * s.volume_lanes * real_size;
  const i64 share =
      (std::min(s.voxels[0], s.voxels[1]) * s.groups + 4 * threads - 1) / (4 * threads);
  s.block = std::clamp<i64>(slab_bytes / slab, 1, most_slabs);
  if (s.spec.adjoint) s.block = std::clamp<i64>(share, 1, s.block);
  s.block = std::min(s.block, n);
  const i64 jobs = std::max<i64>(1, s.groups * s.views), wanted = (4 * threads + jobs - 1) / jobs;
  s.chunk = std::max<i64>(std::min<i64>(64, s.cells), (s.cells + wanted - 1) / wanted);
  s.chunks = (s.cells + s.chunk - 1) / s.chunk;
  s.jobs =
      s.spec.adjoint ? s.groups * ((n + s.block - 1) / s.block) : s.groups * s.views * s.chunks;
  const bool small = rays_flops(s.spec) < 1 << 16;
  s.tasks = small ? 1 : std::min<i64>(s.jobs, 4 * threads);
}

}  // namespace

Prepared prepare_rays_cpu(const RaysSpec& spec, Device) {
  require_rays(spec);
  Prepared p;
  auto state = std::make_shared<State>();
  State& s = *state;
  s.spec = spec;
  set_sizes(s);
  if (s.volume_item.empty() || (s.views == 0 && !spec.adjoint)) {
    p.task = {[](const void*, const Launch&) {}, nullptr};
    return p;
  }
  const bool wide_reals = real_of(spec.data.dtype) == DType::f64;
  set_jobs(s, wide_reals ? 8 : 4);
  Slot<double> doubles;
  Slot<float> floats;
  s.slot_bytes = wide_reals ? lay_out_slot(s, nullptr, doubles) : lay_out_slot(s, nullptr, floats);
  p.workspace = s.tasks * s.slot_bytes;
  p.flops = rays_flops(spec);
  p.task = {wide_reals ? &run_rays<double> : &run_rays<float>, std::move(state)};
  return p;
}

}  // namespace tessera
