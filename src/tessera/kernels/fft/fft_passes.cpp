// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/fft/fft_passes.hpp"

#include <algorithm>
#include <cmath>

#include "tessera/base/config.hpp"
#include "tessera/device/threads.hpp"

namespace tessera {
namespace {

constexpr i64 buffer_target = 64 << 10;  // bytes of lines in a buffer: stays in the first cache
constexpr i64 direct_points = 64;        // shorter dense lines are planned many at once
constexpr i64 threaded_points = 1 << 15;

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
  bool by_slice;
  bool single;
  i64 effort;
  Shape shape;  // of the lines: the complex side's
  Strides space;
  Passes made;

  bool real_side(const Pass& p, bool in) const {
    return p.kind == (in ? FftKind::real_to_complex : FftKind::complex_to_real);
  }
  i64 element(const Pass& p, bool in) const {
    return (single ? 4 : 8) * (real_side(p, in) ? 1 : 2);
  }
  const Strides& strides(PassMemory place) const {
    return place == PassMemory::input    ? spec.in.layout.strides
           : place == PassMemory::output ? spec.out.layout.strides
                                         : space;
  }
  bool same_memory(const Pass& p) const {
    return p.from == p.to || (spec.in_place && p.from != PassMemory::space);
  }

  void add(i64 axis, FftKind kind, PassMemory from, PassMemory to, int sign, bool filter = false);
  void add_long(i64 rows, i64 columns, i64 in_step, i64 out_step);
  void plan(Pass& p, i64 points);
  template <class R>
  void plan_own(Pass& p, i64 points);
};

void Builder::add(i64 axis, FftKind kind, PassMemory from, PassMemory to, int sign, bool filter) {
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
    if (i == axis || (by_slice && !inside)) continue;
    sizes.push_back(shape[i]);
    a.push_back(strides(from)[i]);
    b.push_back(strides(to)[i]);
    w.push_back(filter ? spec.weight->layout.strides[i] : 0);
  }
  set_lines(p, sizes, a, b, w);
  plan(p, points);
  made.buffer_bytes = std::max(made.buffer_bytes, p.buffer_bytes);
  made.passes.push_back(std::move(p));
}

// Note [long lines]. Rows of the space do not begin at the same places of the cache.
void Builder::add_long(i64 rows, i64 columns, i64 in_step, i64 out_step) {
  const i64 element = single ? 8 : 16, pitch = buffer_distance(columns, element);
  Pass down, along;
  for (Pass* p : {&down, &along}) p->sign = spec.sign;
  down.to = along.from = PassMemory::space;
  down.in_points = down.out_points = rows;
  down.from_step = columns * in_step;
  down.to_step = pitch;
  set_lines(down, {columns}, {in_step}, {1}, {0});
  along.in_points = along.out_points = columns;
  along.from_step = 1;
  along.to_step = rows * out_step;
  set_lines(along, {rows}, {pitch}, {out_step}, {0});
  if (single)
    std::get<0>(along.turned) = turns<float>(rows * columns, rows);
  else
    std::get<1>(along.turned) = turns<double>(rows * columns, rows);
  made.space_bytes = round_up(rows * pitch * element, 64);
  for (Pass* p : {&down, &along}) {
    plan(*p, p->in_points);
    made.buffer_bytes = std::max(made.buffer_bytes, p->buffer_bytes);
    made.passes.push_back(std::move(*p));
  }
}

void Builder::plan(Pass& p, i64 points) {
  const i64 in_element = element(p, true), out_element = element(p, false);
  const i64 widest = std::max(p.in_points * in_element, p.out_points * out_element);
  const i64 total = count_of(p.shape);
  const bool destroys = p.kind == FftKind::complex_to_real && p.from != PassMemory::space;
  const bool threaded = total < num_threads() && points >= threaded_points && !by_slice;
  const i64 cache_line = std::max<i64>(1, 64 / out_element);
  p.lines = std::clamp(buffer_target / widest / cache_line * cache_line, cache_line, i64{64});
  p.lines = std::min(p.lines, std::max<i64>(p.shape.back(), 1));
  p.blocks_per_row = (p.shape.back() + p.lines - 1) / p.lines;
  p.blocks = total == 0 ? 0 : total / p.shape.back() * p.blocks_per_row;
  const i64 from_inner = p.from_strides.back(), to_inner = p.to_strides.back();
  const bool dense = p.from_step == 1 && p.to_step == 1 && !destroys && !p.filter;
  const bool even = from_inner > 0 && to_inner > 0 &&
                    from_inner * in_element % line_alignment == 0 &&
                    to_inner * out_element % line_alignment == 0;
  // FFTW does long lines one by one as quickly, which then may lie anywhere.
  const bool one_by_one = fftw_plans() && points >= direct_points;
  const bool direct = dense && (one_by_one || even);
  p.in_distance = buffer_distance(p.in_points, in_element);
  p.out_distance = buffer_distance(p.out_points, out_element);
  // Our own passes transform lines of a buffer where they lie.
  const bool in_buffer = !fftw_plans() && p.kind == FftKind::complex;
  p.out_offset = in_buffer ? 0 : round_up(p.lines * p.in_distance * in_element, 64);
  p.scratch_offset = p.out_offset + round_up(p.lines * p.out_distance * out_element, 64);
  p.buffer_bytes = p.scratch_offset;
  // Of dense lines that are short FFTW takes many in one call.
  if (p.kind == FftKind::complex && uses_smooth_lines(points) &&
      !(direct && points < direct_points))
    return single ? plan_own<float>(p, points) : plan_own<double>(p, points);
  const int threads = threaded ? num_threads() : 1;
  LineKey key{single,    p.kind,        points,
              1,         p.in_distance, p.out_distance,
              in_buffer, p.sign,        direct ? 1 : threads,
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
  if (direct) {
    p.direct_lines = one_by_one ? 1 : p.lines;
    p.direct =
        line_plan({single, p.kind, points, p.direct_lines, p.direct_lines > 1 ? from_inner : 0,
                   p.direct_lines > 1 ? to_inner : 0, same_memory(p), p.sign, threads, effort});
  }
  i64 scratch = 0;
  for (const auto* plan : {&p.one, &p.many, &p.back_one, &p.back_many, &p.direct})
    if (*plan) scratch = std::max(scratch, (*plan)->scratch_bytes());
  p.buffer_bytes += round_up(scratch, 64);
}

template <class R>
void Builder::plan_own(Pass& p, i64 points) {
  const auto own = smooth_lines<R>(points);
  std::get<std::shared_ptr<const SmoothLines<R>>>(p.own) = own;
  p.buffer_bytes += round_up(own->scratch(p.lines) * static_cast<i64>(sizeof(R)), 64);
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

}  // namespace

Passes plan_passes(const FftSpec& spec, bool by_slice) {
  Builder b{spec, by_slice, real_of(spec.in.dtype) == DType::f32, config().fft_effort, {}, {}, {}};
  const bool to_real = spec.kind == FftKind::complex_to_real;
  b.shape = to_real ? spec.in.layout.shape : spec.out.layout.shape;
  const i64 last = spec.axes.back();
  const i64 points = b.shape[last], rows = long_line_rows(points);
  if (rows > 0 && spec.kind == FftKind::complex && !spec.weight && count_of(b.shape) == points) {
    b.add_long(rows, points / rows, spec.in.layout.strides[last], spec.out.layout.strides[last]);
    b.made.passes.back().scale = spec.scale;
    return std::move(b.made);
  }
  Shape others;  // dense axes first: their pass brings the data into the output
  for (i64 a : spec.axes)
    if (spec.kind == FftKind::complex || a != last) others.push_back(a);
  const Strides& out = spec.out.layout.strides;
  std::stable_sort(others.begin(), others.end(),
                   [&](i64 x, i64 y) { return std::abs(out[x]) < std::abs(out[y]); });
  if (to_real) {
    if (!others.empty())
      b.made.space_bytes =
          round_up(set_space(spec, by_slice, b.space) * size_of(spec.in.dtype), 64);
    PassMemory from = PassMemory::input;
    for (i64 a : others) {
      b.add(a, FftKind::complex, from, PassMemory::space, spec.sign);
      from = PassMemory::space;
    }
    b.add(last, FftKind::complex_to_real, from, PassMemory::output, spec.sign);
  } else {
    PassMemory from = PassMemory::input;
    if (spec.kind == FftKind::real_to_complex) {
      b.add(last, FftKind::real_to_complex, from, PassMemory::output, spec.sign);
      from = PassMemory::output;
    }
    for (i64 a : others) {
      b.add(a, FftKind::complex, from, PassMemory::output, spec.sign,
            spec.weight && a == others.back());
      from = PassMemory::output;
    }
    // The way back of a filter: what was transformed before its middle, in the other direction.
    for (i64 i = others.size() - 2; spec.weight && i >= 0; --i)
      b.add(others[i], FftKind::complex, from, PassMemory::output, -spec.sign);
  }
  b.made.passes.back().scale = spec.scale;
  return std::move(b.made);
}

}  // namespace tessera
