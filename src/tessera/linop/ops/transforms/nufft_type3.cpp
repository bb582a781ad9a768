// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/ops/transforms/nufft_type3.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tessera/device/threads.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/linop/core/algebra.hpp"
#include "tessera/linop/core/dim_sizes.hpp"
#include "tessera/linop/ops/basic/diagonal.hpp"
#include "tessera/linop/ops/sampling/interpolate.hpp"
#include "tessera/linop/ops/transforms/nufft.hpp"
#include "tessera/linop/rewrite/grid_names.hpp"

namespace tessera {
namespace {

using std::numbers::pi;

constexpr double type3_oversamp = 2, most_grid_points = 1e11;

Array real_places(const Array& x, std::string_view what) {
  require<ShapeError>(x.ndim() >= 1 && x.shape(x.ndim() - 1) >= 1 && x.shape(x.ndim() - 1) <= 3,
                      "NUFFT3: ", what, " of shape ", x.shape(),
                      "; expected (..., axes) with one to three axes");
  require<DTypeError>(!is_complex(x.dtype()) && x.dtype() != DType::b1, "NUFFT3: ", what, " of ",
                      name(x.dtype()), "; expected real numbers");
  const Array at = x.to(cpu).astype(DType::f64).contiguous();
  const i64 axes = x.shape(x.ndim() - 1);
  for (i64 i = 0; i < at.size(); ++i)
    require<ArgumentError>(std::isfinite(at.host<double>()[i]), "NUFFT3: ", what, " hold ",
                           at.host<double>()[i], " at position ", i / axes, " along axis ",
                           i % axes, "; expected finite numbers");
  return at;
}

// From centre - reach to centre + reach.
struct Reach {
  double centre = 0, half = 0;

  Reach(const Array& at, i64 axis, i64 axes) {
    if (at.size() == 0) return;
    const double* p = at.host<double>();
    double low = p[axis], high = p[axis];
    for (i64 i = axis; i < at.size(); i += axes) {
      low = std::min(low, p[i]);
      high = std::max(high, p[i]);
    }
    centre = low / 2 + high / 2;
    half = high / 2 - low / 2;
  }
};

// Four times a number without prime factors above 5: a length that stays such a number when it is
// oversampled by 1.25, 1.5 or 2.
i64 quick_length(double least) {
  for (i64 m = std::max<i64>(1, static_cast<i64>(std::ceil(least / 4)));; ++m) {
    i64 rest = m;
    for (i64 p : {2, 3, 5})
      while (rest % p == 0) rest /= p;
    if (rest == 1) return 4 * m;
  }
}

// Note [type 3]
// Along each axis, with x = x0 + x' and s = s0 + s':  s x = s x0 + s0 x' + s' x'.  The first two
// terms are turns of the outputs and of the inputs. For the third, points are spread by a kernel f
// onto a grid of spacing h: sum over l of f(l - x'/h) exp(i s' h l) = exp(i s' x') F(s' h), but for
// what aliases, where |s' h| <= pi / 2. The sum over l is a NUFFT, F is divided out.
struct Type3Axis {
  Reach points, frequencies;
  double spacing = 1;
  i64 length = 0;

  Type3Axis(const Array& x, const Array& s, i64 axis, i64 axes, double width)
      : points(x, axis, axes), frequencies(s, axis, axes) {
    if (frequencies.half > 0)
      spacing = std::min(pi / (type3_oversamp * frequencies.half), 1e200);
    else if (points.half > 0)
      spacing = points.half;
    const double cells = 2 * points.half / spacing + width + 2;
    require<ArgumentError>(cells < most_grid_points, "NUFFT3: points that reach over ",
                           2 * points.half, " and frequencies over ", 2 * frequencies.half,
                           " along axis ", axis, " need a grid of ", cells,
                           " points; expected fewer than ", most_grid_points);
    length = quick_length(std::max(cells, 2 * width));
  }
};

struct Type3 {
  i64 axes;
  int sign;
  Array x, s;
  double width = 0, beta = 0, scale = 1;
  std::vector<Type3Axis> along;
  Shape grid;

  Type3(const Array& points, const Array& frequencies, const NufftType3Options& o)
      : axes(points.ndim() >= 1 ? points.shape(points.ndim() - 1) : 0),
        sign(o.sign),
        x(real_places(points, "points")),
        s(real_places(frequencies, "frequencies")) {
    require<ShapeError>(s.shape(s.ndim() - 1) == axes, "NUFFT3: points of shape ", points.shape(),
                        " and frequencies of shape ", frequencies.shape(),
                        "; expected the same number of axes");
    require<ArgumentError>(o.tol >= nufft::least_type3_tolerance && o.tol < 1, "NUFFT3: tol ",
                           o.tol, " is out of reach; expected at least ",
                           nufft::least_type3_tolerance,
                           ", which is reached in double precision, and less than 1");
    require<ArgumentError>(sign == 1 || sign == -1, "NUFFT3: sign ", sign, "; expected 1 or -1");
    // Frequencies may all lie at the end of the band, where a kernel errs several times its mean.
    const double allowed = o.tol / (8 * std::sqrt(static_cast<double>(axes)));
    for (width = 2; width < 16; ++width)
      if (nufft::kernel_error(static_cast<int>(width), type3_oversamp) <= allowed) break;
    beta = nufft::kaiser_bessel_beta(width, type3_oversamp);
    scale = nufft::kernel_scale(width, type3_oversamp);
    double cells = 1;
    for (i64 a = 0; a < axes; ++a) {
      along.emplace_back(x, s, a, axes, width);
      grid.push_back(along.back().length);
      cells *= static_cast<double>(grid.back());
    }
    require<ArgumentError>(cells < most_grid_points, "NUFFT3: points and frequencies of shape ",
                           points.shape(), " and ", frequencies.shape(),
                           " reach so far that they need a grid of shape ", grid,
                           "; expected fewer than ", most_grid_points, " points");
  }

  // f(index, coordinates) for each of the places, shared by threads.
  template <class F>
  Array each(const Array& at, DType dtype, bool with_axes, const F& f) const {
    Shape shape = at.shape();
    if (!with_axes) shape.pop_back();
    const Array out = empty_dense(shape, dtype);
    const double* p = at.host<double>();
    parallel_for(at.size() / axes, 1 << 12, [&](i64 begin, i64 end) {
      for (i64 i = begin; i < end; ++i) f(out, i, p + i * axes);
    });
    return out;
  }
  const Type3Axis& axis(i64 a) const { return along[static_cast<std::size_t>(a)]; }

  Array positions() const {  // of the points on the grid
    return each(x, DType::f64, true, [this](const Array& out, i64 i, const double* p) {
      for (i64 a = 0; a < axes; ++a) {
        const i64 middle = grid[a] / 2;
        out.host<double>()[i * axes + a] =
            (p[a] - axis(a).points.centre) / axis(a).spacing + static_cast<double>(middle);
      }
    });
  }
  Array turns_of_points() const {
    return each(x, DType::c128, false, [this](const Array& out, i64 i, const double* p) {
      double angle = 0;
      for (i64 a = 0; a < axes; ++a)
        angle += axis(a).frequencies.centre * (p[a] - axis(a).points.centre);
      out.host<c128>()[i] = c128(std::cos(angle), sign * std::sin(angle));
    });
  }
  double angle_of(i64 a, const double* p) const {  // between grid points; at most pi / 2
    return (p[a] - axis(a).frequencies.centre) * axis(a).spacing;
  }
  Array frequencies_on_grid() const {  // as NUFFT counts them
    return each(s, DType::f64, true, [this](const Array& out, i64 i, const double* p) {
      for (i64 a = 0; a < axes; ++a)
        out.host<double>()[i * axes + a] =
            -sign * angle_of(a, p) * static_cast<double>(grid[a]) / (2 * pi);
    });
  }
  // What the kernel makes of a turn by `angle` from one grid point to the next.
  double transform(double angle) const {
    const double t = width * angle / 2, root = std::sqrt(std::max(0.0, beta * beta - t * t));
    return width * scale * (root > 1e-6 ? std::sinh(root) / root : 1);
  }
  double correction(const double* p) const {
    double product = 1;
    for (i64 a = 0; a < axes; ++a) product /= transform(angle_of(a, p));
    return product;
  }
  // The correction, the turn by where the points are, and the square root by which NUFFT divides.
  Array turns_of_frequencies() const {
    const double root = std::sqrt(static_cast<double>(count_of(grid)));
    return each(s, DType::c128, false, [this, root](const Array& out, i64 i, const double* p) {
      double angle = 0;
      for (i64 a = 0; a < axes; ++a) angle += p[a] * axis(a).points.centre;
      const double size = root * correction(p);
      out.host<c128>()[i] = c128(size * std::cos(angle), sign * size * std::sin(angle));
    });
  }
  // How much corrections enlarge errors of the NUFFT, which are the same at all frequencies.
  double gain() const {
    const i64 count = s.size() / axes;
    if (count == 0) return 1;
    const Array at = each(s, DType::f64, false, [this](const Array& out, i64 i, const double* p) {
      out.host<double>()[i] = correction(p) * correction(p);
    });
    double sum = 0, whole = 1;
    for (i64 i = 0; i < count; ++i) sum += at.host<double>()[i];
    for (i64 a = 0; a < axes; ++a) whole *= transform(0);
    return whole * std::sqrt(sum / static_cast<double>(count));
  }
};

}  // namespace

NamedLinop nufft_type3(const Array& points, const Array& frequencies, const NufftType3Options& o) {
  const Type3 t(points, frequencies, o);
  const Dims in = o.input_shape.value_or(numbered_dims("J", points.ndim() - 1)),
             out = o.output_shape.value_or(numbered_dims("K", frequencies.ndim() - 1));
  require<DimError>(in.size() == points.ndim() - 1 && !has_ellipses(in), "NUFFT3: points of shape ",
                    points.shape(), " have the names ", to_text(in), "; expected ",
                    points.ndim() - 1);
  require<DimError>(out.size() == frequencies.ndim() - 1 && !has_ellipses(out),
                    "NUFFT3: frequencies of shape ", frequencies.shape(), " have the names ",
                    to_text(out), "; expected ", frequencies.ndim() - 1);
  const Dims& batch = o.batch_shape;
  check_names("NUFFT3", {&batch, &in, &out});
  Dims taken = joined(joined(batch, in), out), between;
  for (NamedDimension d : nd_shape(t.axes)) {
    between.push_back(d.next_unused(taken));
    taken.push_back(between.back());
  }
  SpreadKernel kernel;
  kernel.width = {t.width};
  kernel.beta = t.beta;
  kernel.scale = t.scale;
  NufftOptions options;
  const nufft::KernelChoice choice =
      nufft::kernel_for(std::max(o.tol / (2 * t.gain()), nufft::least_tolerance), t.grid,
                        frequencies.size() / t.axes, "NUFFT3");
  options.oversamp = choice.oversamp;
  options.width = choice.width;
  const Device where = points.device();
  const NamedLinop spread =
      NamedLinop(Interpolate(t.positions().to(where), t.grid, batch, in, between, kernel)).H();
  const NamedLinop transform =
      NUFFT(t.frequencies_on_grid().to(where), t.grid, out, between, {}, batch, options);
  return chain({Diagonal(t.turns_of_points().to(where), joined(batch, in)).following(), spread,
                transform,
                Diagonal(t.turns_of_frequencies().to(where), joined(batch, out)).following()});
}

}  // namespace tessera
