// SPDX-License-Identifier: Apache-2.0
// Ray transforms on CUDA: a thread for each output, with the weights of the cpu's kernel. Forward
// it walks the slabs that its ray crosses; backward it looks for the cells whose shadows may meet
// its voxel, a cell more on both sides, since cells without a part in it add nothing. No atomics:
// results do not depend on timing.
#include <algorithm>

#include "tessera/kernels/cuda/compose.hpp"
#include "tessera/kernels/cuda/grid.cuh"
#include "tessera/kernels/cuda/loops.cuh"
#include "tessera/kernels/rays/ray_math.hpp"

namespace tessera {
namespace cuda {
namespace {

using rays::RayLine;
using rays::SlabLine;

struct RaysArgs {
  RayGeometry g;
  Loops batch;                   // operands 0: volume, 1: data
  i64 voxels[3], voxel_step[3];  // x, y, z
  i64 views, rows, cells, view_step, row_step, cell_step;
  const void* in;
  const double* view;
  void* out;
};

__device__ inline void add_weighted(float& sum, double w, float x) {
  sum += static_cast<float>(w) * x;
}
__device__ inline void add_weighted(double& sum, double w, double x) { sum += w * x; }
template <class R>
__device__ inline void add_weighted(Complex<R>& sum, double w, const Complex<R>& x) {
  sum.re += static_cast<R>(w) * x.re;
  sum.im += static_cast<R>(w) * x.im;
}

struct Shadow {
  double low, high, scale;
};
__device__ inline Shadow shadow_of(const SlabLine& a, const SlabLine& b, double c, double length) {
  const double from = a.base + a.slope * c, to = b.base + b.slope * c;
  const double low = from < to ? from : to, high = from < to ? to : from, width = high - low;
  return {low, high, length / (width > rays::least_shadow ? width : rays::least_shadow)};
}

// The voxels [first, last] of a part of an axis that [low, high] may meet.
__device__ inline i64 first_met(double low, i64 start) {
  const double first = floor(low) - static_cast<double>(start);
  return first > 0 ? static_cast<i64>(first) : 0;
}
__device__ inline i64 last_met(double high, i64 start, i64 n) {
  const double last = floor(high) - static_cast<double>(start);
  return last < static_cast<double>(n - 1) ? static_cast<i64>(last) : n - 1;
}

template <class T>
__global__ void __launch_bounds__(block_threads)
    project_kernel(const __grid_constant__ RaysArgs a) {
  const RayGeometry& g = a.g;
  const i64 count = a.batch.count * a.views * a.rows * a.cells;
  for (i64 p = thread_position(); p < count; p += thread_count()) {
    const i64 cell = p % a.cells, row = p / a.cells % a.rows,
              number = p / a.cells / a.rows % a.views;
    i64 item[2];
    a.batch.offsets(p / a.cells / a.rows / a.views, item);
    const double* view = a.view + number * view_numbers;
    const auto at = static_cast<double>(g.first_cell + cell);
    const RayLine centre = rays::ray_line(g, view, at + 0.5);
    const int axis = rays::main_axis(centre), other = 1 - axis;
    const SlabLine left = rays::on_slabs(rays::ray_line(g, view, at), axis),
                   right = rays::on_slabs(rays::ray_line(g, view, at + 1), axis);
    const double length = rays::slab_length(g, centre, axis);
    const T* volume = static_cast<const T*>(a.in) + item[0];
    T sum = T(0);
    for (i64 slab = 0; slab < a.voxels[axis]; ++slab) {
      const double c = static_cast<double>(g.first_voxel[axis] + slab) + 0.5;
      const Shadow s = shadow_of(left, right, c, length);
      double low = 0, high = 1, scale = 1;  // along z
      i64 bottom = 0, top = 0;
      if (g.rows) {
        const double depth = rays::slab_depth(centre, axis, c);
        if (!(depth > 0)) continue;
        const SlabLine z = rays::rows_on_slab(g, view, depth);
        low = z.base + z.slope * static_cast<double>(g.first_row + row);
        high = low + z.slope;
        scale = 1 / z.slope;
        bottom = first_met(low, g.first_voxel[2]);
        top = last_met(high, g.first_voxel[2], a.voxels[2]);
      }
      const i64 last = last_met(s.high, g.first_voxel[other], a.voxels[other]);
      for (i64 j = first_met(s.low, g.first_voxel[other]); j <= last; ++j) {
        const double w =
            s.scale * rays::covered(s.low, s.high, static_cast<double>(g.first_voxel[other] + j));
        if (!(w > 0)) continue;
        const T* voxel = volume + slab * a.voxel_step[axis] + j * a.voxel_step[other];
        if (!g.rows) {
          add_weighted(sum, w, *voxel);
          continue;
        }
        for (i64 z = bottom; z <= top; ++z) {
          const double part =
              scale * rays::covered(low, high, static_cast<double>(g.first_voxel[2] + z));
          if (part > 0) add_weighted(sum, w * part, voxel[z * a.voxel_step[2]]);
        }
      }
    }
    T result = sum;
    if (g.rows) {
      result = T(0);
      add_weighted(result, rays::row_stretch(g, view, centre, g.first_row + row), sum);
    }
    static_cast<T*>(a.out)[item[1] + number * a.view_step + row * a.row_step + cell * a.cell_step] =
        result;
  }
}

// What one cell, in all its rows, adds to a voxel; x, y and z count in the whole volume.
template <class T>
__device__ inline void add_cell(const RaysArgs& a, const double* view, i64 cell, const double* xyz,
                                const T* data, T& sum) {
  const RayGeometry& g = a.g;
  const auto at = static_cast<double>(g.first_cell + cell);
  const RayLine centre = rays::ray_line(g, view, at + 0.5);
  const int axis = rays::main_axis(centre), other = 1 - axis;
  const double c = xyz[axis] + 0.5;
  const Shadow s = shadow_of(rays::on_slabs(rays::ray_line(g, view, at), axis),
                             rays::on_slabs(rays::ray_line(g, view, at + 1), axis), c,
                             rays::slab_length(g, centre, axis));
  const double w = s.scale * rays::covered(s.low, s.high, xyz[other]);
  if (!(w > 0)) return;
  data += cell * a.cell_step;
  if (!g.rows) return add_weighted(sum, w, *data);
  const double depth = rays::slab_depth(centre, axis, c);
  if (!(depth > 0)) return;
  const SlabLine z = rays::rows_on_slab(g, view, depth);
  const double scale = 1 / z.slope, first = (xyz[2] - z.base) * scale;
  const i64 from = first_met(first - 1, g.first_row),
            to = last_met(first + scale + 1, g.first_row, a.rows);
  for (i64 row = from; row <= to; ++row) {
    const double low = z.base + z.slope * static_cast<double>(g.first_row + row);
    const double part = scale * rays::covered(low, low + z.slope, xyz[2]);
    if (part > 0)
      add_weighted(sum, w * part * rays::row_stretch(g, view, centre, g.first_row + row),
                   data[row * a.row_step]);
  }
}

template <class T>
__global__ void __launch_bounds__(block_threads)
    backproject_kernel(const __grid_constant__ RaysArgs a) {
  const RayGeometry& g = a.g;
  const i64 plane = a.voxels[0] * a.voxels[1], count = a.batch.count * plane * a.voxels[2];
  for (i64 p = thread_position(); p < count; p += thread_count()) {
    const i64 place[3] = {p % a.voxels[0], p / a.voxels[0] % a.voxels[1], p / plane % a.voxels[2]};
    i64 item[2];
    a.batch.offsets(p / plane / a.voxels[2], item);
    double xyz[3];
    i64 to = item[0];
    for (int i = 0; i < 3; ++i) {
      xyz[i] = static_cast<double>(g.first_voxel[i] + place[i]);
      to += place[i] * a.voxel_step[i];
    }
    T sum = T(0);
    for (i64 number = 0; number < a.views; ++number) {
      const double* view = a.view + number * view_numbers;
      double least = 0, most = 0;
      for (int corner = 0; corner < 4; ++corner) {
        const double e = rays::edge_through(g, view, xyz[0] + (corner & 1), xyz[1] + (corner >> 1));
        least = corner == 0 || e < least ? e : least;
        most = corner == 0 || e > most ? e : most;
      }
      const T* data = static_cast<const T*>(a.in) + item[1] + number * a.view_step;
      const i64 last = last_met(most + 1, g.first_cell, a.cells);
      for (i64 cell = first_met(least - 1, g.first_cell); cell <= last; ++cell)
        add_cell(a, view, cell, xyz, data, sum);
    }
    static_cast<T*>(a.out)[to] = sum;
  }
}

struct RaysState {
  RaysArgs args;
  void (*start)(const RaysArgs&, cudaStream_t) = nullptr;
};

template <class T, bool Adjoint>
void start_rays(const RaysArgs& a, cudaStream_t stream) {
  if constexpr (Adjoint) {
    const i64 count = a.batch.count * a.voxels[0] * a.voxels[1] * a.voxels[2];
    backproject_kernel<T><<<blocks_for(count, block_threads), block_threads, 0, stream>>>(a);
  } else {
    const i64 count = a.batch.count * a.views * a.rows * a.cells;
    project_kernel<T><<<blocks_for(count, block_threads), block_threads, 0, stream>>>(a);
  }
  check_launch("launching a ray transform");
}

void run_rays(const void* state, const Launch& launch) {
  const auto& s = *static_cast<const RaysState*>(state);
  RaysArgs args = s.args;
  args.in = launch.operand[0];
  args.view = static_cast<const double*>(launch.operand[1]);
  args.out = launch.operand[2];
  s.start(args, stream_of(launch));
}

Loops batch_loops(const RaysSpec& spec) {
  const Layout &x = spec.volume.layout, &y = spec.data.layout;
  const i64 b = spec.batch_axes;
  const Strides strides[] = {Strides(x.strides.begin(), x.strides.begin() + b),
                             Strides(y.strides.begin(), y.strides.begin() + b)};
  const MergedLoops m = merge_loops(Shape(x.shape.begin(), x.shape.begin() + b), strides, -1);
  require<NotAvailable>(m.size.size() <= loop_axes, "rays on cuda: more than ", loop_axes,
                        " batch axes that cannot be merged in shape ", x.shape);
  return device_loops(m, loop_axes);
}

}  // namespace
}  // namespace cuda

Prepared prepare_rays_cuda(const RaysSpec& spec, Device) {
  using namespace cuda;
  require_rays(spec);
  if ((spec.adjoint ? spec.volume : spec.data).layout.size() == 0) return {{&run_nothing, nullptr}};
  const Layout &x = spec.volume.layout, &y = spec.data.layout;
  const i64 b = spec.batch_axes;
  auto s = std::make_shared<RaysState>();
  RaysArgs& a = s->args;
  a.g = spec.geometry;
  a.batch = batch_loops(spec);
  for (i64 i = 0; i < 3; ++i) {
    const bool there = i < 2 || spec.geometry.rows;
    a.voxels[i] = there ? x.shape[x.ndim() - 1 - i] : 1;
    a.voxel_step[i] = there ? x.strides[x.ndim() - 1 - i] : 0;
  }
  a.views = y.shape[b];
  a.view_step = y.strides[b];
  a.cells = y.shape[y.ndim() - 1];
  a.cell_step = y.strides[y.ndim() - 1];
  a.rows = spec.geometry.rows ? y.shape[b + 1] : 1;
  a.row_step = spec.geometry.rows ? y.strides[b + 1] : 0;
  dispatch<float, double, c64, c128>(spec.data.dtype, "rays", [&]<class T>() {
    s->start = spec.adjoint ? &start_rays<T, true> : &start_rays<T, false>;
  });
  Prepared p;
  p.flops = rays_flops(spec);
  p.task = {&run_rays, std::move(s)};
  return p;
}

}  // namespace tessera
