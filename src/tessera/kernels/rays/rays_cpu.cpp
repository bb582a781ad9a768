// SPDX-License-Identifier: Apache-2.0
// Note [slabs]: forward, a job is some views and cells, which sum over all slabs; backward, it is
// some slabs, which sum over all views: first rows of the volume, then columns, for the rays that
// are closer to this axis or the other. So every output has one writer at a time, and sums in an
// order that no number of threads changes. Slabs are packed for as many views as a job has, and
// views for as many slabs.
#include "tessera/device/threads.hpp"
#include "tessera/kernels/axis_indexer.hpp"
#include "tessera/kernels/rays/rays_state.hpp"

namespace tessera {
namespace {

using rays::CellEdges;
using rays::CellRun;
using rays::margin;
using rays::Move;
using rays::Row;
using rays::Slot;
using rays::State;

// Of a job: slabs of images that stay in a near cache, and what is worth packing for otherwise.
constexpr i64 near_bytes = 128 << 10, far_bytes = 1 << 20, cone_bytes = 8 << 20, least_slabs = 8;

i64 parts(i64 n, i64 part) { return (n + part - 1) / part; }

// The runs along an axis among cells [begin, end) of a view.
template <class F>
void each_run(const CellEdges& e, int axis, i64 begin, i64 end, const F& f) {
  while (begin < end) {
    const CellRun run = e.next_run(axis, begin, end);
    begin = run.end;
    if (run.begin < run.end) f(run);
  }
}

template <bool Adjoint, class R>
void add_cones(const State& s, const Slot<R>& slot, const double* view, const CellEdges& e,
               const CellRun& run, i64 first, i64 count, R* cells) {
  const RayGeometry& g = s.geometry();
  rays::ConeSlab<R> slab{slot.slabs,
                         s.voxels[1 - run.axis],
                         s.voxels[2],
                         {g.first_voxel[1 - run.axis], g.first_voxel[2]},
                         slot.column};
  const rays::ConeCells<R> to{cells, Adjoint ? s.rows : s.cell_rows(), s.cell_rows()};
  for (i64 b = 0; b < count; ++b, slab.first += s.slab_step(run.axis))
    rays::add_cone_slab<Adjoint>(g, view, e, run, s.centre(run.axis, first + b), slot.taps, slab,
                                 to);
}

template <class R>
void project_slabs(const State& s, const Slot<R>& slot, const CellEdges& e, const CellRun& run,
                   i64 first, i64 count, R* sums) {
  const i64 pitch = s.slab_step(run.axis);
  R distance[rays::most_slabs], nearness[rays::most_slabs];
  i64 sides[3] = {0, 0, count};  // of the source: up to it, and beyond
  for (i64 b = 0; b < count; ++b) {
    const double at = e.distance(run.axis, s.centre(run.axis, first + b));
    sides[1] += at <= 0;
    distance[b] = static_cast<R>(at);
    nearness[b] = static_cast<R>(std::fabs(at) > rays::least_shadow ? 1 / std::fabs(at) : 0);
  }
  for (int side = 0; side < 2; ++side) {
    const i64 b = sides[side], n = sides[side + 1] - b;
    if (n == 0) continue;
    const double c = s.centre(run.axis, first + b);
    const rays::Slabs<R> slabs{
        {slot.slabs + margin + b * pitch, s.voxels[1 - run.axis], s.slab_image(run.axis)},
        pitch,
        s.geometry().first_voxel[1 - run.axis],
        c,
        n,
        distance + b,
        nearness + b};
    const double farthest = e.distance(run.axis, side == 0 ? c : c + static_cast<double>(n - 1));
    rays::project_slabs(s.images, e, run, slabs, farthest, Row<R>{sums, s.chunk, s.cell_image()});
  }
}

template <class R>
void project(const State& s, const Slot<R>& slot, i64 job, R* volume, const double* views,
             R* data) {
  const i64 chunk = job % s.chunks, first_view = job / s.chunks % s.ranges * s.range,
            group = job / s.chunks / s.ranges, count = std::min(s.range, s.views - first_view);
  const i64 begin = s.first_block() + chunk * s.chunk,
            end = std::min(begin + s.chunk, s.last_cell());
  const auto view_at = [&](i64 v) { return views + (first_view + v) * view_numbers; };
  for (i64 v = 0; v < count; ++v)
    rays::find_edges(s.geometry(), view_at(v), begin, end, slot.edges[v]);
  std::fill_n(slot.data, count * s.packed_view(), R(0));
  for (const int axis : {1, 0}) {
    const auto all_runs = [&](const auto& f) {
      for (i64 v = 0; v < count; ++v)
        each_run(slot.edges[v], axis, begin, end, [&](const CellRun& run) {
          f(view_at(v), slot.edges[v], run, slot.data + v * s.packed_view());
        });
    };
    bool any = false;
    all_runs([&](auto&&...) { any = true; });
    if (!any) continue;
    std::fill_n(slot.slabs, s.block * s.slab_step(axis), R(0));  // margins stay as they are
    for (i64 first = 0; first < s.voxels[axis]; first += s.block) {
      const i64 slabs = std::min(s.block, s.voxels[axis] - first);
      rays::move_slabs<Move::read>(s, group, axis, first, slabs, slot.slabs, volume);
      all_runs([&](const double* view, const CellEdges& e, const CellRun& run, R* sums) {
        if (s.cone())
          add_cones<false>(s, slot, view, e, run, first, slabs, sums);
        else
          project_slabs(s, slot, e, run, first, slabs, sums);
      });
    }
    if (s.cone()) continue;
    all_runs([&](const double*, const CellEdges& e, const CellRun& run, R* sums) {
      rays::scale_sums(s.images, e, run, Row<R>{sums, s.chunk, s.cell_image()});
    });
  }
  const i64 from = std::max(begin, s.geometry().first_cell);
  for (i64 v = 0; v < count; ++v) {
    R* const sums = slot.data + v * s.packed_view();
    if (s.cone())
      rays::move_rows<false>(
          s, group, first_view + v, view_at(v), slot.edges[v], from, end, slot,
          sums + (from - begin) * s.cell_rows() + State::lead(s.geometry().first_row), data);
    else
      rays::move_cells<false, R>(s, group, first_view + v, from, end, sums + (from - begin), data,
                                 nullptr);
  }
}

// The data of a run of cells of one view, times what is the same for all slabs.
template <class R>
void pack_view(const State& s, const Slot<R>& slot, i64 group, i64 number, const CellRun& run,
               R* data) {
  const CellEdges& e = *slot.edges;
  const i64 cells = run.end - run.begin, at = run.begin - e.begin;
  for (i64 d = 0; d < cells; ++d) {
    const double width = std::fabs(e.right[at + d] - e.left[at + d]);
    slot.scale[d] =
        static_cast<R>(e.length[at + d] / (e.parallel ? 1 : std::max(width, rays::least_shadow)));
  }
  rays::move_cells<true>(s, group, number, run.begin, run.end, slot.data + margin, data,
                         slot.scale);
  for (i64 g = 0; g < s.images; ++g) {  // behind the run there are cells of others before
    R* const row = slot.data + g * s.cell_image();
    std::fill(row + margin + cells, row + s.cell_image(), R(0));
  }
}

// One view and the slabs of a job.
template <class R>
void backproject_run(const State& s, Slot<R>& slot, i64 group, const double* view, i64 number,
                     const CellRun& run, i64 first, i64 count, R* data) {
  const RayGeometry& g = s.geometry();
  const CellEdges& e = *slot.edges;
  if (s.cone()) {
    R* const cells = slot.data + (run.begin - e.begin) * s.cell_rows() + margin;
    rays::move_rows<true>(s, group, number, view, e, run.begin, run.end, slot, cells, data);
    return add_cones<true>(s, slot, view, e, run, first, count, slot.data);
  }
  pack_view(s, slot, group, number, run, data);
  const i64 cells = run.end - run.begin, step = s.slab_step(run.axis),
            width = s.slab_image(run.axis), start = g.first_voxel[1 - run.axis],
            voxel = start - State::lead(start);
  const double c = s.centre(run.axis, first);
  if (!e.parallel) {
    slot.fan.data = {slot.data + margin, cells, s.cell_image()};
    rays::make_fan(e, run, slot.fan);
    return rays::backproject_fan(s.images, e, run.axis, slot.fan, c, count, voxel,
                                 Row<R>{slot.slabs, width, width}, step);
  }
  R ones[rays::most_slabs];
  std::fill_n(ones, rays::most_slabs, R(1));
  const rays::Slabs<R> from{
      {slot.data + margin, cells, s.cell_image()}, 0, run.begin, c, count, ones, ones};
  rays::backproject_parallel(s.images, e, g.zero[0], from, voxel, Row<R>{slot.slabs, width, width},
                             step);
}

// Rows are written, columns added to what the rows left.
template <class R>
void backproject(const State& s, Slot<R>& slot, int axis, i64 job, R* volume, const double* views,
                 R* data) {
  const i64 blocks = parts(s.voxels[axis], s.block), group = job / blocks,
            first = job % blocks * s.block, count = std::min(s.block, s.voxels[axis] - first);
  std::fill_n(slot.slabs, count * s.slab_step(axis), R(0));
  std::fill_n(slot.data, s.packed_view(), R(0));
  bool met = axis == 1;
  for (i64 number = 0; number < s.views; ++number) {
    const double* view = views + number * view_numbers;
    rays::find_edges(s.geometry(), view, s.first_block(), s.last_cell(), *slot.edges);
    each_run(*slot.edges, axis, s.geometry().first_cell, s.last_cell(), [&](const CellRun& run) {
      met = true;
      backproject_run(s, slot, group, view, number, run, first, count, data);
    });
  }
  if (axis == 1)
    rays::move_slabs<Move::write>(s, group, axis, first, count, slot.slabs, volume);
  else if (met)
    rays::move_slabs<Move::add>(s, group, axis, first, count, slot.slabs, volume);
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
        if (s.cone()) std::fill_n(slot.column, rays::column_room(s.voxels[2]), R(0));
        for (i64 job = task; job < jobs; job += tasks) run(slot, job);
      }
    });
  };
  if (!s.spec.adjoint)
    return each_job(s.groups * s.ranges * s.chunks,
                    [&](Slot<R>& slot, i64 job) { project<R>(s, slot, job, in, views, out); });
  for (const int axis : {1, 0})
    each_job(s.groups * parts(s.voxels[axis], s.block),
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
  const i64 b = s.spec.batch_axes, reals = is_complex(s.spec.data.dtype) ? 2 : 1;
  for (i64 a = 0; a < (s.cone() ? 3 : 2); ++a) {
    s.voxels[a] = x.shape[x.ndim() - 1 - a];
    s.voxel_step[a] = reals * x.strides[x.ndim() - 1 - a];
  }
  s.views = y.shape[b];
  s.view_step = reals * y.strides[b];
  s.cells = y.shape[y.ndim() - 1];
  s.cell_step = reals * y.strides[y.ndim() - 1];
  if (s.cone()) {
    s.rows = y.shape[b + 1];
    s.row_step = reals * y.strides[b + 1];
  }
  s.volume_item = items_of(x, b, reals == 2);
  s.data_item = items_of(y, b, reals == 2);
}

void set_jobs(State& s, i64 real_size) {
  const i64 items = static_cast<i64>(s.volume_item.size()), threads = num_threads(),
            wanted = threads == 1 ? 1 : 3 * threads;  // jobs
  s.images = s.cone() ? 1 : items > 2 ? 4 : items;
  s.groups = parts(items, s.images);
  const i64 n = std::max(s.voxels[0], s.voxels[1]);
  require<NotAvailable>(n + 2 * s.geometry().taps < i64{1} << 30 && s.voxels[2] < i64{1} << 30,
                        "rays: an image of shape ", s.spec.volume.layout.shape,
                        "; expected axes of less than 2^30 voxels");
  const i64 slab = std::max(s.slab_step(0), s.slab_step(1)) * real_size;
  const bool singly = s.cone() || (s.fan() && s.spec.adjoint);  // no slabs are followed together
  s.block = std::max<i64>(1, (s.cone() ? cone_bytes : singly ? far_bytes : near_bytes) / slab);
  if (s.spec.adjoint) {
    const i64 share = parts(std::min(s.voxels[0], s.voxels[1]) * s.groups, wanted);
    s.block = std::min(s.block, std::max(share, least_slabs));
  }
  s.block = std::min(s.block, singly ? n : std::min(n, rays::most_slabs));
  const i64 cells = rays::whole_blocks(State::lead(s.geometry().first_cell) + s.cells),
            few = std::max<i64>(1, parts(wanted, std::max<i64>(1, s.groups * s.views)));
  s.chunk = std::max<i64>(std::min<i64>(64, cells), rays::whole_blocks(parts(cells, few)));
  s.chunks = parts(cells, s.chunk);
  const i64 view = s.packed_view() * real_size + s.chunk * 4 * i64{sizeof(double)};
  s.range = std::max<i64>(1, parts(s.groups * s.views, wanted));
  s.range = std::min(s.range, std::max<i64>(1, (s.cone() ? cone_bytes : far_bytes) / view));
  s.ranges = parts(s.views, s.range);
  const i64 jobs = s.groups * (s.spec.adjoint ? parts(n, s.block) : s.ranges * s.chunks);
  const bool small = rays_flops(s.spec) < 1 << 16;
  s.tasks = small ? 1 : std::min<i64>(jobs, 4 * threads);
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
