// SPDX-License-Identifier: Apache-2.0
// Note [passes of lines]: a transform over several axes runs axis by axis. A pass takes a few
// neighbouring lines into a small dense buffer, transforms them there with one FFTW plan and puts
// them back, scaled in the last pass. Lines that are dense already go through FFTW where they
// lie. So plans depend on lengths only, not on strides or addresses, any layout works, columns
// never thrash the cache, and complex_to_real destroys only buffers. Batches of small transforms
// are spread slice by slice, large ones pass by pass. Dense slices that fit the cache go to FFTW
// whole, where it can measure how to do them best.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "tessera/base/config.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/kernels/fft/fft.hpp"
#include "tessera/kernels/fft/fft_lines.hpp"
#include "tessera/kernels/fft/fftw_plans.hpp"

namespace tessera {
namespace {

constexpr i64 buffer_target = 64 << 10;  // bytes of lines in a buffer: stays in the first cache
constexpr i64 direct_points = 64;        // dense lines from this length on are planned one by one
constexpr i64 threaded_points = 1 << 15;
constexpr i64 whole_slice_bytes = 256 << 10;  // input and output of a slice in the second cache

enum class Place : std::uint8_t { input, output, space };

struct Pass {
  FftKind kind = FftKind::complex;
  Place from = Place::input, to = Place::output;
  i64 in_points = 0, out_points = 0;  // elements of a line on each side
  i64 from_step = 0, to_step = 0;     // along the line
  Shape shape;                        // of the lines; the last axis is cut into blocks
  Strides from_strides, to_strides;
  i64 lines = 1;  // in a block
  i64 blocks = 0, blocks_per_row = 0;
  i64 in_distance = 0, out_distance = 0, out_offset = 0, buffer_bytes = 0;
  std::shared_ptr<const LinePlan> many, one, direct;  // direct: where the lines lie
  i64 direct_lines = 1;                               // in one call of it
  int sign = -1;
  double scale = 1;
  // A filter's middle: multiplied by the weight and transformed back while in the buffer.
  bool filter = false, real_weight = false;
  std::shared_ptr<const LinePlan> back_many, back_one;
  i64 weight_step = 0;
  Strides weight_strides;
};

struct State {
  std::vector<Pass> passes;
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
  i64 buffer_bytes = 0, space_bytes = 0;  // of one task; of one slice or of the whole input
  i64 slot_bytes() const { return buffer_bytes + (by_slice ? space_bytes : 0); }
};

i64 round_up(i64 n, i64 to) { return (n + to - 1) / to * to; }

// Distance of lines in a buffer: whole cache lines, and not a power of two that would map all of
// them to the same places of the cache.
i64 buffer_distance(i64 points, i64 element) {
  i64 bytes = round_up(points * element, 64);
  if (bytes % 1024 == 0) bytes += 64;
  return bytes / element;
}

// Axes of the lines, widest step first; neighbours that step evenly everywhere become one.
void set_lines(Pass& p, const Shape& shape, const Strides& from, const Strides& to,
               const Strides& weight) {
  SmallVec<i64, 6> order;
  for (i64 i = 0; i < shape.size(); ++i)
    if (shape[i] != 1) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](i64 a, i64 b) { return std::abs(to[a]) > std::abs(to[b]); });
  for (i64 i : order) {
    const i64 size = shape[i];
    if (!p.shape.empty() && p.from_strides.back() == from[i] * size &&
        p.to_strides.back() == to[i] * size && p.weight_strides.back() == weight[i] * size) {
      p.shape.back() *= size;
      p.from_strides.back() = from[i];
      p.to_strides.back() = to[i];
      p.weight_strides.back() = weight[i];
    } else {
      p.shape.push_back(size);
      p.from_strides.push_back(from[i]);
      p.to_strides.push_back(to[i]);
      p.weight_strides.push_back(weight[i]);
    }
  }
  if (p.shape.empty()) {
    p.shape.push_back(1);
    p.from_strides.push_back(0);
    p.to_strides.push_back(0);
    p.weight_strides.push_back(0);
  }
}

struct Builder {
  const FftSpec& spec;
  State& state;
  bool single;
  i64 effort;
  Shape shape;  // of the lines: the complex side's
  Strides space;

  bool real_side(const Pass& p, bool in) const {
    return p.kind == (in ? FftKind::real_to_complex : FftKind::complex_to_real);
  }
  i64 element(const Pass& p, bool in) const {
    return (single ? 4 : 8) * (real_side(p, in) ? 1 : 2);
  }
  const Strides& strides(Place place) const {
    return place == Place::input    ? spec.in.layout.strides
           : place == Place::output ? spec.out.layout.strides
                                    : space;
  }
  bool same_memory(const Pass& p) const {
    return p.from == p.to || (spec.in_place && p.from != Place::space);
  }

  void add(i64 axis, FftKind kind, Place from, Place to, int sign, bool filter = false);
  void plan(Pass& p, i64 points);
};

void Builder::add(i64 axis, FftKind kind, Place from, Place to, int sign, bool filter) {
  Pass p;
  p.kind = kind;
  p.sign = sign;
  p.filter = filter;
  if (filter) {
    p.real_weight = !is_complex(spec.weight->dtype);
    p.weight_step = spec.weight->layout.strides[axis];
  }
  p.from = from;
  p.to = to;
  const i64 points = kind == FftKind::complex           ? shape[axis]
                     : kind == FftKind::real_to_complex ? spec.in.layout.shape[axis]
                                                        : spec.out.layout.shape[axis];
  const i64 half = kind == FftKind::complex ? points : points / 2 + 1;
  p.in_points = real_side(p, true) ? points : half;
  p.out_points = real_side(p, false) ? points : half;
  p.from_step = strides(from)[axis];
  p.to_step = strides(to)[axis];
  Shape sizes;
  Strides a, b, w;
  for (i64 i = 0; i < shape.size(); ++i) {
    const bool inside = std::find(spec.axes.begin(), spec.axes.end(), i) != spec.axes.end();
    if (i == axis || (state.by_slice && !inside)) continue;
    sizes.push_back(shape[i]);
    a.push_back(strides(from)[i]);
    b.push_back(strides(to)[i]);
    w.push_back(filter ? spec.weight->layout.strides[i] : 0);
  }
  set_lines(p, sizes, a, b, w);
  plan(p, points);
  state.buffer_bytes = std::max(state.buffer_bytes, p.buffer_bytes);
  state.passes.push_back(std::move(p));
}

void Builder::plan(Pass& p, i64 points) {
  const i64 in_element = element(p, true), out_element = element(p, false);
  const i64 widest = std::max(p.in_points * in_element, p.out_points * out_element);
  const i64 total = count_of(p.shape);
  const bool destroys = p.kind == FftKind::complex_to_real && p.from != Place::space;
  const bool threaded = total < num_threads() && points >= threaded_points && !state.by_slice;
  const i64 cache_line = std::max<i64>(1, 64 / out_element);
  p.lines = std::clamp(buffer_target / widest / cache_line * cache_line, cache_line, i64{64});
  p.lines = std::min(p.lines, std::max<i64>(p.shape.back(), 1));
  p.blocks_per_row = (p.shape.back() + p.lines - 1) / p.lines;
  p.blocks = total == 0 ? 0 : total / p.shape.back() * p.blocks_per_row;
  const i64 from_inner = p.from_strides.back(), to_inner = p.to_strides.back();
  const bool dense = p.from_step == 1 && p.to_step == 1 && !destroys && !p.filter;
  const bool even = from_inner > 0 && to_inner > 0 &&
                    from_inner * in_element % fftw_alignment == 0 &&
                    to_inner * out_element % fftw_alignment == 0;
  const bool direct = dense && (points >= direct_points || even);
  p.in_distance = buffer_distance(p.in_points, in_element);
  p.out_distance = buffer_distance(p.out_points, out_element);
  p.out_offset = round_up(p.lines * p.in_distance * in_element, 64);
  p.buffer_bytes = p.out_offset + round_up(p.lines * p.out_distance * out_element, 64);
  const int threads = threaded ? num_threads() : 1;
  LineKey key{
      single, p.kind, points, 1, p.in_distance, p.out_distance, false, p.sign, direct ? 1 : threads,
      effort};
  auto plan_both = [&](int sign, auto& one, auto& many) {
    key.sign = sign;
    key.lines = 1;
    one = line_plan(key);
    key.lines = p.lines;
    if (!direct && p.lines > 1) many = line_plan(key);
  };
  plan_both(p.sign, p.one, p.many);
  if (p.filter) plan_both(-p.sign, p.back_one, p.back_many);
  if (!direct) return;
  p.direct_lines = points >= direct_points ? 1 : p.lines;
  p.direct =
      line_plan({single, p.kind, points, p.direct_lines, p.direct_lines > 1 ? from_inner : 0,
                 p.direct_lines > 1 ? to_inner : 0, same_memory(p), p.sign, threads, effort});
}

// Strides of the copy that complex_to_real works in: its lines dense and on aligned addresses.
i64 set_space(const FftSpec& spec, bool by_slice, Strides& space) {
  const Shape& shape = spec.in.layout.shape;
  const i64 last = spec.axes.back();
  space.resize(shape.size(), 0);
  i64 step = round_up(shape[last], 64 / size_of(spec.in.dtype));
  space[last] = 1;
  for (i64 i = shape.size() - 1; i >= 0; --i) {
    const bool inside = std::find(spec.axes.begin(), spec.axes.end(), i) != spec.axes.end();
    if (i == last || (by_slice && !inside)) continue;
    space[i] = step;
    step *= shape[i];
  }
  return step;
}

void build(const FftSpec& spec, State& s) {
  Builder b{spec, s, real_of(spec.in.dtype) == DType::f32, config().fft_effort, {}, {}};
  const bool to_real = spec.kind == FftKind::complex_to_real;
  b.shape = to_real ? spec.in.layout.shape : spec.out.layout.shape;
  const i64 last = spec.axes.back();
  Shape others;  // dense axes first: their pass brings the data into the output
  for (i64 a : spec.axes)
    if (spec.kind == FftKind::complex || a != last) others.push_back(a);
  const Strides& out = spec.out.layout.strides;
  std::stable_sort(others.begin(), others.end(),
                   [&](i64 x, i64 y) { return std::abs(out[x]) < std::abs(out[y]); });
  if (to_real) {
    if (!others.empty())
      s.space_bytes = round_up(set_space(spec, s.by_slice, b.space) * s.in_element, 64);
    Place from = Place::input;
    for (i64 a : others) {
      b.add(a, FftKind::complex, from, Place::space, spec.sign);
      from = Place::space;
    }
    b.add(last, FftKind::complex_to_real, from, Place::output, spec.sign);
  } else {
    Place from = Place::input;
    if (spec.kind == FftKind::real_to_complex) {
      b.add(last, FftKind::real_to_complex, from, Place::output, spec.sign);
      from = Place::output;
    }
    for (i64 a : others) {
      b.add(a, FftKind::complex, from, Place::output, spec.sign, spec.weight && a == others.back());
      from = Place::output;
    }
    // The way back of a filter: what was transformed before its middle, in the other direction.
    for (i64 i = others.size() - 2; spec.weight && i >= 0; --i)
      b.add(others[i], FftKind::complex, from, Place::output, -spec.sign);
  }
  s.passes.back().scale = spec.scale;
}

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
  if (!s.by_slice || axes > 3 || spec.kind != FftKind::complex || spec.in_place || spec.weight)
    return;
  if (!(effort >= 2 || (effort == 1 && fftw_measures_quickly))) return;
  for (i64 i = 0; i < axes; ++i)
    if (std::find(spec.axes.begin(), spec.axes.end(), rank - axes + i) == spec.axes.end()) return;
  if (!ends_densely(spec.in.layout, axes) || !ends_densely(spec.out.layout, axes)) return;
  const Shape& shape = spec.in.layout.shape;
  LineKey key{.single = real_of(spec.in.dtype) == DType::f32,
              .points = shape[rank - 1],
              .sign = spec.sign,
              .effort = effort,
              .rows = shape[rank - 2],
              .layers = axes == 3 ? shape[rank - 3] : 1};
  s.slice_points = key.layers * key.rows * key.points;
  const i64 bytes = s.slice_points * s.in_element;
  if (2 * bytes > whole_slice_bytes || bytes % fftw_alignment != 0) return;
  for (const Strides* steps : {&s.batch_in, &s.batch_out})
    for (i64 step : *steps)
      if (step * s.in_element % fftw_alignment != 0) return;
  s.scale = spec.scale;
  s.whole = line_plan(key);
}

// ---- run ----

bool aligned(const void* p) { return reinterpret_cast<std::uintptr_t>(p) % fftw_alignment == 0; }

template <class C, class W>
C weighted(const C& z, const W& w) {
  if constexpr (std::is_floating_point_v<W>)
    return C(z.re * w, z.im * w);
  else
    return C(z.re * w.re - z.im * w.im, z.re * w.im + z.im * w.re);
}

template <class C, class W>
void multiply_lines(const Pass& p, i64 lines, C* b, const W* weight) {
  for (i64 l = 0; l < lines; ++l) {
    C* const line = b + l * p.out_distance;
    const W* const w = weight + l * p.weight_strides.back();
    if (p.weight_step == 1) {
#pragma GCC ivdep
      for (i64 i = 0; i < p.out_points; ++i) line[i] = weighted(line[i], w[i]);
    } else {
      for (i64 i = 0; i < p.out_points; ++i) line[i] = weighted(line[i], w[i * p.weight_step]);
    }
  }
}

void transform_lines(const LinePlan* many, const LinePlan& one, const Pass& p, i64 lines, void* a,
                     void* b, i64 in_bytes, i64 out_bytes) {
  if (many && lines == p.lines) return many->execute(a, b);
  for (i64 l = 0; l < lines; ++l)
    one.execute(static_cast<std::byte*>(a) + l * p.in_distance * in_bytes,
                static_cast<std::byte*>(b) + l * p.out_distance * out_bytes);
}

// Lines of In at `from` through the buffer to lines of Out at `to`.
template <class In, class Out>
void through_buffer(const Pass& p, i64 lines, const In* from, Out* to, const void* weight,
                    std::byte* buffer) {
  In* const a = reinterpret_cast<In*>(buffer);
  Out* const b = reinterpret_cast<Out*>(buffer + p.out_offset);
  const i64 from_inner = p.from_strides.back(), to_inner = p.to_strides.back();
  gather_lines(from, p.from_step, from_inner, a, p.in_distance, p.in_points, lines);
  transform_lines(p.many.get(), *p.one, p, lines, a, b, sizeof(In), sizeof(Out));
  if constexpr (std::is_same_v<In, Out> && !std::is_floating_point_v<In>) {
    if (p.filter) {
      using R = decltype(Out{}.re);
      if (p.real_weight)
        multiply_lines(p, lines, b, static_cast<const R*>(weight));
      else
        multiply_lines(p, lines, b, static_cast<const Out*>(weight));
      transform_lines(p.back_many.get(), *p.back_one, p, lines, b, a, sizeof(Out), sizeof(In));
      return scatter_lines(a, p.in_distance, to, p.to_step, to_inner, p.out_points, lines, p.scale);
    }
  }
  scatter_lines(b, p.out_distance, to, p.to_step, to_inner, p.out_points, lines, p.scale);
}

template <class In, class Out>
void run_blocks(const Pass& p, i64 begin, i64 end, const In* from, Out* to, const std::byte* weight,
                i64 weight_bytes, std::byte* buffer) {
  const i64 axes = p.shape.size(), from_inner = p.from_strides.back(),
            to_inner = p.to_strides.back();
  for (i64 block = begin; block < end; ++block) {
    i64 row = block / p.blocks_per_row;
    const i64 first = (block - row * p.blocks_per_row) * p.lines;
    const In* a = from + first * from_inner;
    Out* b = to + first * to_inner;
    i64 w = first * p.weight_strides.back();
    for (i64 i = axes - 2; i >= 0; --i) {
      const i64 at = row % p.shape[i];
      row /= p.shape[i];
      a += at * p.from_strides[i];
      b += at * p.to_strides[i];
      w += at * p.weight_strides[i];
    }
    const i64 lines = std::min(p.lines, p.shape.back() - first);
    if (!p.direct || lines % p.direct_lines != 0) {
      through_buffer(p, lines, a, b, weight + w * weight_bytes, buffer);
      continue;
    }
    for (i64 l = 0; l < lines; l += p.direct_lines) {
      const In* const x = a + l * from_inner;
      Out* const y = b + l * to_inner;
      if (aligned(x) && aligned(y)) {
        p.direct->execute(const_cast<In*>(x), y);
        for (i64 d = 0; d < p.direct_lines; ++d)
          scale_line(y + d * to_inner, p.out_points, p.scale);
      } else {
        through_buffer(p, p.direct_lines, x, y, nullptr, buffer);
      }
    }
  }
}

template <class R>
void run_pass(const Pass& p, i64 begin, i64 end, const void* in, void* out, void* space,
              const void* weight, std::byte* buffer) {
  using C = Complex<R>;
  const auto* const w = static_cast<const std::byte*>(weight);
  const i64 wb = p.real_weight ? sizeof(R) : sizeof(C);
  const void* from = p.from == Place::input ? in : p.from == Place::output ? out : space;
  void* to = p.to == Place::output ? out : space;
  switch (p.kind) {
    case FftKind::complex:
      return run_blocks(p, begin, end, static_cast<const C*>(from), static_cast<C*>(to), w, wb,
                        buffer);
    case FftKind::real_to_complex:
      return run_blocks(p, begin, end, static_cast<const R*>(from), static_cast<C*>(to), w, wb,
                        buffer);
    default:
      return run_blocks(p, begin, end, static_cast<const C*>(from), static_cast<R*>(to), w, wb,
                        buffer);
  }
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
        if (s.whole && aligned(x) && aligned(y)) {
          s.whole->execute(const_cast<std::byte*>(x), y);
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
  build(spec, s);
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
