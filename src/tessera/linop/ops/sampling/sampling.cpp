// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/ops/sampling/sampling.hpp"

#include "tessera/array/index.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/nonzero/nonzero.hpp"
#include "tessera/linop/core/dim_sizes.hpp"
#include "tessera/linop/ops/basic/diagonal.hpp"
#include "tessera/linop/rewrite/grid_names.hpp"

namespace tessera {
namespace {

// The names for indices of a shape; what does not fit is refused.
NamedShape sampling_names(const Shape& indices, const Shape& size,
                          const std::optional<Dims>& output_shape,
                          const std::optional<Dims>& input_shape, const Dims& batch_shape) {
  const Dims out = output_shape.value_or(numbered_dims("K", indices.size())),
             in = input_shape ? *input_shape : nd_shape(size.size());
  require<DimError>(in.size() == size.size() && !has_ellipses(in), "Sampling: the grid of shape ",
                    size, " has the names ", to_text(in));
  require<DimError>(out.size() == indices.size() && !has_ellipses(out),
                    "Sampling: indices of shape ", indices, " have the names ", to_text(out));
  check_names("Sampling", {&batch_shape, &in, &out});
  return NamedShape(batch_shape, batch_shape) + NamedShape(in, out);
}

void check_grid(const Shape& size) {
  require<ShapeError>(!size.empty() && count_of(size) > 0, "Sampling: a grid of shape ", size,
                      " holds no point");
}

// The axes of the grid as one, the first; nullopt when its strides do not allow it.
std::optional<Layout> grid_first(const Layout& x, i64 axes) {
  const i64 batch = x.ndim() - axes;
  Shape merged(x.shape.begin(), x.shape.begin() + batch);
  merged.push_back(count_of(Shape(x.shape.begin() + batch, x.shape.end())));
  const std::optional<Layout> l = x.reshape(merged);
  if (!l) return std::nullopt;
  Shape order{batch};
  for (i64 a = 0; a < batch; ++a) order.push_back(a);
  return l->permute(order);
}

// The axes of the points first, then those of the batches.
Layout points_first(const Layout& y, i64 rank) {
  const i64 batch = y.ndim() - rank;
  Shape order;
  for (i64 a = 0; a < y.ndim(); ++a) order.push_back((a + batch) % y.ndim());
  return y.ndim() ? y.permute(order) : y;
}

}  // namespace

Sampling Sampling::from_positions(const Array& given, const Shape& input_size,
                                  const std::optional<Dims>& output_shape,
                                  const std::optional<Dims>& input_shape, const Dims& batch_shape) {
  check_grid(input_size);
  require<DTypeError>(is_integer(given.dtype()), "Sampling: positions of ", name(given.dtype()),
                      "; expected integers");
  Sampling s;
  s.names = sampling_names(given.shape(), input_size, output_shape, input_shape, batch_shape);
  const std::string who = cat("Sampling ", s.names.str());
  const Array here = given.to(cpu).astype(DType::i64).contiguous();
  const i64 points = count_of(input_size);
  for (i64 k = 0; k < here.size(); ++k)
    require<ArgumentError>(here.host<i64>()[k] >= 0 && here.host<i64>()[k] < points, who,
                           ": position ", here.host<i64>()[k], " is outside a grid of ", points,
                           " points");
  s.positions = here.to(given.device());
  s.input_size = input_size;
  return s;
}

Sampling::Sampling(const std::vector<Array>& idx, const Shape& size,
                   const std::optional<Dims>& output_shape, const std::optional<Dims>& input_shape,
                   const Dims& batch_shape) {
  check_grid(size);
  require<ShapeError>(static_cast<i64>(idx.size()) == size.size(), "Sampling: ", idx.size(),
                      " index arrays for a grid of shape ", size, "; expected one for each axis");
  Shape shape;
  for (const Array& a : idx) {
    require<DTypeError>(is_integer(a.dtype()), "Sampling: indices of ", name(a.dtype()),
                        "; expected integers");
    try {
      shape = broadcast_shapes(shape, a.shape());
    } catch (const ShapeError& e) {
      throw ShapeError(
          cat("Sampling of a grid of shape ", size, ": index arrays that do not fit: ", e.what()));
    }
  }
  const NamedShape sides = sampling_names(shape, size, output_shape, input_shape, batch_shape);
  const std::string who = cat("Sampling ", sides.str());
  const Array all = zeros(shape, DType::i64).contiguous();
  i64* to = all.host<i64>();
  for (std::size_t axis = 0; axis < idx.size(); ++axis) {
    const i64 n = size[static_cast<i64>(axis)];
    const NamedDimension d = sides.ishape[batch_shape.size() + static_cast<i64>(axis)];
    const Array here = idx[axis].to(cpu).astype(DType::i64).broadcast_to(shape).contiguous();
    for (i64 k = 0; k < all.size(); ++k) {
      const i64 i = here.host<i64>()[k];
      require<ArgumentError>(i >= 0 && i < n, who, ": index ", i, " is out of range for dim '", d,
                             "', axis ", axis, " of the grid, which has ", n, " points");
      to[k] = to[k] * n + i;
    }
  }
  *this =
      from_positions(all.to(idx.front().device()), size, output_shape, input_shape, batch_shape);
}

Sampling Sampling::from_mask(const Array& mask, const std::optional<Shape>& input_size,
                             const std::optional<Dims>& output_shape,
                             const std::optional<Dims>& input_shape, const Dims& batch_shape) {
  require<DTypeError>(mask.dtype() == DType::b1, "Sampling.from_mask: a mask of ",
                      name(mask.dtype()), "; expected bool");
  require<ShapeError>(!input_size || *input_size == mask.shape(), "Sampling.from_mask: a mask of ",
                      mask.shape(), " for a grid of shape ", input_size.value_or(Shape{}));
  return Sampling(nonzero(mask), mask.shape(), output_shape, input_shape, batch_shape);
}

Sampling Sampling::from_stacked_idx(const Array& idx, const Shape& size,
                                    const std::optional<Dims>& output_shape,
                                    const std::optional<Dims>& input_shape,
                                    const Dims& batch_shape) {
  const i64 axes = size.size();
  require<ShapeError>(idx.ndim() >= 1 && idx.shape(idx.ndim() - 1) == axes,
                      "Sampling.from_stacked_idx: indices of shape ", idx.shape(),
                      " for a grid of shape ", size, "; expected (..., ", axes, ")");
  std::vector<Array> each;
  for (i64 a = 0; a < axes; ++a) each.push_back(idx.select(idx.ndim() - 1, a));
  return Sampling(each, size, output_shape, input_shape, batch_shape);
}

Array Sampling::locs() const {
  const Array here = positions.to(cpu).contiguous();
  Shape shape = positions.shape();
  const i64 axes = input_size.size();
  shape.push_back(axes);
  const Array all = zeros(shape, DType::i64).contiguous();
  for (i64 k = 0; k < here.size(); ++k) {
    i64 rest = here.host<i64>()[k];
    for (i64 a = axes - 1; a >= 0; --a) {
      all.host<i64>()[k * axes + a] = rest % input_size[a];
      rest /= input_size[a];
    }
  }
  return all.to(positions.device());
}

std::optional<i64> Sampling::size(NamedDimension d) const {
  const i64 axes = input_size.size(), rank = positions.ndim();
  for (i64 a = 0; a < axes; ++a)
    if (names.ishape[names.ishape.size() - axes + a] == d) return input_size[a];
  for (i64 a = 0; a < rank; ++a)
    if (names.oshape[names.oshape.size() - rank + a] == d) return positions.shape(a);
  return std::nullopt;
}

void Sampling::apply(Recorder& r, const View& x, const View& y) const {
  View from = x;
  std::optional<Layout> source = grid_first(x.layout, input_size.size());
  if (!source) {
    from = r.temporary(x.shape(), x.dtype, r.device(x));
    record::copy(r, x, from);
    source = grid_first(from.layout, input_size.size());
  }
  const View at = r.constant(positions);  // with strides of its own where it was fetched
  GatherSpec spec;
  spec.source = {*source, x.dtype};
  spec.indices = {operand_of(at)};
  spec.out = {points_first(y.layout, positions.ndim()), y.dtype};
  const View reads[] = {sub_view(from, *source), at};
  r.launch(&KernelTable::gather, "gather", spec, reads, sub_view(y, spec.out.layout));
}

void Sampling::apply_adjoint(Recorder& r, const View& y, const View& x) const {
  View to = x;
  std::optional<Layout> target = grid_first(x.layout, input_size.size());
  if (!target) {
    to = r.temporary(x.shape(), x.dtype, r.device(x));
    target = grid_first(to.layout, input_size.size());
  }
  record::fill(r, Value(0), to);
  const View at = r.constant(positions);
  ScatterSpec spec;
  spec.op = ScatterOp::add;
  spec.value = {points_first(y.layout, positions.ndim()), y.dtype};
  spec.indices = {operand_of(at)};
  spec.target = {*target, x.dtype};
  const View reads[] = {sub_view(y, spec.value.layout), at};
  r.launch(&KernelTable::scatter, "scatter", spec, reads, sub_view(to, *target), {.updates = true});
  if (to.slot != x.slot) record::copy(r, to, x);
}

NamedLinop Sampling::normal() const {
  const Array here = positions.to(cpu).contiguous();
  const Array counts = empty_dense(input_size, DType::f32);
  counts.fill(Value(0));
  for (i64 k = 0; k < here.size(); ++k) counts.host<float>()[here.host<i64>()[k]] += 1;
  return Diagonal(counts.to(positions.device()), names.ishape).following();
}

Sampling Sampling::from_state(const Array& positions, const Shape& input_size,
                              const NamedShape& n) {
  const auto [batch, in] = cut_last(kind, n.ishape, input_size.size());
  return from_positions(positions, input_size, cut_last(kind, n.oshape, positions.ndim()).second,
                        in, batch);
}

Sampling Sampling::renamed(const Renames& r) const {
  Sampling s = *this;
  s.names = names.renamed(r);
  return s;
}

Sampling Sampling::split(const Tile& tile) const {
  const i64 axes = input_size.size(), rank = positions.ndim();
  for (i64 a = 0; a < axes; ++a) {
    const NamedDimension d = names.ishape[names.ishape.size() - axes + a];
    require<SplitError>(!tile.find(d), "Sampling ", names.str(), ": the grid dim '", d,
                        "' cannot be cut: points are picked from all of it");
  }
  Sampling s = *this;
  for (i64 a = 0; a < rank; ++a)
    if (const Cut* c = tile.find(names.oshape[names.oshape.size() - rank + a]))
      s.positions = s.positions.slice(a, c->start, c->stop);
  return s;
}

std::string Sampling::details() const {
  return cat(positions.size(), " of ", count_of(input_size), " points");
}

}  // namespace tessera
