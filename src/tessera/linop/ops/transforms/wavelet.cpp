// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/ops/transforms/wavelet.hpp"

#include <algorithm>
#include <utility>

#include "tessera/linop/core/dim_sizes.hpp"
#include "tessera/linop/ops/basic/identity.hpp"
#include "tessera/linop/rewrite/grid_names.hpp"

namespace tessera {
namespace {

Array filter_array(const Shape& shape, const std::vector<double>& values, DType dtype,
                   Device device) {
  const Array a(Storage::allocate(cpu, static_cast<i64>(values.size()) * 8),
                Layout::contiguous(shape), DType::f64);
  std::copy(values.begin(), values.end(), a.host<double>());
  return a.astype(dtype).to(device);
}

// The two filters and what the kernels need of them.
struct Bank {
  std::vector<double> low, high;

  explicit Bank(const std::vector<double>& lo) : low(lo) {
    const std::size_t n = lo.size();
    for (std::size_t j = 0; j < n; ++j) high.push_back((j % 2 == 0 ? -1 : 1) * lo[n - 1 - j]);
  }
  i64 taps() const { return static_cast<i64>(low.size()); }
  // c[o] = sum over t of f[n - 1 - t] x[2 o + t - left]
  i64 left() const { return taps() / 2 - 1; }

  // (channel, tap): both filters as correlations.
  std::vector<double> analysis() const {
    std::vector<double> w(low.rbegin(), low.rend());
    w.insert(w.end(), high.rbegin(), high.rend());
    return w;
  }
  // Note [even and odd samples]: x[2 m + p] = sum over o of w[2 m + p + left - 2 o] c[o], so each
  // parity p sees every second tap: a correlation with taps / 2 weights. Where the first of them
  // stand for different o, a zero in front aligns the two.
  i64 synthesis_taps() const { return taps() / 2 + (left() % 2); }
  i64 synthesis_left() const { return synthesis_taps() - 1 - (left() + 1) / 2; }
  // (parity, channel, tap).
  std::vector<double> synthesis() const {
    const std::vector<double> w = analysis();
    std::vector<double> s;
    for (i64 p = 0; p < 2; ++p)
      for (i64 c = 0; c < 2; ++c)
        for (i64 t = 0; t < synthesis_taps(); ++t) {
          const i64 j = p + left() - 2 * (t - synthesis_left());  // o = m + t - synthesis_left
          s.push_back(j >= 0 && j < taps() ? w[static_cast<std::size_t>(c * taps() + j)] : 0.0);
        }
    return s;
  }
};

// One axis of a view, moved to the end.
Layout axis_last(const Layout& l, i64 axis) {
  Shape order;
  for (i64 a = 0; a < l.ndim(); ++a)
    if (a != axis) order.push_back(a);
  order.push_back(axis);
  return l.permute(order);
}

Layout with_axis(Layout l, i64 at, i64 size, i64 step) {
  l.shape.insert(at, size);
  l.strides.insert(at, step);
  return l;
}

struct Pass {
  Recorder& r;
  const Bank& bank;
  View analysis, synthesis;  // filters

  Pass(Recorder& rec, const Bank& b, DType t, Device d) : r(rec), bank(b) {
    const DType held = size_of(t) == 2 ? DType::f32 : real_of(t);
    analysis = r.constant(filter_array({2, b.taps()}, b.analysis(), held, d));
    synthesis = r.constant(filter_array({2, 2, b.synthesis_taps()}, b.synthesis(), held, d));
  }

  void launch(const View& in, const View& out, const Layout& from, const Layout& filter,
              const View& held, const Layout& to, ConvolveSpec spec) const {
    Shape wide(to.shape.begin(), to.shape.end() - (filter.ndim() - 1));
    wide.append(Shape(filter.shape.begin() + 1, filter.shape.end()));
    wide[wide.size() - filter.ndim()] = 2;
    spec.in = {from, in.dtype};
    spec.kernel = {filter.broadcast_to(wide), held.dtype};
    spec.out = {to, out.dtype};
    spec.boundary = Boundary::circular;
    spec.dilation = Shape(spec.left.size(), 1);
    const View reads[] = {sub_view(in, from), held};
    r.launch(&KernelTable::convolve, "convolve", spec, reads, sub_view(out, to));
  }

  // in -> approximation and detail of in along `axis`.
  void analyse(const View& in, const View& out, i64 axis) const {
    const i64 n = in.shape()[axis], half = n / 2, last = in.layout.ndim() - 1;
    const Layout x = axis_last(in.layout, axis), y = axis_last(out.layout, axis);
    const i64 step = y.strides[last];
    Layout to = with_axis(y.slice(last, 0, half), last, 2, (n - half) * step);
    ConvolveSpec spec;
    spec.left = {bank.left()};
    spec.stride = {2};
    launch(in, out, with_axis(x.slice(last, 0, 2 * half), last, 2, 0), analysis.layout, analysis,
           to, spec);
    if (n % 2 == 1)
      record::copy(r, sub_view(in, x.slice(last, n - 1, 1)), sub_view(out, y.slice(last, half, 1)));
  }

  void synthesise(const View& in, const View& out, i64 axis) const {
    const i64 n = in.shape()[axis], half = n / 2, last = in.layout.ndim() - 1;
    const Layout c = axis_last(in.layout, axis), x = axis_last(out.layout, axis);
    Layout from = with_axis(c.slice(last, 0, half), last, 2, (n - half) * c.strides[last]);
    from = with_axis(from, last, 2, 0);
    Layout to = with_axis(x.slice(last, 0, half, 2), last, 1, 0);
    to = with_axis(to, last, 2, x.strides[last]);
    ConvolveSpec spec;
    spec.left = {0, bank.synthesis_left()};
    spec.stride = {1, 1};
    launch(in, out, from, synthesis.layout, synthesis, to, spec);
    if (n % 2 == 1)
      record::copy(r, sub_view(in, c.slice(last, half, 1)), sub_view(out, x.slice(last, n - 1, 1)));
  }
};

// The leading corner of the grid.
View corner(const View& v, const Shape& sizes) {
  Layout l = v.layout;
  const i64 first = l.ndim() - sizes.size();
  for (i64 a = 0; a < sizes.size(); ++a) l = l.slice(first + a, 0, sizes[a]);
  return sub_view(v, l);
}

// Axes of a level that have something to transform.
Shape active_axes(const Shape& sizes, i64 ndim) {
  Shape axes;
  for (i64 a = 0; a < sizes.size(); ++a)
    if (sizes[a] > 1) axes.push_back(ndim - sizes.size() + a);
  return axes;
}

void record_forward(const Pass& pass, const std::vector<Shape>& levels, const View& x,
                    const View& y) {
  Recorder& r = pass.r;
  for (std::size_t l = 0; l < levels.size(); ++l) {
    const View to = corner(y, levels[l]);
    View from = corner(l == 0 ? x : y, levels[l]);
    const Shape axes = active_axes(levels[l], x.layout.ndim());
    if (l > 0 && axes.size() == 1) {  // it cannot write over what it reads
      const View apart = r.temporary(from.shape(), y.dtype, r.device(y));
      record::copy(r, from, apart);
      from = apart;
    }
    for (i64 a : axes) {
      const View next = a == axes.back() ? to : r.temporary(to.shape(), y.dtype, r.device(y));
      pass.analyse(from, next, a);
      from = next;
    }
  }
}

void record_inverse(const Pass& pass, const std::vector<Shape>& levels, const View& c,
                    const View& x) {
  Recorder& r = pass.r;
  View work = c;
  if (levels.size() > 1) {
    work = r.temporary(c.shape(), x.dtype, r.device(x));
    record::copy(r, c, work);
  }
  for (std::size_t l = levels.size(); l-- > 0;) {
    const View part = corner(work, levels[l]), to = l == 0 ? x : part;
    View from = part;
    const Shape axes = active_axes(levels[l], x.layout.ndim());
    for (i64 i = axes.size() - 1; i >= 0; --i) {
      const bool straight = i == 0 && (l == 0 || axes.size() > 1);
      const View next = straight ? to : r.temporary(to.shape(), x.dtype, r.device(x));
      pass.synthesise(from, next, axes[i]);
      from = next;
    }
    if (l > 0 && axes.size() == 1) record::copy(r, from, to);
  }
}

}  // namespace

Wavelet::Wavelet(const Dims& in_shape, std::string wavelet_, std::optional<i64> level_,
                 const Dims& batch_shape, std::optional<Dims> out_shape)
    : wavelet(std::move(wavelet_)), level(level_), rank(in_shape.size()) {
  (void)wavelet_filter(wavelet);
  require<ArgumentError>(!level || *level >= 1, "Wavelet ", to_text(in_shape), ": level ",
                         level.value_or(0), "; expected 1 or more");
  require<DimError>(rank >= 1 && !has_ellipses(in_shape), "Wavelet: the dims to transform are ",
                    to_text(in_shape), "; expected at least one name and no '...'");
  Dims avoid = batch_shape, next;
  avoid.append(in_shape);
  for (NamedDimension d : in_shape) {
    next.push_back(d.next_unused(avoid));
    avoid.push_back(next.back());
  }
  const Dims out = out_shape ? *out_shape : next;
  require<DimError>(out.size() == rank && !has_ellipses(out), "Wavelet ", to_text(in_shape),
                    ": the coefficients need ", rank, " names, got ", to_text(out));
  check_names(kind, {&batch_shape, &in_shape, &out});
  names = NamedShape(batch_shape) + NamedShape(in_shape, out);
}

Shape Wavelet::output_shape(const Shape& input) const {
  require<DimError>(input.size() >= rank, "Wavelet ", names.str(), ": transforms ", rank,
                    " axes, got an array of shape ", input);
  return input;
}

std::vector<Shape> Wavelet::level_sizes(const Shape& grid) const {
  const i64 taps = static_cast<i64>(wavelet_filter(wavelet).size());
  i64 most = 1;
  const i64 shortest = *std::min_element(grid.begin(), grid.end());
  while ((taps - 1) << (most + 1) <= shortest) ++most;
  std::vector<Shape> all;
  Shape sizes = grid;
  for (i64 l = 0; l < level.value_or(most); ++l) {
    if (std::all_of(sizes.begin(), sizes.end(), [](i64 n) { return n <= 1; })) break;
    all.push_back(sizes);
    for (i64& n : sizes) n = (n + 1) / 2;
  }
  return all;
}

void Wavelet::apply(Recorder& r, const View& x, const View& y) const {
  View in = x;
  if (x.dtype != y.dtype) record::copy(r, x, in = r.temporary(x.shape(), y.dtype, r.device(x)));
  const Shape grid(x.shape().end() - rank, x.shape().end());
  const std::vector<Shape> levels = level_sizes(grid);
  if (levels.empty() || x.layout.size() == 0) return record::copy(r, in, y);
  const Bank bank(wavelet_filter(wavelet));
  const Pass pass(r, bank, y.dtype, r.device(y));
  inverse ? record_inverse(pass, levels, in, y) : record_forward(pass, levels, in, y);
}

Wavelet Wavelet::adjoint() const {
  Wavelet w = *this;
  w.names = names.H();
  w.inverse = !inverse;
  return w;
}

NamedLinop Wavelet::normal() const { return Identity(names.ishape); }

Wavelet Wavelet::from_state(std::string wavelet, std::optional<i64> level, i64 rank,
                            const NamedShape& n, bool inverse) {
  const auto [batch, in] = cut_last(kind, n.ishape, rank);
  Wavelet a(in, std::move(wavelet), level, batch, cut_last(kind, n.oshape, rank).second);
  a.inverse = inverse;
  return a;
}

Wavelet Wavelet::renamed(const Renames& renames) const {
  Wavelet w = *this;
  w.names = names.renamed(renames);
  return w;
}

std::string Wavelet::details() const {
  return cat(wavelet, level ? cat(" level ", *level) : std::string(), inverse ? " inverse" : "");
}

}  // namespace tessera
