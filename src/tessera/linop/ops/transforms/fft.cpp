// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/ops/transforms/fft.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tessera/device/threads.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/fft/turns.hpp"
#include "tessera/linop/core/dim_sizes.hpp"
#include "tessera/linop/ops/basic/identity.hpp"

namespace tessera {
namespace {

// exp(2πi (c k - c² [output side]) / n) with c = n//2, for k < n.
std::vector<c128> axis_phase(i64 n, bool output_side) {
  std::vector<c128> all;
  const i64 c = n / 2;
  for (i64 k = 0; k < n; ++k) {
    // Reduced before the division: exact for any size.
    const i64 numerator = (c * k - (output_side ? c * c : 0)) % n;
    const auto [re, im] = root_of_unity(numerator < 0 ? numerator + n : numerator, n);
    all.push_back(c128(re, -im));
  }
  return all;
}

// The product of the axes' phases, as an array of the grid's shape. Note [centred transforms]:
// sum_m x[m] e^{-2πi (k-c)(m-c)/n} factors into a phase of m, the plain transform, and a phase of
// k; both sides of a shift become multiplications.
Array phase(const Shape& grid, bool output_side, DType dtype, Device device) {
  std::vector<std::vector<c128>> along;
  for (i64 n : grid) along.push_back(axis_phase(n, output_side));
  const i64 line = grid.back();
  const Array p = empty_dense(grid, dtype);
  dispatch<c64, c128>(dtype, "FFT", [&]<class T>() {
    T* to = p.host<T>();
    parallel_for(count_of(grid) / line, 64, [&](i64 begin, i64 end) {
      for (i64 row = begin; row < end; ++row) {
        c128 before(1, 0);
        for (i64 a = grid.size() - 2, rest = row; a >= 0; rest /= grid[a--])
          before =
              before * along[static_cast<std::size_t>(a)][static_cast<std::size_t>(rest % grid[a])];
        for (i64 i = 0; i < line; ++i) {
          const c128 v = before * along.back()[static_cast<std::size_t>(i)];
          to[row * line + i] =
              T(static_cast<decltype(T::re)>(v.re), static_cast<decltype(T::re)>(v.im));
        }
      }
    });
  });
  return p.to(device);
}

Dims default_grid(i64 ndim, bool kspace) {
  require<DimError>(ndim >= 1 && ndim <= 3, "FFT: ", ndim,
                    " dims have no default names; give grid_shapes");
  return nd_shape(ndim, kspace);
}

// Note [real parts]: numbers that a chain or a sum made complex reach a real transform only in an
// adjoint: of one that gave real numbers, which were scaled by complex ones or added to such. The
// adjoint of real numbers becoming complex is the real part. What else is complex is refused before
// it comes here: see takes_real().
View real_numbers(Recorder& r, const FFT& f, const View& x) {
  if (!is_complex(x.dtype)) return x;
  r.note(cat("FFT ", f.names.str(), ": takes the real part"));
  Layout half = x.layout;
  half.offset *= 2;
  for (i64& stride : half.strides) stride *= 2;
  return {x.slot, std::move(half), real_of(x.dtype)};
}

}  // namespace

FFT::FFT(i64 n, const Dims& batch_shape, std::optional<Grids> grid_shapes, Norm norm_,
         bool centered_, i64 real_)
    : ndim(n), norm(norm_), centered(centered_), real(real_) {
  require<ArgumentError>(ndim >= 1, "FFT over ", ndim, " dims: expected at least one");
  const Grids grids =
      grid_shapes ? *grid_shapes : Grids{default_grid(n, false), default_grid(n, true)};
  require<DimError>(grids.first.size() == ndim && grids.second.size() == ndim, "FFT over ", ndim,
                    " dims: the grids ", to_text(grids.first), " and ", to_text(grids.second),
                    " must have as many names");
  for (NamedDimension d : grids.first)
    require<DimError>(!contains(grids.second, d), "FFT over ", ndim, " dims: '", d,
                      "' is in both grids ", to_text(grids.first), " and ", to_text(grids.second),
                      "; the transform mixes along it, so its sides need different names");
  require<ArgumentError>(real >= 0 && !(real && centered), "FFT over ", ndim,
                         " dims: a real transform has the length of its last dim (got real=", real,
                         ") and is not centered");
  names = NamedShape(batch_shape, batch_shape) + NamedShape(grids.first, grids.second);
  for (const Dims* side : {&names.ishape, &names.oshape})
    check_distinct(cat("FFT ", names.str()), *side);
  for (i64 i = 0; i < ndim; ++i) along.push_back(i);
  whole = Shape(ndim, 0);
}

FFT FFT::without(const Shape& grid_dims) const {
  FFT rest = *this;
  rest.along = {};
  for (i64 i : along)
    if (std::find(grid_dims.begin(), grid_dims.end(), i) == grid_dims.end())
      rest.along.push_back(i);
  for (i64 i : grid_dims)
    rest.names.oshape[names.oshape.size() - ndim + i] =
        names.ishape[names.ishape.size() - ndim + i];
  return rest;
}

FFT FFT::split(const Tile& tile) const {
  FFT part = *this;
  for (const Cut& c : tile.cuts) {
    require<SplitError>(
        contains(names.ishape, c.dim) && contains(names.oshape, c.dim) && !size(c.dim), "FFT ",
        names.str(), " cannot be cut along dim '", c.dim, "': it mixes along it");
    for (i64 i = 0; i < ndim; ++i) {
      if (names.ishape[names.ishape.size() - ndim + i] != c.dim || whole[i] > 0) continue;
      require<SplitError>(c.whole || norm == Norm::ortho, "FFT ", names.str(),
                          " cannot be cut along dim '", c.dim,
                          "': its factor depends on the size of the dim, which is not known");
      part.whole[i] = c.whole.value_or(0);
    }
  }
  return part;
}

Shape FFT::axes(i64 rank) const {
  Shape a;
  for (i64 i : along) a.push_back(rank - ndim + i);
  return a;
}

Shape FFT::transformed_grid(const Shape& array) const {
  Shape grid(ndim, 1);
  for (i64 i : along) grid[i] = array[array.size() - ndim + i];
  return grid;
}

double FFT::scale(const Shape& array) const {
  Shape grid(array.end() - ndim, array.end());
  for (i64 i = 0; i < ndim; ++i)
    if (whole[i] > 0) grid[i] = whole[i];
  const i64 all = count_of(grid), skipped = all / count_of(transformed_grid(array));
  return fft_scale(norm, -1, all) * std::sqrt(static_cast<double>(skipped));
}

double FFT::gain(const Shape& grid) const {
  const double s = fft_scale(norm, -1, count_of(grid));
  return norm == Norm::ortho ? 1 : s * s * static_cast<double>(count_of(grid));
}

std::optional<double> FFT::gain(const SizeOf& size_of) const {
  if (real) return std::nullopt;
  if (norm == Norm::ortho) return 1;
  const Dims &in = names.ishape, &out = names.oshape;
  Shape grid = whole;
  for (i64 i = 0; i < ndim; ++i) {
    if (grid[i] > 0) continue;
    std::optional<i64> n = size_of(in[in.size() - ndim + i]);
    if (!n) n = size_of(out[out.size() - ndim + i]);
    if (!n) return std::nullopt;
    grid[i] = *n;
  }
  return gain(grid);
}

Shape FFT::separable_axes() const {
  Shape axes;
  if (!real)
    for (i64 i : along) axes.push_back(ndim - i);
  return axes;
}

FFT FFT::without_axes(const Shape& from_the_right) const {
  Shape grid_dims;
  for (i64 axis : from_the_right) grid_dims.push_back(ndim - axis);
  return without(grid_dims);
}

Shape FFT::output_shape(const Shape& input) const {
  require<DimError>(input.size() >= ndim, "FFT ", names.str(), ": transforms ", ndim,
                    " axes, got an array of shape ", input);
  for (i64 a = input.size() - ndim; a < input.size(); ++a)
    require<DimError>(input[a] > 0, "FFT ", names.str(), ": axis ", a, " of shape ", input,
                      " is empty");
  if (!real) return input;
  Shape out = input;
  const i64 expected = backward ? real / 2 + 1 : real;
  require<DimError>(out.back() == expected, "FFT ", names.str(), ": the last axis of shape ", input,
                    " has ", out.back(), ", a real transform of length ", real, " expects ",
                    expected);
  out.back() = backward ? real : real / 2 + 1;
  return out;
}

std::optional<i64> FFT::size(NamedDimension d) const {
  if (!real) return std::nullopt;
  const NamedDimension points = backward ? names.oshape.back() : names.ishape.back(),
                       half = backward ? names.ishape.back() : names.oshape.back();
  if (d == points) return real;
  return d == half ? std::optional(real / 2 + 1) : std::nullopt;
}

std::optional<NamedDimension> FFT::same_size(NamedDimension d) const {
  if (real && (d == names.ishape.back() || d == names.oshape.back())) return std::nullopt;
  return across(names, d);
}

FFT::Phases FFT::phases(const Shape& grid, DType dtype, Device device) {
  return {phase(grid, false, dtype, device), phase(grid, true, dtype, device)};
}

// Note [real transforms]: the adjoint sums y[k] e^{2πi k m / n} over the kept half and takes the
// real part. The transform to real numbers counts every frequency twice but the first and, for even
// n, the last: the others are halved before it.
void FFT::apply_real(Recorder& r, const View& x, const View& y, const Shape& over) const {
  require<DTypeError>(is_complex(x.dtype) || !backward, "FFT ", names.str(),
                      ": a real transform gives its adjoint complex numbers, got ", name(x.dtype));
  Shape grid;
  for (i64 a : over) grid.push_back(backward ? y.shape()[a] : x.shape()[a]);
  const double by = fft_scale(norm, -1, count_of(grid));
  if (!backward) return record::real_fft(r, real_numbers(r, *this, x), y, over, by);
  const Array halves = Array::empty({real / 2 + 1}, DType::f64, cpu);
  for (i64 k = 0; k <= real / 2; ++k)
    halves.select(0, k).fill(Value(k == 0 || 2 * k == real ? 1.0 : 0.5));
  const View half = r.temporary(x.shape(), x.dtype, r.device(x));
  record::multiply(r, r.constant(halves.astype(real_of(x.dtype)).to(r.device(x))), x, half);
  record::real_fft(r, half, y, over, by);
}

void FFT::apply(Recorder& r, const View& x, const View& y) const {
  const Shape over = axes(x.layout.ndim());
  if (real) return apply_real(r, x, y, over);
  const int sign = backward ? 1 : -1;
  const double by = scale(x.shape());
  View in = x;
  if (!centered) {
    if (x.dtype != y.dtype) {
      in = r.temporary(x.shape(), y.dtype, r.device(x));
      record::copy(r, x, in);
    }
    return record::fft(r, in, y, over, sign, by);
  }
  const Phases p = phases(transformed_grid(x.shape()), y.dtype, r.device(x));
  in = r.temporary(x.shape(), y.dtype, r.device(x));
  const View plain = r.temporary(y.shape(), y.dtype, r.device(y));
  const View before = r.constant(backward ? p.out : p.in),
             after = r.constant(backward ? p.in : p.out);
  backward ? record::conj_multiply(r, before, x, in) : record::multiply(r, before, x, in);
  record::fft(r, in, plain, over, sign, by);
  backward ? record::conj_multiply(r, after, plain, y) : record::multiply(r, after, plain, y);
}

FFT FFT::adjoint() const {
  FFT a = *this;
  a.names = names.H();
  a.backward = !backward;
  return a;
}

FFT FFT::from_state(i64 ndim, const NamedShape& names, Norm norm, bool centered, i64 real,
                    bool backward, const Shape& along, const Shape& whole) {
  const auto [batch, in] = cut_last("FFT", names.ishape, ndim);
  Dims out = cut_last("FFT", names.oshape, ndim).second, taken = names.ishape;
  taken.append(names.oshape);
  require<DimError>(whole.size() == ndim && in.size() == ndim, "FFT ", names.str(), ": ", whole,
                    " are no sizes of ", ndim, " dims");
  for (i64 i = 0; i < ndim; ++i) {
    const bool transformed = std::find(along.begin(), along.end(), i) != along.end();
    require<DimError>(whole[i] == 0 || (whole[i] > 0 && !transformed), "FFT ", names.str(), ": ",
                      whole, " are no sizes of dims that are not transformed");
    if (!transformed) out[i] = out[i].next_unused(taken);  // it has the input's name
    taken.push_back(out[i]);
  }
  FFT a(ndim, batch, Grids(in, out), norm, centered, real);
  for (i64 i = 0; i < along.size(); ++i)
    require<DimError>(along[i] >= 0 && along[i] < ndim && (i == 0 || along[i] > along[i - 1]),
                      "FFT ", names.str(), ": ", along, " of ", ndim, " dims are transformed");
  a.names = names;
  a.backward = backward;
  a.along = along;
  a.whole = whole;
  return a;
}

FFT FFT::renamed(const Renames& r) const {
  FFT a = *this;
  a.names = names.renamed(r);
  return a;
}

std::optional<NamedLinop> FFT::normal() const {
  // Other norms give a multiple of the identity that only the input's size tells.
  if (!isometry()) return std::nullopt;
  return Identity(names.ishape);
}

std::string FFT::details() const {
  constexpr const char* norms[] = {"backward", "ortho", "forward"};
  return cat("norm=", norms[static_cast<int>(norm)], centered ? " centered" : "",
             real ? cat(" real=", real) : "", backward ? " adjoint" : "",
             along.size() < ndim ? cat(" along ", along) : "");
}

}  // namespace tessera
