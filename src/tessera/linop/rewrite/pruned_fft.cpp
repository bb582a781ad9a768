// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/rewrite/pruned_fft.hpp"

#include "tessera/base/config.hpp"
#include "tessera/linop/ops/moves/pad.hpp"
#include "tessera/linop/ops/transforms/fft.hpp"

namespace tessera {
namespace {

bool plain_over(const FFT* f, const Pad& p) {
  return f && !f->centered && !f->real && f->ndim == p.im_size.size() && f->ndim > 1 &&
         f->along.size() == f->ndim;
}

// The lines of `v` inside the image along the first `axes` image dims.
Layout inside(const Layout& whole, const Pad& p, i64 axes) {
  Layout l = whole;
  const i64 n = p.im_size.size();
  for (i64 i = 0; i < axes; ++i) l = l.slice(l.ndim() - n + i, p.start(i), p.im_size[i]);
  return l;
}

// Zeros along image dim `i` around the image, within the lines of the dims before it.
void clear_around(Recorder& r, const View& y, const Pad& p, i64 i) {
  const Layout lines = inside(y.layout, p, i);
  const i64 axis = lines.ndim() - p.im_size.size() + i, start = p.start(i),
            stop = start + p.im_size[i], n = p.pad_im_size[i];
  if (start > 0) record::fill(r, Value(0), sub_view(y, lines.slice(axis, 0, start)));
  if (stop < n) record::fill(r, Value(0), sub_view(y, lines.slice(axis, stop, n - stop)));
}

void padded(Recorder& r, const Pad& p, const FFT& f, const View& x, const View& y) {
  const i64 n = f.ndim, rank = y.layout.ndim(), last = rank - 1;
  const int sign = f.backward ? 1 : -1;
  // The last dim leaves the image for lines of the full length, straight into their place.
  Shape line = x.shape();
  line[last] = p.pad_im_size[n - 1];
  const View lines = r.temporary(line, y.dtype, r.device(y));
  const i64 start = p.start(n - 1), size = p.im_size[n - 1];
  if (start > 0) record::fill(r, Value(0), sub_view(lines, lines.layout.slice(last, 0, start)));
  if (start + size < line[last])
    record::fill(
        r, Value(0),
        sub_view(lines, lines.layout.slice(last, start + size, line[last] - start - size)));
  record::copy(r, x, sub_view(lines, lines.layout.slice(last, start, size)));
  record::fft(r, lines, sub_view(y, inside(y.layout, p, n - 1)), {last}, sign, 1);
  const double scale = fft_scale(f.norm, -1, count_of(p.pad_im_size));
  for (i64 i = n - 2; i >= 0; --i) {
    clear_around(r, y, p, i);
    record::fft_in_place(r, sub_view(y, inside(y.layout, p, i)), {rank - n + i}, sign,
                         i == 0 ? scale : 1);
  }
}

void cropped(Recorder& r, const FFT& f, const Pad& p, const View& x, const View& y) {
  const i64 n = f.ndim, rank = x.layout.ndim();
  const int sign = f.backward ? 1 : -1;
  const double scale = fft_scale(f.norm, -1, count_of(p.pad_im_size));
  View full = x;
  if (x.dtype != y.dtype) {
    full = r.temporary(x.shape(), y.dtype, r.device(x));
    record::copy(r, x, full);
  }
  const View work = r.temporary(x.shape(), y.dtype, r.device(x));
  record::fft(r, full, work, {rank - n}, sign, scale);
  for (i64 i = 1; i < n; ++i)
    record::fft_in_place(r, sub_view(work, inside(work.layout, p, i)), {rank - n + i}, sign, 1);
  record::copy(r, sub_view(work, inside(work.layout, p, n)), y);
}

}  // namespace

bool can_prune(const NamedLinop& first, const NamedLinop& second) {
  if (!config().rewrite || !config().rewrite_pruning) return false;
  if (const Pad* p = first.as<Pad>()) return plain_over(second.as<FFT>(), *p);
  if (const Crop* c = second.as<Crop>()) return plain_over(first.as<FFT>(), c->pad);
  return false;
}

void record_pruned(Recorder& r, const NamedLinop& first, const NamedLinop& second, const View& x,
                   const View& y) {
  const Recorder::Scope scope(r, cat(first, " and ", second), x, y);
  if (const Pad* p = first.as<Pad>()) {
    r.note(cat(second, " skips the zeros of ", first));
    padded(r, *p, *second.as<FFT>(), x, y);
  } else {
    r.note(cat(first, " skips what ", second, " cuts off"));
    cropped(r, *first.as<FFT>(), second.as<Crop>()->pad, x, y);
  }
}

}  // namespace tessera
