// SPDX-License-Identifier: Apache-2.0
// Note [packed tiles]: the output is cut into tiles: some columns along the axis that lies densest
// in memory, a few rows along the others. The rows of the input that a tile needs are packed into a
// dense buffer, border included, strided columns sorted by phase; so every tap is one offset into
// the buffer, the same for all rows of the tile, and the inner loop knows neither strides nor
// borders. Batch axes along which the kernel is the same are axes with one tap.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tessera/array/loop.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/kernels/convolve/convolve.hpp"
#include "tessera/kernels/convolve/convolve_rows.hpp"
#include "tessera/kernels/copy/cast.hpp"

namespace tessera {
namespace {

constexpr i64 tile_bytes = 48 << 10;
constexpr i64 tile_columns = 1024;  // reals
constexpr i64 small_products = 1 << 15;

struct Axis {
  i64 out = 1, in = 1, taps = 1;
  i64 out_step = 0, in_step = 0, kernel_step = 0;  // elements
  i64 left = 0, stride = 1, dilation = 1;
  i64 tile = 1, rows = 1, tiles = 1;  // outputs of a tile; rows of the input that it needs
  i64 row_step = 0;                   // reals in the buffer
  bool plain() const { return taps == 1 && left == 0 && stride == 1 && in == out; }
};

struct State {
  std::vector<Axis> outer;
  Axis inner;
  Boundary boundary = Boundary::zeros;
  Loop groups;  // out, in, kernel: batch items with kernels of their own
  i64 tiles = 1, columns = 1, tasks = 1;
  i64 lanes = 1, parts = 1;               // reals of an element; of a weight
  i64 phase_points = 0, phase_pitch = 0;  // elements; reals
  i64 taps = 1, real_size = 4, in_size = 4, out_size = 4, kernel_size = 4;
  i64 weight_bytes = 0, slot_bytes = 0, row_bytes = 0;
  bool conj_kernel = false;
  std::vector<i64> tap_offset, kernel_offset;  // reals in the buffer; elements of the kernel
  CastRow load = nullptr, load_weight = nullptr, store = nullptr;
};

i64 modulo(i64 a, i64 n) {
  const i64 r = a % n;
  return r < 0 ? r + n : r;
}

void zero(std::byte* p, i64 bytes) { std::memset(p, 0, static_cast<std::size_t>(bytes)); }

// Input positions first, first + stride, ...: `points` of them, as elements of the work type.
void pack_phase(const State& s, const std::byte* row, i64 first, std::byte* to) {
  const Axis& a = s.inner;
  const i64 bytes = s.real_size * s.lanes, step = a.in_step * s.in_size;
  if (s.boundary == Boundary::zeros) {
    const i64 begin =
        std::clamp<i64>(first < 0 ? (-first - 1) / a.stride + 1 : 0, 0, s.phase_points);
    const i64 end = std::clamp<i64>(first < a.in ? (a.in - first - 1) / a.stride + 1 : 0, begin,
                                    s.phase_points);
    zero(to, begin * bytes);
    if (end > begin)
      s.load(row + (first + begin * a.stride) * step, step * a.stride, to + begin * bytes, bytes,
             end - begin);
    zero(to + end * bytes, (s.phase_points - end) * bytes);
    return;
  }
  for (i64 m = 0; m < s.phase_points;) {
    const i64 at = modulo(first + m * a.stride, a.in);
    const i64 n = std::min(s.phase_points - m, (a.in - at - 1) / a.stride + 1);
    s.load(row + at * step, step * a.stride, to + m * bytes, bytes, n);
    m += n;
  }
}

// All rows that the tile needs; `origin` holds the tile's first output along each outer axis.
void pack_tile(const State& s, const std::byte* in, const Shape& origin, i64 column,
               std::byte* buffer) {
  const i64 rank = static_cast<i64>(s.outer.size());
  Shape at(rank, 0);
  std::byte* to = buffer;
  const i64 phase_bytes = s.phase_pitch * s.real_size, phases = s.inner.stride;
  while (true) {
    i64 offset = 0;
    bool inside = true;
    for (i64 i = 0; i < rank; ++i) {
      const Axis& a = s.outer[static_cast<std::size_t>(i)];
      i64 p = origin[i] * a.stride + at[i] - a.left;
      if (s.boundary == Boundary::circular) p = modulo(p, a.in);
      inside = inside && p >= 0 && p < a.in;
      offset += p * a.in_step;
    }
    for (i64 p = 0; p < phases; ++p, to += phase_bytes) {
      if (inside)
        pack_phase(s, in + offset * s.in_size, column * phases + p - s.inner.left, to);
      else
        zero(to, s.phase_points * s.lanes * s.real_size);
    }
    i64 i = rank - 1;
    while (i >= 0 && ++at[i] == s.outer[static_cast<std::size_t>(i)].rows) at[i] = 0, --i;
    if (i < 0) return;
  }
}

// (re, im) of a complex kernel: the second row times i is added to the first.
template <class R>
void join_parts(R* y, i64 pitch, i64 n) {
  for (i64 i = 0; i < n; ++i) {
    y[2 * i] -= y[pitch + 2 * i + 1];
    y[2 * i + 1] += y[pitch + 2 * i];
  }
}

template <class R>
void compute_row(const State& s, const R* x, const R* weights, R* y, i64 n) {
  const i64 pitch = s.row_bytes / static_cast<i64>(sizeof(R));
  if (s.parts == 1)
    return correlate_row<R, 1>(x, s.tap_offset.data(), weights, s.taps, y, pitch, n * s.lanes);
  correlate_row<R, 2>(x, s.tap_offset.data(), weights, s.taps, y, pitch, n * s.lanes);
  join_parts(y, pitch, n);
}

template <class R>
void compute_tile(const State& s, const std::byte* buffer, const R* weights, const Shape& origin,
                  i64 column, std::byte* out, R* y) {
  const i64 rank = static_cast<i64>(s.outer.size()), n = std::min(s.columns, s.inner.out - column);
  const auto* packed = reinterpret_cast<const R*>(buffer);
  Shape at(rank, 0);
  while (true) {
    i64 from = 0, to = column * s.inner.out_step;
    for (i64 i = 0; i < rank; ++i) {
      const Axis& a = s.outer[static_cast<std::size_t>(i)];
      from += at[i] * a.stride * a.row_step;
      to += (origin[i] + at[i]) * a.out_step;
    }
    compute_row<R>(s, packed + from, weights, y, n);
    s.store(y, s.lanes * s.real_size, out + to * s.out_size, s.inner.out_step * s.out_size, n);
    i64 i = rank - 1;
    for (; i >= 0; --i) {
      const Axis& a = s.outer[static_cast<std::size_t>(i)];
      if (++at[i] < std::min(a.tile, a.out - origin[i])) break;
      at[i] = 0;
    }
    if (i < 0) return;
  }
}

template <class R>
void pack_weights(const State& s, const std::byte* kernel, R* weights) {
  for (i64 t = 0; t < s.taps; ++t) {
    R* w = weights + t * s.parts;
    s.load_weight(kernel + s.kernel_offset[static_cast<std::size_t>(t)] * s.kernel_size, 0, w, 0,
                  1);
    if (s.parts == 2 && s.conj_kernel) w[1] = -w[1];
  }
}

template <class R>
void run(const void* state, const Launch& launch) {
  const State& s = *static_cast<const State*>(state);
  const auto* in = static_cast<const std::byte*>(launch.operand[0]);
  const auto* kernel = static_cast<const std::byte*>(launch.operand[1]);
  auto* out = static_cast<std::byte*>(launch.operand[2]);
  auto* workspace = static_cast<std::byte*>(launch.workspace);
  const i64 groups = s.groups.size(), all = groups * s.tiles;
  parallel_for(groups, 16, [&](i64 begin, i64 end) {
    for (i64 g = begin; g < end; ++g)
      pack_weights(s, kernel + Cursor(s.groups, g).offset(2),
                   reinterpret_cast<R*>(workspace + g * s.weight_bytes));
  });
  parallel_for(s.tasks, 1, [&](i64 first, i64 last) {
    for (i64 task = first; task < last; ++task) {
      std::byte* const slot = workspace + groups * s.weight_bytes + task * s.slot_bytes;
      auto* const row = reinterpret_cast<R*>(slot);
      std::byte* const buffer = slot + s.parts * s.row_bytes;
      Shape origin(static_cast<i64>(s.outer.size()), 0);
      for (i64 t = all * task / s.tasks; t < all * (task + 1) / s.tasks; ++t) {
        const Cursor group(s.groups, t / s.tiles);
        i64 rest = t % s.tiles;
        const i64 column = rest % s.inner.tiles * s.columns;
        rest /= s.inner.tiles;
        for (i64 i = origin.size() - 1; i >= 0; --i) {
          const Axis& a = s.outer[static_cast<std::size_t>(i)];
          origin[i] = rest % a.tiles * a.tile;
          rest /= a.tiles;
        }
        pack_tile(s, in + group.offset(1), origin, column, buffer);
        compute_tile<R>(s, buffer,
                        reinterpret_cast<const R*>(workspace + t / s.tiles * s.weight_bytes),
                        origin, column, out + group.offset(0), row);
      }
    }
  });
}

// Plain axes that step evenly on both sides become one; wide steps of the output come first.
void sort_axes(std::vector<Axis>& axes) {
  std::stable_sort(axes.begin(), axes.end(), [](const Axis& a, const Axis& b) {
    return std::abs(a.out_step) > std::abs(b.out_step);
  });
  for (std::size_t i = 1; i < axes.size();) {
    Axis &a = axes[i - 1], &b = axes[i];
    if (a.plain() && b.plain() && a.out_step == b.out_step * b.out &&
        a.in_step == b.in_step * b.out) {
      b.out *= a.out;
      b.in = b.out;
      axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(i) - 1);
    } else {
      ++i;
    }
  }
}

// The axis along which rows run: dense in the output, and not too short.
std::size_t inner_axis(const std::vector<Axis>& axes) {
  std::size_t best = axes.size() - 1;
  for (std::size_t i = axes.size(); i-- > 0;)
    if (axes[i].out >= 8) {
      best = i;
      break;
    }
  return axes[best].out >= 8 ? best : axes.size() - 1;
}

i64 tile_reals(const State& s) {
  i64 n = s.phase_pitch * s.inner.stride;
  for (const Axis& a : s.outer) n *= a.rows;
  return n;
}

void set_tile(Axis& a, i64 tile) {
  a.tile = tile;
  a.rows = (tile - 1) * a.stride + (a.taps - 1) * a.dilation + 1;
  a.tiles = (a.out + tile - 1) / tile;
}

// Doubles the tile along the axis with the fewest rows, axes with several taps first, while the
// buffer fits the cache.
void choose_tile(State& s) {
  s.columns = std::min(std::max<i64>(s.inner.out, 1), tile_columns / s.lanes);
  s.inner.tiles = (s.inner.out + s.columns - 1) / s.columns;
  s.phase_points = s.columns + (s.inner.taps - 1) * s.inner.dilation / s.inner.stride + 1;
  s.phase_pitch = s.phase_points * s.lanes + row_slack;
  for (Axis& a : s.outer) set_tile(a, 1);
  for (const bool tapped : {true, false}) {
    const i64 most = tapped ? tile_bytes : tile_bytes / 3;
    while (true) {
      Axis* next = nullptr;
      for (Axis& a : s.outer)
        if ((a.taps > 1) == tapped && a.tile < a.out && (!next || a.tile < next->tile)) next = &a;
      if (!next) break;
      const i64 before = next->tile;
      set_tile(*next, std::min(2 * before, next->out));
      if (tile_reals(s) * s.real_size <= most) continue;
      set_tile(*next, before);
      break;
    }
  }
}

void set_taps(State& s) {
  i64 step = s.phase_pitch * s.inner.stride;
  for (std::size_t i = s.outer.size(); i-- > 0;) {
    s.outer[i].row_step = step;
    step *= s.outer[i].rows;
  }
  s.taps = s.inner.taps;
  for (const Axis& a : s.outer) s.taps *= a.taps;
  for (i64 t = 0; t < s.taps; ++t) {
    const Axis& x = s.inner;
    const i64 j = t % x.taps, place = j * x.dilation;
    i64 rest = t / x.taps, kernel = j * x.kernel_step;
    i64 at = place % x.stride * s.phase_pitch + place / x.stride * s.lanes;
    for (std::size_t i = s.outer.size(); i-- > 0;) {
      const Axis& a = s.outer[i];
      kernel += rest % a.taps * a.kernel_step;
      at += rest % a.taps * a.dilation * a.row_step;
      rest /= a.taps;
    }
    s.tap_offset.push_back(at);
    s.kernel_offset.push_back(kernel);
  }
}

std::vector<Axis> axes_of(const ConvolveSpec& spec, Layout& group_out, Layout& group_in,
                          Layout& group_kernel) {
  const Layout &in = spec.in.layout, &kernel = spec.kernel.layout, &out = spec.out.layout;
  const i64 rank = spec.left.size(), batch = out.ndim() - rank;
  std::vector<Axis> axes;
  for (i64 i = 0; i < batch; ++i) {
    if (out.shape[i] == 1) continue;
    if (kernel.strides[i] == 0) {
      Axis a;
      a.out = a.in = out.shape[i];
      a.out_step = out.strides[i];
      a.in_step = in.strides[i];
      axes.push_back(a);
      continue;
    }
    for (const auto& [group, from] :
         {std::pair{&group_out, &out}, {&group_in, &in}, {&group_kernel, &kernel}}) {
      group->shape.push_back(out.shape[i]);
      group->strides.push_back(from->strides[i]);
    }
  }
  for (i64 d = 0; d < rank; ++d) {
    const i64 i = batch + d;
    Axis a;
    a.out = out.shape[i];
    a.in = in.shape[i];
    a.taps = kernel.shape[i];
    a.out_step = out.strides[i];
    a.in_step = in.strides[i];
    a.kernel_step = kernel.strides[i];
    a.left = spec.left[d];
    a.stride = spec.stride[d];
    a.dilation = spec.dilation[d];
    axes.push_back(a);
  }
  return axes;
}

}  // namespace

Prepared prepare_convolve_cpu(const ConvolveSpec& spec, Device) {
  require_convolve(spec);
  auto state = std::make_shared<State>();
  State& s = *state;
  Layout group_out, group_in, group_kernel;
  s.outer = axes_of(spec, group_out, group_in, group_kernel);
  s.boundary = spec.boundary;
  s.conj_kernel = spec.conj_kernel;
  const DType t = spec.out.dtype, work = size_of(t) == 2 ? DType::f32 : t;
  s.lanes = is_complex(t) ? 2 : 1;
  s.parts = is_complex(spec.kernel.dtype) ? 2 : 1;
  s.real_size = size_of(real_of(work));
  s.in_size = s.out_size = size_of(t);
  s.kernel_size = size_of(spec.kernel.dtype);
  s.load = cast_row(t, work);
  s.load_weight = cast_row(spec.kernel.dtype, s.parts == 2 ? work : real_of(work));
  s.store = cast_row(work, t);
  s.groups = Loop({&group_out, &group_in, &group_kernel}, {s.out_size, s.in_size, s.kernel_size});
  sort_axes(s.outer);
  const std::size_t inner = inner_axis(s.outer);
  s.inner = s.outer[inner];
  s.outer.erase(s.outer.begin() + static_cast<std::ptrdiff_t>(inner));
  choose_tile(s);
  set_taps(s);
  s.tiles = s.inner.tiles;
  for (const Axis& a : s.outer) s.tiles *= a.tiles;
  const auto rounded = [](i64 bytes) { return (bytes + 63) / 64 * 64; };
  s.weight_bytes = rounded(s.taps * s.parts * s.real_size);
  s.row_bytes = rounded((s.columns * s.lanes + row_slack) * s.real_size);
  s.slot_bytes = rounded(s.parts * s.row_bytes + tile_reals(s) * s.real_size);
  const double products = convolve_products(spec);
  s.tasks = products < small_products
                ? 1
                : std::max<i64>(1, std::min<i64>(s.groups.size() * s.tiles, 4 * num_threads()));
  Prepared p;
  p.workspace = s.groups.size() * s.weight_bytes + s.tasks * s.slot_bytes;
  p.flops = 2 * products;
  p.task = {s.real_size == 4 ? &run<float> : &run<double>, std::move(state)};
  return p;
}

}  // namespace tessera
