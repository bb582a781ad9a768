// SPDX-License-Identifier: Apache-2.0
// The cpu's transforms: which passes (fft_passes.hpp) over what, on which threads.
#include <algorithm>
#include <cmath>

#include "tessera/base/config.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/kernels/fft/fft_lines.hpp"
#include "tessera/kernels/fft/fft_passes.hpp"
#include "tessera/kernels/fft/fftw_plans.hpp"

namespace tessera {
namespace {

constexpr i64 whole_slice_bytes = 256 << 10;  // input and output of a slice in the second cache

struct State : Passes {
  bool by_slice = false;
  Shape batch_shape;
  Strides batch_in, batch_out;
  i64 batch = 1, tasks = 1;
  i64 in_element = 0, out_element = 0, weight_element = 0;
  std::size_t out_operand = 1;  // 2 for a filter, whose weight comes before
  Strides batch_weight;
  std::shared_ptr<const LinePlan> whole;  // of a slice, instead of the passes
  i64 slice_points = 0;
  double scale = 1;
  i64 slot_bytes() const { return buffer_bytes + (by_slice ? space_bytes : 0); }
};

bool ends_densely(const Layout& l, i64 axes) {
  i64 step = 1;
  for (i64 a = l.ndim() - 1; a >= l.ndim() - axes; --a) {
    if (l.strides[a] != step) return false;
    step *= l.shape[a];
  }
  return true;
}

void plan_whole(const FftSpec& spec, State& s) {
  const i64 axes = spec.axes.size(), rank = spec.in.layout.ndim();
  const i64 effort = config().fft_effort;
  if (!fftw_plans() || !s.by_slice || axes > 3 || spec.kind != FftKind::complex || spec.in_place ||
      spec.weight)
    return;
  if (!(effort >= 2 || (effort == 1 && fftw_measures_quickly))) return;
  for (i64 i = 0; i < axes; ++i)
    if (std::find(spec.axes.begin(), spec.axes.end(), rank - axes + i) == spec.axes.end()) return;
  if (!ends_densely(spec.in.layout, axes) || !ends_densely(spec.out.layout, axes)) return;
  for (const Pass& p : s.passes)
    if (std::get<0>(p.own) || std::get<1>(p.own)) return;
  const Shape& shape = spec.in.layout.shape;
  LineKey key{.single = real_of(spec.in.dtype) == DType::f32,
              .points = shape[rank - 1],
              .sign = spec.sign,
              .effort = effort,
              .rows = shape[rank - 2],
              .layers = axes == 3 ? shape[rank - 3] : 1};
  s.slice_points = key.layers * key.rows * key.points;
  const i64 bytes = s.slice_points * s.in_element;
  if (2 * bytes > whole_slice_bytes || bytes % line_alignment != 0) return;
  for (const Strides* steps : {&s.batch_in, &s.batch_out})
    for (i64 step : *steps)
      if (step * s.in_element % line_alignment != 0) return;
  s.scale = spec.scale;
  s.whole = line_plan(key);
}

template <class R>
void run_slices(const State& s, const Launch& launch) {
  const std::byte* const in = static_cast<const std::byte*>(launch.operand[0]);
  std::byte* const out = static_cast<std::byte*>(launch.operand[s.out_operand]);
  const std::byte* const weight = static_cast<const std::byte*>(launch.operand[1]);
  std::byte* const workspace = static_cast<std::byte*>(launch.workspace);
  parallel_for(s.tasks, 1, [&](i64 first, i64 last) {
    for (i64 task = first; task < last; ++task) {
      std::byte* const buffer = workspace + task * s.slot_bytes();
      for (i64 i = s.batch * task / s.tasks; i < s.batch * (task + 1) / s.tasks; ++i) {
        i64 rest = i, a = 0, b = 0, w = 0;
        for (i64 d = s.batch_shape.size() - 1; d >= 0; --d) {
          const i64 at = rest % s.batch_shape[d];
          rest /= s.batch_shape[d];
          a += at * s.batch_in[d];
          b += at * s.batch_out[d];
          w += at * s.batch_weight[d];
        }
        const std::byte* const x = in + a * s.in_element;
        std::byte* const y = out + b * s.out_element;
        if (s.whole && line_aligned(x) && line_aligned(y)) {
          s.whole->execute(const_cast<std::byte*>(x), y, nullptr);
          scale_line(reinterpret_cast<Complex<R>*>(y), s.slice_points, s.scale);
          continue;
        }
        for (const Pass& p : s.passes)
          run_pass<R>(p, 0, p.blocks, x, y, buffer + s.buffer_bytes, weight + w * s.weight_element,
                      buffer);
      }
    }
  });
}

template <class R>
void run_fft(const void* state, const Launch& launch) {
  const State& s = *static_cast<const State*>(state);
  if (s.by_slice) return run_slices<R>(s, launch);
  std::byte* const workspace = static_cast<std::byte*>(launch.workspace);
  void* const space = workspace + s.tasks * s.buffer_bytes;
  for (const Pass& p : s.passes) {
    const i64 tasks = std::min(s.tasks, p.blocks);
    parallel_for(tasks, 1, [&](i64 first, i64 last) {
      for (i64 t = first; t < last; ++t)
        run_pass<R>(p, p.blocks * t / tasks, p.blocks * (t + 1) / tasks, launch.operand[0],
                    launch.operand[s.out_operand], space, launch.operand[1],
                    workspace + t * s.buffer_bytes);
    });
  }
}

void run_nothing(const void*, const Launch&) {}

void check(const FftSpec& spec) {
  const DType in = spec.in.dtype, out = spec.out.dtype;
  const bool from_real = spec.kind == FftKind::real_to_complex,
             to_real = spec.kind == FftKind::complex_to_real;
  const DType real = real_of(in);
  require<DTypeError>((real == DType::f32 || real == DType::f64) && real_of(out) == real &&
                          is_complex(in) != from_real && is_complex(out) != to_real,
                      "fft: no kernel from ", name(in), " to ", name(out));
  const Shape &a = spec.in.layout.shape, &b = spec.out.layout.shape;
  require<ShapeError>(a.size() == b.size(), "fft: input of shape ", a, " and output of shape ", b);
  require<ArgumentError>(!spec.axes.empty(), "fft: at least 1 axis must be transformed");
  require<ArgumentError>(!spec.in_place || spec.kind == FftKind::complex,
                         "fft: only complex transforms run in place");
  if (spec.weight)
    require<ArgumentError>(spec.kind == FftKind::complex && !spec.in_place &&
                               spec.weight->layout.shape == b &&
                               (spec.weight->dtype == out || spec.weight->dtype == real),
                           "fft: a filter takes complex arrays and a weight of their shape; got ",
                           name(in), " of shape ", a, " and a weight of ", name(spec.weight->dtype),
                           " of shape ", spec.weight->layout.shape);
  Shape seen;
  for (i64 axis : spec.axes) {
    require<ArgumentError>(
        axis >= 0 && axis < a.size() && std::find(seen.begin(), seen.end(), axis) == seen.end(),
        "fft: axes ", spec.axes, " of an array of rank ", a.size());
    seen.push_back(axis);
  }
  for (i64 i = 0; i < a.size(); ++i) {
    const bool half = i == spec.axes.back() && spec.kind != FftKind::complex;
    const bool ok = !half ? a[i] == b[i] : from_real ? b[i] == a[i] / 2 + 1 : a[i] == b[i] / 2 + 1;
    require<ShapeError>(ok, "fft: input of shape ", a, " does not give an output of shape ", b);
  }
  for (i64 axis : spec.axes)
    require<ArgumentError>(a[axis] > 0 && b[axis] > 0,
                           "Invalid number of FFT data points (0) specified.");
}

void set_batch(const FftSpec& spec, State& s) {
  const Shape& shape = spec.out.layout.shape;
  for (i64 i = 0; i < shape.size(); ++i) {
    if (std::find(spec.axes.begin(), spec.axes.end(), i) != spec.axes.end()) continue;
    s.batch *= shape[i];
    if (shape[i] == 1) continue;
    s.batch_shape.push_back(shape[i]);
    s.batch_in.push_back(spec.in.layout.strides[i]);
    s.batch_out.push_back(spec.out.layout.strides[i]);
    s.batch_weight.push_back(spec.weight ? spec.weight->layout.strides[i] : 0);
  }
}

}  // namespace

Prepared prepare_fft_cpu(const FftSpec& spec, Device) {
  check(spec);
  auto state = std::make_shared<State>();
  State& s = *state;
  set_batch(spec, s);
  Prepared p;
  if (s.batch == 0) {
    p.task.run = run_nothing;
    return p;
  }
  s.in_element = size_of(spec.in.dtype);
  s.out_element = size_of(spec.out.dtype);
  if (spec.weight) {
    s.weight_element = size_of(spec.weight->dtype);
    s.out_operand = 2;
  }
  const i64 threads = num_threads();
  s.by_slice =
      spec.axes.size() > 1 && s.batch > 1 && (s.batch >= 2 * threads || s.batch % threads == 0);
  static_cast<Passes&>(s) = plan_passes(spec, s.by_slice);
  plan_whole(spec, s);
  // More pieces than threads even out their speed; slices of complex_to_real cost memory each.
  const i64 pieces = s.by_slice && s.space_bytes > (1 << 20) ? threads : 4 * threads;
  i64 most = s.by_slice ? s.batch : 1;
  if (!s.by_slice)
    for (const Pass& pass : s.passes) most = std::max(most, pass.blocks);
  const double points = static_cast<double>(spec.out.layout.size());
  s.tasks = points < 8192 ? 1 : std::min(pieces, most);
  p.workspace = s.tasks * s.slot_bytes() + (s.by_slice ? 0 : s.space_bytes);
  double length = 1;
  for (i64 axis : spec.axes)
    length *=
        static_cast<double>(std::max(spec.in.layout.shape[axis], spec.out.layout.shape[axis]));
  p.flops = (spec.weight                     ? 10.0
             : spec.kind == FftKind::complex ? 5.0
                                             : 2.5) *
            points * std::log2(std::max(length, 2.0));
  p.task.run = real_of(spec.in.dtype) == DType::f32 ? run_fft<float> : run_fft<double>;
  p.task.state = std::move(state);
  return p;
}

}  // namespace tessera
