// SPDX-License-Identifier: Apache-2.0
#pragma once
// The discrete Fourier transform of the last dims: batch + grid -> batch + frequencies. Any norm,
// with its true adjoint; centred transforms have the origin at n//2 on both sides, by phases
// instead of shifts. With `real` = length of the last grid dim: real input, the half of the
// spectrum with non-negative frequencies along that dim; linear over the reals, with the adjoint of
// the real inner product.
//   NamedLinop F = FFT(2);   FFT(2, dims("C"), {dims("NxNy"), dims("KxKy")}, Norm::ortho,
//   /*centered=*/true)

#include "tessera/linop/core/linop.hpp"

namespace tessera {

constexpr Norm last_of(Norm) { return Norm::forward; }

struct TESSERA_API FFT {
  i64 ndim;
  NamedShape names;
  Norm norm;
  bool centered;
  i64 real = 0;           // length of the last dim of a real transform; 0: complex
  bool backward = false;  // the adjoint: conjugated exponent, same scale
  Shape along;            // which of the grid's dims are transformed; see without()
  Shape whole;            // sizes of the grid's other dims before they were cut; 0: as they are

  static constexpr const char* kind = "FFT";
  using Grids = std::pair<Dims, Dims>;
  // Default grids: Nx, Ny, Nz -> Kx, Ky, Kz. DimError for ndim outside 1..3 without grids, or
  // unequal grids.
  explicit FFT(i64 ndim, const Dims& batch_shape = {NamedDimension::ellipses()},
               std::optional<Grids> grid_shapes = {}, Norm norm = Norm::ortho,
               bool centered = false, i64 real = 0);
  NamedShape shape() const { return names; }
  auto state() const {
    return std::tuple(ndim, names, norm, centered, real, backward, along, whole);
  }
  static FFT from_state(i64 ndim, const NamedShape& names, Norm norm, bool centered, i64 real,
                        bool backward, const Shape& along, const Shape& whole);
  Shape output_shape(const Shape& input) const;
  DType output_dtype(DType t) const { return real && backward ? real_of(t) : complex_of(t); }
  std::optional<i64> size(NamedDimension d) const;
  std::optional<NamedDimension> same_size(NamedDimension d) const;
  bool is_real_linear() const { return real != 0; }
  void apply(Recorder& r, const View& x, const View& y) const;
  FFT adjoint() const;
  std::optional<NamedLinop> normal() const;  // the identity, for the ortho norm
  bool isometry() const { return norm == Norm::ortho && !real; }
  FFT renamed(const Renames& r) const;
  std::string details() const;

  // The same without the transforms of these dims of the grid, which keep their input's name.
  // Their part of F.H F is kept as a scale, half of it on each side.
  FFT without(const Shape& grid_dims) const;
  // Along batches, and along dims of the grid that are not transformed: the part keeps the factor
  // of the whole.
  FFT split(const Tile& tile) const;
  Shape axes(i64 rank) const;  // the transformed ones of an array
  double scale(const Shape& array) const;
  // F.H F is this times the identity, for a grid of these sizes.
  double gain(const Shape& grid) const;
  std::optional<double> gain(const SizeOf& size_of) const;
  Shape separable_axes() const;
  FFT without_axes(const Shape& from_the_right) const;
  // A centred transform is a plain one between phases, which merge with weights beside it.
  std::vector<NamedLinop> expanded(const Shape& input, Device device, SharedTables& tables) const;
  // A transform of an image among zeros skips the zeros, one before a cut skips what is cut off;
  // around a weight it and its inverse are one filter.
  std::optional<Fused> fused(OperatorWindow window, std::size_t own, Device device) const;
  // The grid in an array of this shape, with 1 for dims that are not transformed.
  Shape transformed_grid(const Shape& array) const;

  // What turns a plain transform into a centred one: out * F * in, over a grid of this shape.
  struct Phases {
    Array in, out;
  };
  static Phases phases(const Shape& grid, DType dtype, Device device);

 private:
  void apply_real(Recorder& r, const View& x, const View& y, const Shape& over) const;
};

extern template struct NamedLinop::Model<FFT>;

}  // namespace tessera
