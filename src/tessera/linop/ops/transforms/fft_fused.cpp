// SPDX-License-Identifier: Apache-2.0
// Transforms that do the work of their neighbours in the same pass.
#include "tessera/base/config.hpp"
#include "tessera/kernels/fft/smooth_lines.hpp"
#include "tessera/linop/ops/basic/diagonal.hpp"
#include "tessera/linop/ops/moves/frame_parts.hpp"
#include "tessera/linop/ops/transforms/fft.hpp"

namespace tessera {
namespace {

// Note [pruning]: transforms of arrays that are mostly zeros around an image, or of which only the
// middle is kept, go axis by axis, over the lines that matter.
bool plain_over(const FFT& f, const Frame& p) {
  return !f.centered && !f.real && f.ndim == p.image.size() && f.ndim > 1 &&
         f.along.size() == f.ndim;
}

// Zeros along image dim `i` of `v` around the image.
void clear_around(Recorder& r, const View& v, const Frame& p, i64 i) {
  const i64 axis = v.layout.ndim() - p.image.size() + i, n = p.outer[i];
  i64 done = 0;
  for (const FrameRun& run : frame_runs(p, i)) {
    if (run.outer > done)
      record::fill(r, Value(0), sub_view(v, v.layout.slice(axis, done, run.outer - done)));
    done = run.outer + run.count;
  }
  if (done < n) record::fill(r, Value(0), sub_view(v, v.layout.slice(axis, done, n - done)));
}

void padded(Recorder& r, const Frame& p, const FFT& f, const View& x, const View& y) {
  const i64 n = f.ndim, rank = y.layout.ndim(), last = rank - 1;
  const int sign = f.backward ? 1 : -1;
  const auto each = [&](const View& v, FrameSide side, i64 first, i64 end) {
    return frame_parts(p, v.layout, side, first, end);
  };
  // The last dim leaves the image for lines of the full length, straight into their place.
  Shape line = x.shape();
  line[last] = p.outer[n - 1];
  const View lines = r.temporary(line, y.dtype, r.device(y));
  clear_around(r, lines, p, n - 1);
  const std::vector<Layout> from = each(x, FrameSide::image, n - 1, n),
                            to = each(lines, FrameSide::outer, n - 1, n),
                            full = each(lines, FrameSide::image, 0, n - 1),
                            placed = each(y, FrameSide::outer, 0, n - 1);
  for (std::size_t k = 0; k < from.size(); ++k)
    record::copy(r, sub_view(x, from[k]), sub_view(lines, to[k]));
  for (std::size_t k = 0; k < full.size(); ++k)
    record::fft(r, sub_view(lines, full[k]), sub_view(y, placed[k]), {last}, sign, 1);
  const double scale = fft_scale(f.norm, -1, count_of(p.outer));
  for (i64 i = n - 2; i >= 0; --i)
    for (const Layout& part : each(y, FrameSide::outer, 0, i)) {
      clear_around(r, sub_view(y, part), p, i);
      record::fft_in_place(r, sub_view(y, part), {rank - n + i}, sign, i == 0 ? scale : 1);
    }
}

// Note [whole transforms]: a library on a device transforms all axes of a grid at once sooner than
// one after another, most of which are strided: on an H200 in a half to a quarter of the time, in
// two dims and in three at an oversampling of 1.25. Where the grid has eight times the elements of
// the image, the lines that can be skipped outweigh that.
bool whole_is_quicker(const Frame& p, Device device) {
  return kernels_of(device).fft.prepare != cpu_kernels().fft.prepare &&
         count_of(p.outer) < 8 * count_of(p.image);
}

void padded_whole(Recorder& r, const NamedLinop& pad, const FFT& f, const View& x, const View& y) {
  pad.record(r, x, y);
  record::fft_in_place(r, y, f.axes(y.layout.ndim()), f.backward ? 1 : -1, f.scale(y.shape()));
}

void cropped(Recorder& r, const FFT& f, const Frame& p, const View& x, const View& y) {
  const i64 n = f.ndim, rank = x.layout.ndim();
  const int sign = f.backward ? 1 : -1;
  const double scale = fft_scale(f.norm, -1, count_of(p.outer));
  View full = x;
  if (x.dtype != y.dtype) {
    full = r.temporary(x.shape(), y.dtype, r.device(x));
    record::copy(r, x, full);
  }
  const View work = r.temporary(x.shape(), y.dtype, r.device(x));
  record::fft(r, full, work, {rank - n}, sign, scale);
  for (i64 i = 1; i < n; ++i)
    for (const Layout& part : frame_parts(p, work.layout, FrameSide::outer, 0, i))
      record::fft_in_place(r, sub_view(work, part), {rank - n + i}, sign, 1);
  const std::vector<Layout> from = frame_parts(p, work.layout, FrameSide::outer, 0, n),
                            to = frame_parts(p, y.layout, FrameSide::image, 0, n);
  for (std::size_t k = 0; k < from.size(); ++k)
    record::copy(r, sub_view(work, from[k]), sub_view(y, to[k]));
}

// Note [filters]: F^H D F over one grid is a filter, which devices in host memory do in one pass
// over the array: the weight is multiplied while the lines of the last axis are in the cache.
void record_filter(Recorder& r, const FFT& first, const Offers& weight, const FFT& second,
                   const View& x_given, const View& y) {
  const Recorder::Scope scope(r, cat("FFT ", first.names.str(), " and back around Diagonal"),
                              x_given, y);
  View x = x_given;
  if (x.dtype != y.dtype) {
    x = r.temporary(x.shape(), y.dtype, r.device(x));
    record::copy(r, x_given, x);
  }
  const Shape axes = first.axes(y.layout.ndim());
  const double scale = first.scale(y.shape()) * second.scale(y.shape());
  Array w = weight.product(y.dtype);
  w = w.astype(is_complex(w.dtype()) ? y.dtype : real_of(y.dtype));
  // Its lines are read along the axis that comes last in the transform: the first of them.
  if (const i64 axis = axes[0] - y.layout.ndim() + w.ndim();
      axis >= 0 && axis < w.ndim() && w.shape(axis) > 1 && !uses_smooth_lines(w.shape(axis))) {
    Axes there, back(w.ndim(), 0);
    for (i64 a = 0; a < w.ndim(); ++a)
      if (a != axis) there.push_back(a);
    there.push_back(axis);
    for (i64 a = 0; a < w.ndim(); ++a) back[there[a]] = a;
    w = w.permute(there).contiguous().permute(back);
  }
  r.note(cat(NamedLinop(first), " and its inverse around a weight: one filter"));
  record::filter(r, x, r.constant(w), y, axes, first.backward ? 1 : -1, scale);
}

bool is_filter(const FFT& first, OperatorWindow window, Device device) {
  if (!config().rewrite_filters || window.size() < 3 ||
      kernels_of(device).fft.prepare != cpu_kernels().fft.prepare)
    return false;
  const FFT* second = window[2].as<FFT>();
  return second && window[1].offers().weight_shape() && first.ndim == second->ndim &&
         first.along == second->along && !first.centered && !second->centered && !first.real &&
         !second->real && first.backward != second->backward;
}

// The FFT of an image among zeros, or (cuts) the one of which a middle part is kept.
std::optional<Fused> pruned(const FFT& f, OperatorWindow window, const NamedLinop& beside,
                            bool cuts, Device device) {
  const std::optional<Frame> frame = beside.offers().frame();
  if (!config().rewrite_pruning || !frame || frame->cuts != cuts || !plain_over(f, *frame))
    return std::nullopt;
  const bool whole = whole_is_quicker(*frame, device);
  if (whole && cuts) return std::nullopt;
  const std::string who = cat(window[0], " and ", window[1]),
                    note = cuts    ? cat(window[0], " skips what ", beside, " cuts off")
                           : whole ? cat(window[1], " is made in the place of ", beside)
                                   : cat(window[1], " skips the zeros of ", beside);
  return Fused{2, [=](Recorder& r, const View& x, const View& y) {
                 const Recorder::Scope scope(r, who, x, y);
                 r.note(note);
                 if (cuts) return cropped(r, f, *frame, x, y);
                 whole ? padded_whole(r, beside, f, x, y) : padded(r, *frame, f, x, y);
               }};
}

}  // namespace

std::optional<Fused> FFT::fused(OperatorWindow window, std::size_t own, Device device) const {
  if (own == 1) return pruned(*this, window, window[0], false, device);
  if (is_filter(*this, window, device))
    return Fused{3, [first = *this, weight = window[1], second = *window[2].as<FFT>()](
                        Recorder& r, const View& x, const View& y) {
                   record_filter(r, first, weight.offers(), second, x, y);
                 }};
  return window.size() < 2 ? std::nullopt : pruned(*this, window, window[1], true, device);
}

std::vector<NamedLinop> FFT::expanded(const Shape& input, Device device,
                                      SharedTables& tables) const {
  if (!centered || real) return {};
  const Shape grid = transformed_grid(input);
  const std::vector<Array>& p = tables.of(cat("phases of ", grid), device, [&] {
    const Phases made = phases(grid, tables.dtype(), device);
    return std::vector{made.in, made.out};
  });
  const auto phase = [&](const Array& weight, const Dims& over) {
    const Diagonal d(weight, over);
    return backward ? d.adjoint() : d;
  };
  FFT plain = *this;
  plain.centered = false;
  // A forward transform is P_out F P_in, its adjoint conj(P_in) F^H conj(P_out).
  return {phase(p[backward ? 1 : 0], names.ishape), plain,
          phase(p[backward ? 0 : 1], names.oshape)};
}

}  // namespace tessera
