// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/ops/transforms/field_map.hpp"

#include <algorithm>
#include <cmath>

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/linop/core/algebra.hpp"
#include "tessera/linop/core/dim_sizes.hpp"
#include "tessera/linop/ops/basic/dense.hpp"
#include "tessera/linop/ops/basic/diagonal.hpp"
#include "tessera/linop/ops/basic/scalar.hpp"
#include "tessera/linop/rewrite/grid_names.hpp"

namespace tessera {
namespace {

void check_real(const Array& x, std::string_view what) {
  require<DTypeError>(!is_complex(x.dtype()) && x.dtype() != DType::b1, "FieldMapNUFFT: ", what,
                      " of ", name(x.dtype()), "; expected real numbers");
  const Array at = nufft::host_numbers(x);
  for (i64 i = 0; i < at.size(); ++i)
    require<ArgumentError>(std::isfinite(at.host<double>()[i]), "FieldMapNUFFT: ", what, " hold ",
                           at.host<double>()[i], " at position ", i, "; expected finite numbers");
}

void check_field_map(const Array& locs, const Shape& grid, const Array& field_map,
                     const Array& times, const FieldMapOptions& o) {
  require<ShapeError>(field_map.shape() == grid, "FieldMapNUFFT: a field map of shape ",
                      field_map.shape(), " for an image of shape ", grid);
  const i64 rank = locs.ndim() - 1;
  const bool fits =
      rank >= times.ndim() && std::equal(times.shape().begin(), times.shape().end(),
                                         locs.shape().begin() + (rank - times.ndim()));
  require<ShapeError>(fits, "FieldMapNUFFT: times of shape ", times.shape(),
                      " for locations of shape ", locs.shape(),
                      "; expected the last sizes of the points");
  check_real(field_map, "the frequencies of the field map");
  check_real(times, "times");
  require<ArgumentError>(o.tol >= nufft::least_field_map_tolerance && o.tol < 1,
                         "FieldMapNUFFT: tol ", o.tol, " is out of reach; expected at least ",
                         nufft::least_field_map_tolerance, " and less than 1");
  require<ArgumentError>(!o.segments || (*o.segments >= 1 && *o.segments <= 4096),
                         "FieldMapNUFFT: ", o.segments.value_or(0),
                         " segments; expected a number from 1 to 4096");
}

Array shaped(const Array& segments, const Shape& rest, DType dtype, Device device) {
  Shape shape{segments.shape(0)};
  shape.append(rest);
  return segments.reshape(shape).astype(dtype).to(device);
}

// What operator and normal are made of.
struct Encoding {
  const Array& locs;
  const Shape& grid;
  const FieldMapOptions& options;
  Array hertz, seconds;  // float64, on the host
  Shape times;           // their shape
  Dims image, points;
  NamedDimension segment;
  DType dtype;

  Dims each() const { return joined(options.batch_shape, Dims{segment}); }
  i64 count_of_points() const {
    return count_of(Shape(locs.shape().begin(), locs.shape().end() - 1));
  }
  // Half of the tolerance is left for errors of the kernel, which mixtures enlarge.
  nufft::KernelChoice kernel(const nufft::Segments& s) const {
    const double left = options.tol / (2 * std::max(1.0, s.gain));
    return nufft::kernel_for(std::max(left, nufft::least_tolerance), grid, count_of_points());
  }
  NamedLinop transform(const nufft::KernelChoice& kernel, bool toeplitz) const {
    NufftOptions o;
    o.oversamp = kernel.oversamp;
    o.width = kernel.width;
    o.wrap = options.wrap;
    o.toeplitz = toeplitz;
    o.toeplitz_dtype = dtype;
    return NUFFT(locs, grid, points, image, {}, each(), o);
  }
  NamedLinop pixels(const Array& segments) const {
    return Dense(shaped(segments, grid, dtype, locs.device()), joined(Dims{segment}, image),
                 joined(options.batch_shape, image), joined(each(), image));
  }
};

// Note [normals of field maps]: between two pixels A.H A depends on the difference of their
// frequencies and on that of their places. So it is a sum over segments as A is, of the twice as
// many turns that differences make: pixels at some times, a convolution for each, and the pixels
// back. The mixtures are real, since those of a difference and of the opposite one are conjugate.
struct ClosedNormal {
  const Encoding& encoding;
  nufft::Segments segments;
  nufft::KernelChoice kernel;
  double nanoseconds;  // of one thread, for one batch
  i64 numbers;         // that it holds

  // Turns that differences of frequencies make.
  static double turns_of(const Encoding& e) {
    return 2 * nufft::range_of(e.hertz) * nufft::range_of(e.seconds);
  }
  static Array differences_of(const Encoding& e) {
    const double widest = nufft::range_of(e.hertz);
    const i64 some = 64 + 32 * static_cast<i64>(std::ceil(turns_of(e)));
    const Array all = empty_dense({some}, DType::f64);
    for (i64 i = 0; i < some; ++i)
      all.host<double>()[i] =
          widest * (2 * static_cast<double>(i) / static_cast<double>(some - 1) - 1);
    return all;
  }
  static double nanoseconds_of(const Encoding& e, i64 segments, const nufft::KernelChoice& kernel) {
    return static_cast<double>(segments) *
           nufft::normal_cost(e.grid, e.count_of_points(), kernel).toeplitz;
  }
  static ClosedNormal of(const Encoding& e) {
    const double turns = turns_of(e);
    require<ArgumentError>(turns <= nufft::most_turns,
                           "FieldMapNUFFT: toeplitz=True for a field map and times that span ",
                           turns / 2, " turns; normals by convolutions take at most ",
                           nufft::most_turns / 2, ": leave toeplitz away, or False");
    nufft::Segments s = nufft::segments_for(differences_of(e), e.seconds, e.options.tol / 2);
    const nufft::KernelChoice kernel = e.kernel(s);
    const i64 count = static_cast<i64>(s.nodes.size());
    i64 numbers = count;
    for (i64 n : e.grid) numbers *= 2 * n;
    return {e, std::move(s), kernel, nanoseconds_of(e, count, kernel), numbers};
  }
  bool pays(double gridding) const {
    return nufft::NormalCost{gridding, nanoseconds}.prefers_toeplitz() &&
           numbers <= nufft::most_kernel_numbers;
  }
  std::string reason(bool taken, i64 gridded, double gridding) const {
    return cat("FieldMapNUFFT: normals ", taken ? "by convolutions" : "by gridding",
               "; predicted for one batch and thread: ", nanoseconds * 1e-6, " ms by ",
               segments.nodes.size(), " convolutions that hold ", numbers, " numbers, ",
               gridding * 1e-6, " ms by gridding ", gridded, " segments");
  }
  NamedLinop operator()(const NamedLinop& map) const {
    const Array turns = nufft::turned(segments.nodes, nufft::numbers_of(encoding.hertz)),
                mixture = segments.mixture(encoding.seconds).real();
    Shape along(static_cast<std::size_t>(encoding.points.size()), 1);
    std::copy(encoding.times.begin(), encoding.times.end(), along.end() - encoding.times.size());
    return FieldMapNUFFT{{map},
                         chain({encoding.pixels(turns), encoding.transform(kernel, true)}),
                         shaped(mixture, along, real_of(encoding.dtype), encoding.locs.device())};
  }
};

}  // namespace

NamedLinop FieldMapNUFFT::normal_with(const Array& weights) const {
  return segments.normal(Diagonal(weights, segments.oshape()).following());
}

std::optional<NamedLinop> FieldMapNUFFT::normal(const NamedLinop& inner) const {
  if (const auto c = inner.offers().factor()) return normal_with(NamedLinop(Scalar(*c))(mixture));
  const std::optional<Shape> shape = inner.offers().weight_shape();
  if (!shape) return std::nullopt;
  Array w = inner.offers().product(mixture.dtype());
  // Axes before those of the points are batches, which stand before the segments.
  if (const i64 batches = w.ndim() - (mixture.ndim() - 1); batches > 0)
    w = w.view(w.layout().insert_axis(batches));
  return normal_with(ops::multiply(mixture, w));
}

Dims FieldMapNUFFT::points() const {
  const Dims all = segments.oshape();
  return Dims(all.end() - (mixture.ndim() - 1), all.end());
}

NamedLinop FieldMapNUFFT::split(const Tile& tile) const {
  Array part = mixture;
  const Dims along = points();
  for (const Cut& c : tile.cuts) {
    if (!contains(shape().ishape, c.dim) && !contains(shape().oshape, c.dim)) return a.split(tile);
    for (i64 i = 0; i < along.size(); ++i)
      if (along[i] == c.dim && part.shape(i + 1) > 1) part = part.slice(i + 1, c.start, c.stop);
  }
  return FieldMapNUFFT{{a.split(tile)}, segments.split(tile), part};
}

FieldMapNUFFT FieldMapNUFFT::renamed(const Renames& r) const {
  const NamedLinop map = a.rename(r);
  const Dims all = segments.oshape();
  const NamedDimension was = all[all.size() - mixture.ndim()];
  Dims taken = dims_of(map.shape());
  Renames also = r;
  if (contains(taken, was)) also.emplace_back(was, was.next_unused(taken));
  return {{map}, segments.rename(also), mixture};
}

FieldMapNUFFT FieldMapNUFFT::from_state(NamedLinop map, NamedLinop segments, Array mixture) {
  const std::string who = cat(kind, " ", map.shape().str());
  const Dims all = segments.oshape();
  require<ShapeError>(mixture.ndim() >= 1 && mixture.ndim() <= all.size(), who,
                      ": a mixture of shape ", mixture.shape(), " for ", to_text(all));
  const auto at = all.end() - mixture.ndim();
  Dims rest(all.begin(), at);
  rest.append(Dims(at + 1, all.end()));
  require<DimError>(segments.ishape() == map.ishape() && rest == map.oshape(), who,
                    ": segments of another shape, ", segments.shape().str());
  return {{std::move(map)}, std::move(segments), std::move(mixture)};
}

NamedLinop field_map_nufft(const Array& locs, const Shape& grid, const Array& field_map,
                           const Array& times, const FieldMapOptions& o) {
  require<ShapeError>(locs.ndim() >= 1, "FieldMapNUFFT: locations of shape ", locs.shape(),
                      "; expected (..., axes)");
  check_field_map(locs, grid, field_map, times, o);
  const Dims image = o.input_shape.value_or(nd_shape(grid.size())),
             points = o.output_shape.value_or(numbered_dims("K", locs.ndim() - 1));
  const Dims taken = joined(joined(o.batch_shape, image), points);
  const Encoding e{locs,
                   grid,
                   o,
                   nufft::host_numbers(field_map),
                   nufft::host_numbers(times),
                   times.shape(),
                   image,
                   points,
                   o.segment.next_unused(taken),
                   complex_of(working_dtype(field_map.dtype()))};
  const bool by_time = o.segmentation == Segmentation::time;
  const Array &of_nodes = by_time ? e.seconds : e.hertz, &others = by_time ? e.hertz : e.seconds;
  const nufft::Segments s = nufft::segments_for(others, of_nodes, o.tol / 2, o.segments);
  const Array exponentials = nufft::turned(s.nodes, nufft::numbers_of(others)),
              mixture = s.mixture(of_nodes);
  const nufft::KernelChoice kernel = e.kernel(s);
  const Dims timed(points.end() - times.ndim(), points.end());
  const NamedLinop samples = Dense(
      shaped(by_time ? mixture : exponentials, times.shape(), e.dtype, locs.device()),
      joined(Dims{e.segment}, timed), joined(e.each(), points), joined(o.batch_shape, points));
  const NamedLinop map =
      chain({e.pixels(by_time ? exponentials : mixture), e.transform(kernel, false), samples});
  if (o.toeplitz == false || e.hertz.size() == 0 || e.seconds.size() == 0) return map;
  if (o.toeplitz) return ClosedNormal::of(e)(map);
  const i64 count = static_cast<i64>(s.nodes.size());
  const double gridding =
      static_cast<double>(count) * nufft::normal_cost(grid, e.count_of_points(), kernel).gridding;
  const auto gridded = [&](std::string_view why) {
    return map.noted({cat(
        "FieldMapNUFFT: normals by gridding; predicted for one batch and thread: ", gridding * 1e-6,
        " ms by gridding ", count, " segments, ", why)});
  };
  if (ClosedNormal::turns_of(e) > nufft::most_turns)
    return gridded("and too many turns for convolutions");
  // Where the fewest that there can be would not pay, none are fitted.
  const double least = ClosedNormal::nanoseconds_of(
      e, nufft::fewest_segments(ClosedNormal::differences_of(e), e.seconds, o.tol / 2), kernel);
  if (!nufft::NormalCost{gridding, least}.prefers_toeplitz())
    return gridded(cat(least * 1e-6, " ms or more by convolutions"));
  const ClosedNormal closed = ClosedNormal::of(e);
  const bool takes = closed.pays(gridding);
  const NamedLinop made = takes ? closed(map) : map;
  return made.noted({closed.reason(takes, count, gridding)});
}

}  // namespace tessera
