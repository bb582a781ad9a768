// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/ops/fft.hpp"

#include <cmath>
#include <numbers>

#include "tessera/linop/ops/identity.hpp"

namespace tessera {
namespace {

// exp(sign 2πi (c k - c² [shifted]) / n) with c = n//2: a product over the axes of the grid, as an
// array of its shape. Note [centred transforms]: sum_m x[m] e^{∓2πi (k-c)(m-c)/n} factors into a
// phase of m, the plain transform, and a phase of k; both sides of a shift become multiplications.
Array phases(const Shape& grid, int sign, bool output_side, DType dtype, Device device) {
  const i64 n = count_of(grid);
  const Array p(Storage::allocate(cpu, n * size_of(DType::c128)), Layout::contiguous(grid),
                DType::c128);
  c128* data = p.host<c128>();
  for (i64 i = 0; i < n; ++i) {
    i64 rest = i;
    double turns = 0;
    for (i64 a = grid.size() - 1; a >= 0; --a) {
      const i64 k = rest % grid[a], c = grid[a] / 2;
      rest /= grid[a];
      // Reduced before the division: exact for any size.
      const i64 numerator = (c * k - (output_side ? c * c : 0)) % grid[a];
      turns += static_cast<double>(numerator) / static_cast<double>(grid[a]);
    }
    const double angle = sign * 2 * std::numbers::pi * (turns - std::floor(turns));
    data[i] = c128(std::cos(angle), std::sin(angle));
  }
  return p.astype(dtype).to(device);
}

Dims default_grid(i64 ndim, std::string_view letter) {
  require<DimError>(ndim >= 1 && ndim <= 3, "FFT: ", ndim,
                    " dims have no default names; give grid_shapes");
  Dims d;
  for (i64 i = 0; i < ndim; ++i) d.push_back(NamedDimension(cat(letter, "xyz"[i])));
  return d;
}

}  // namespace

FFT::FFT(i64 n, Dims batch_shape, std::optional<Grids> grid_shapes, Norm norm_, bool centered_)
    : ndim(n), norm(norm_), centered(centered_) {
  const Grids grids =
      grid_shapes ? *grid_shapes : Grids{default_grid(n, "N"), default_grid(n, "K")};
  require<DimError>(ndim >= 1 && grids.first.size() == ndim && grids.second.size() == ndim,
                    "FFT over ", ndim, " dims: the grids ", to_text(grids.first), " and ",
                    to_text(grids.second), " must have as many names");
  for (NamedDimension d : grids.first)
    require<DimError>(!contains(grids.second, d), "FFT over ", ndim, " dims: '", d,
                      "' is in both grids ", to_text(grids.first), " and ", to_text(grids.second),
                      "; the transform mixes along it, so its sides need different names");
  names = NamedShape(batch_shape, batch_shape) + NamedShape(grids.first, grids.second);
}

Shape FFT::output_shape(const Shape& input) const {
  require<DimError>(input.size() >= ndim, "FFT ", names.str(), ": transforms ", ndim,
                    " axes, got an array of shape ", input);
  for (i64 a = input.size() - ndim; a < input.size(); ++a)
    require<DimError>(input[a] > 0, "FFT ", names.str(), ": axis ", a, " of shape ", input,
                      " is empty");
  return input;
}

void FFT::apply(Recorder& r, const View& x, const View& y) const {
  const i64 rank = x.layout.ndim();
  Shape axes, grid;
  for (i64 a = rank - ndim; a < rank; ++a) {
    axes.push_back(a);
    grid.push_back(x.shape()[a]);
  }
  const int sign = backward ? 1 : -1;
  const double scale = fft_scale(norm, -1, count_of(grid));
  View in = x;
  if (centered) {
    in = r.temporary(x.shape(), y.dtype, r.device(x));
    record::multiply(r, r.constant(phases(grid, -sign, false, y.dtype, r.device(x))), x, in);
  } else if (x.dtype != y.dtype) {
    in = r.temporary(x.shape(), y.dtype, r.device(x));
    record::copy(r, x, in);
  }
  if (!centered) return record::fft(r, in, y, axes, sign, scale);
  const View plain = r.temporary(y.shape(), y.dtype, r.device(y));
  record::fft(r, in, plain, axes, sign, scale);
  record::multiply(r, r.constant(phases(grid, -sign, true, y.dtype, r.device(x))), plain, y);
}

FFT FFT::adjoint() const {
  FFT a = *this;
  a.names = names.H();
  a.backward = !backward;
  return a;
}

FFT FFT::renamed(const Renames& r) const {
  FFT a = *this;
  a.names = NamedShape(rename(names.ishape, r), rename(names.oshape, r));
  return a;
}

std::optional<NamedLinop> FFT::normal() const {
  // Other norms give a multiple of the identity that only the input's size tells.
  if (norm != Norm::ortho) return std::nullopt;
  return Identity(names.ishape);
}

std::string FFT::details() const {
  constexpr const char* norms[] = {"backward", "ortho", "forward"};
  return cat("norm=", norms[static_cast<int>(norm)], centered ? " centered" : "",
             backward ? " adjoint" : "");
}

}  // namespace tessera
