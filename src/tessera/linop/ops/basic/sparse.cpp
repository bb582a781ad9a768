// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/ops/basic/sparse.hpp"

#include "tessera/linop/core/dim_sizes.hpp"
#include "tessera/linop/rewrite/grid_names.hpp"

namespace tessera {
namespace {

Shape sizes_or(const Shape& given, const Dims& dims, i64 extent, std::string_view side) {
  require<DimError>(!dims.empty() && !has_ellipses(dims), "Sparse: the ", side, " has the names ",
                    to_text(dims), "; expected one or more, without '...'");
  const Shape sizes = given.empty() && dims.size() == 1 ? Shape{extent} : given;
  require<ShapeError>(sizes.size() == dims.size() && count_of(sizes) == extent, "Sparse: ", side,
                      " ", to_text(dims), " of sizes ", sizes, " for a matrix whose ", side,
                      " has ", extent, " entries");
  return sizes;
}

// Positions of a box within all positions, row-major; `sizes` becomes the box's.
std::vector<i64> box_positions(const Dims& dims, Shape& sizes, const Tile& tile) {
  std::vector<i64> at{0};
  for (i64 a = 0; a < sizes.size(); ++a) {
    const Cut* c = tile.find(dims[dims.size() - sizes.size() + a]);
    const i64 start = c ? c->start : 0, stop = c ? c->stop : sizes[a];
    std::vector<i64> next;
    for (i64 base : at)
      for (i64 i = start; i < stop; ++i) next.push_back(base * sizes[a] + i);
    at = std::move(next);
  }
  for (i64 a = 0; a < sizes.size(); ++a)
    if (const Cut* c = tile.find(dims[dims.size() - sizes.size() + a])) sizes[a] = c->size();
  return at;
}

}  // namespace

Sparse::Sparse(CsrMatrix m, const Dims& ishape, const Dims& oshape, const Shape& in,
               const Shape& out, const Dims& batch_shape)
    : matrix(std::move(m)),
      turned(matrix.transposed()),
      input_size(sizes_or(in, ishape, matrix.columns, "input")),
      output_size(sizes_or(out, oshape, matrix.rows, "output")) {
  check_names("Sparse", {&batch_shape, &ishape, &oshape});
  names = NamedShape(batch_shape, batch_shape) + NamedShape(ishape, oshape);
}

std::optional<i64> Sparse::size(NamedDimension d) const {
  for (i64 a = 0; a < input_size.size(); ++a)
    if (names.ishape[names.ishape.size() - input_size.size() + a] == d) return input_size[a];
  for (i64 a = 0; a < output_size.size(); ++a)
    if (names.oshape[names.oshape.size() - output_size.size() + a] == d) return output_size[a];
  return std::nullopt;
}

DType Sparse::output_dtype(DType t) const {
  return working_dtype(promote(t, matrix.values.dtype()));
}

void Sparse::apply(Recorder& r, const View& x, const View& y) const {
  View in = x;
  if (x.dtype != y.dtype) {
    in = r.temporary(x.shape(), y.dtype, r.device(x));
    record::copy(r, x, in);
  }
  const Array& v = matrix.values;
  const View values = r.constant(v.astype(is_complex(v.dtype()) ? y.dtype : real_of(y.dtype)));
  const SparseSpec spec{operand_of(in), operand_of(values), operand_of(y),
                        x.layout.ndim() - input_size.size(), conjugated};
  const View reads[] = {in, values, r.constant(matrix.indices), r.constant(matrix.starts)};
  r.launch(&KernelTable::sparse, "sparse", spec, reads, y);
}

Sparse Sparse::adjoint() const {
  Sparse a = *this;
  std::swap(a.matrix, a.turned);
  std::swap(a.input_size, a.output_size);
  a.names = names.H();
  a.conjugated = !conjugated;
  return a;
}

Sparse Sparse::from_state(Array values, const Array& indices, const Array& starts,
                          const Shape& input_size, const Shape& output_size, const NamedShape& n,
                          bool conjugated) {
  const auto [batch, in] = cut_last(kind, n.ishape, input_size.size());
  Sparse a(make_csr(std::move(values), indices, starts, count_of(output_size), count_of(input_size),
                    kind),
           in, cut_last(kind, n.oshape, output_size.size()).second, input_size, output_size, batch);
  a.conjugated = conjugated;
  return a;
}

Sparse Sparse::renamed(const Renames& r) const {
  Sparse a = *this;
  a.names = names.renamed(r);
  return a;
}

Sparse Sparse::split(const Tile& tile) const {
  Sparse s = *this;
  const std::vector<i64> rows = box_positions(names.oshape, s.output_size, tile),
                         columns = box_positions(names.ishape, s.input_size, tile);
  std::vector<i64> new_column(static_cast<std::size_t>(matrix.columns), -1);
  for (std::size_t c = 0; c < columns.size(); ++c)
    new_column[static_cast<std::size_t>(columns[c])] = static_cast<i64>(c);
  s.matrix = matrix.part(rows, new_column, static_cast<i64>(columns.size()));
  s.turned = s.matrix.transposed();
  return s;
}

std::string Sparse::details() const {
  return cat(matrix.entries(), " entries ", matrix.values.dtype(), conjugated ? " conjugated" : "");
}

}  // namespace tessera
