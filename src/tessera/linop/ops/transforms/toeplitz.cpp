// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/ops/transforms/toeplitz.hpp"

#include <bit>

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/linop/core/dim_sizes.hpp"
#include "tessera/plan/record_moves.hpp"

namespace tessera {
namespace {

// One point of a transform costs about this many multiplications of a matrix product per factor of
// two: products run near the peak of the machine, transforms near its memory's. Measured: equal at
// about 130 x 130, on one core.
constexpr i64 transform_cost = 8;

bool transformable(DType t) {
  return t == DType::f32 || t == DType::f64 || t == DType::c64 || t == DType::c128;
}

// The next length with no prime factor above 5.
i64 smooth_length(i64 n) {
  for (;; ++n) {
    i64 rest = n;
    for (i64 p : {2, 3, 5})
      while (rest % p == 0) rest /= p;
    if (rest == 1) return n;
  }
}

// As NumPy's conj, but of bools, too, without another dtype.
Array conjugate(const Array& a) { return is_complex(a.dtype()) ? ops::conj(a) : a; }

// The axis moved to the end.
View last_axis(const View& v, i64 axis) {
  Shape order;
  for (i64 a = 0; a < v.layout.ndim(); ++a)
    if (a != axis) order.push_back(a);
  order.push_back(axis);
  return sub_view(v, v.layout.permute(order));
}

void transform(Recorder& r, FftKind how, const View& x, const View& y, int sign, double scale) {
  const FftSpec spec{.kind = how,
                     .in = operand_of(x),
                     .out = operand_of(y),
                     .axes = {x.layout.ndim() - 1},
                     .sign = sign,
                     .scale = scale};
  const View reads[] = {x};
  r.launch(&KernelTable::fft, "fft", spec, reads, y);
}

// (…, columns) times the turned matrix: rows of x are multiplied at once.
void by_product(Recorder& r, const Toeplitz& t, View x, View y) {
  if (x.dtype != y.dtype) {
    const View same = r.temporary(x.shape(), y.dtype, r.device(x));
    record::copy(r, x, same);
    x = same;
  }
  Layout w{{t.columns, t.rows}, {-1, 1}, t.generator.layout().offset};
  for (i64& s : w.strides) s *= t.generator.layout().strides[0];
  w.offset += (t.columns - 1) * t.generator.layout().strides[0];
  View matrix = r.constant(t.generator.view(w).astype(y.dtype).copy());
  if (x.layout.ndim() == 1) {
    x.layout = x.layout.insert_axis(0);
    y.layout = y.layout.insert_axis(0);
  }
  Shape batched = y.shape();
  batched[batched.size() - 2] = t.columns;
  matrix.layout = matrix.layout.broadcast_to(batched);
  record::matmul(r, x, matrix, y, false, false);
}

void by_transforms(Recorder& r, const Toeplitz& t, const View& x, const View& y, i64 n) {
  const DType type = complex_of(y.dtype);
  const bool real = !is_complex(y.dtype);
  const i64 points = real ? n / 2 + 1 : n;
  // Turned so that the wanted part of the convolution starts at 0.
  const Array padded = zeros({n}, t.generator.dtype(), t.generator.device());
  padded.slice(0, 0, t.rows).copy_from(t.generator.slice(0, t.columns - 1, t.generator.size()));
  if (t.columns > 1)
    padded.slice(0, n - t.columns + 1, n).copy_from(t.generator.slice(0, 0, t.columns - 1));
  const Array wide = fftn(padded.astype(DType::c128), {0});
  const View spectrum = r.constant(wide.slice(0, 0, points).astype(type).copy());
  Shape time = x.shape(), frequency = x.shape();
  time.back() = n;
  frequency.back() = points;
  const Device where = r.device(x);
  const View in = r.temporary(time, y.dtype, where), out = r.temporary(time, y.dtype, where);
  const View f = r.temporary(frequency, type, where), g = r.temporary(frequency, type, where);
  record::place(r, x, in, Shape(time.size(), 0));
  transform(r, real ? FftKind::real_to_complex : FftKind::complex, in, f, -1, 1);
  record::multiply(r, spectrum, f, g);
  transform(r, real ? FftKind::complex_to_real : FftKind::complex, g, out, 1,
            1 / static_cast<double>(n));
  record::copy(r, sub_view(out, out.layout.slice(time.size() - 1, 0, t.rows)), y);
}

}  // namespace

Toeplitz::Toeplitz(const Array& column, const Array& row_given, NamedDimension d,
                   const Dims& ishape, const Dims& oshape)
    : dim(d) {
  names = NamedShape(ishape, mixed_output("Toeplitz", ishape, oshape, {d}));
  const std::string who = cat("Toeplitz ", names.str());
  require<ShapeError>(column.ndim() == 1 && column.size() > 0, who, ": the first column has shape ",
                      column.shape(), ", expected (m,), m > 0");
  const Array row = row_given ? row_given : conjugate(column);
  require<ShapeError>(row.ndim() == 1 && row.size() > 0, who, ": the first row has shape ",
                      row.shape(), ", expected (n,), n > 0");
  require<DeviceError>(row.device() == column.device(), who, ": the first column is on ",
                       column.device(), ", the first row on ", row.device());
  rows = column.size();
  columns = row.size();
  const DType type = promote(column.dtype(), row.dtype());
  const Array parts[] = {flip(row, {0}).slice(0, 0, columns - 1).astype(type), column.astype(type)};
  generator = concatenate(parts, 0);
}

std::optional<i64> Toeplitz::size(NamedDimension d) const {
  if (d == dim) return columns;
  if (d == names.oshape[*axis_of(names.ishape, dim, names.ishape.size())]) return rows;
  return std::nullopt;
}

void Toeplitz::apply(Recorder& r, const View& x, const View& y) const {
  const i64 axis = *axis_of(names.ishape, dim, x.layout.ndim());
  const View from = last_axis(x, axis), to = last_axis(y, axis);
  const i64 n = smooth_length(rows + columns - 1);
  const i64 product = rows * columns,
            transforms = transform_cost * n * std::bit_width(static_cast<std::uint64_t>(n));
  if (!transformable(y.dtype) || product <= transforms) return by_product(r, *this, from, to);
  r.note(cat("Toeplitz ", names.str(), " of ", rows, " x ", columns, ": transforms of ", n,
             " points, cheaper than a product of ", product, " numbers"));
  by_transforms(r, *this, from, to, n);
}

Toeplitz Toeplitz::adjoint() const {
  Toeplitz a;
  a.generator = conjugate(flip(generator, {0}));
  a.rows = columns;
  a.columns = rows;
  a.dim = names.oshape[*axis_of(names.ishape, dim, names.ishape.size())];
  a.names = names.H();
  return a;
}

Toeplitz Toeplitz::from_state(Array generator, i64 rows, i64 columns, NamedDimension dim,
                              NamedShape names) {
  require<ShapeError>(
      rows > 0 && columns > 0 && generator.ndim() == 1 && generator.shape(0) - columns + 1 == rows,
      "Toeplitz ", names.str(), ": ", rows, " x ", columns, " from ", generator.shape());
  const Dims moved = mixed_output("Toeplitz", names.ishape, names.oshape, {dim});
  Toeplitz a;
  a.generator = std::move(generator);
  a.rows = rows;
  a.columns = columns;
  a.dim = dim;
  a.names = NamedShape(names.ishape, moved);
  return a;
}

Toeplitz Toeplitz::renamed(const Renames& r) const {
  Toeplitz a = *this;
  a.dim = rename({dim}, r)[0];
  a.names = names.renamed(r);
  return a;
}

NamedLinop Toeplitz::split(const Tile& tile) const {
  Toeplitz a = *this;
  i64 row = 0, column = 0;
  for (const Cut& c : tile.cuts) {
    if (c.dim == dim) {
      column = c.start;
      a.columns = c.size();
    } else if (!contains(names.ishape, c.dim)) {
      row = c.start;
      a.rows = c.size();
    }
  }
  const i64 first = row - column + columns - a.columns;
  a.generator = generator.slice(0, first, first + a.rows + a.columns - 1);
  return a;
}

}  // namespace tessera
