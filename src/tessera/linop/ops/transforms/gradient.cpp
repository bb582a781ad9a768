// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/ops/transforms/gradient.hpp"

#include "tessera/linop/core/dim_sizes.hpp"

namespace tessera {
namespace {

Dims tail(const Dims& d) { return Dims(d.begin() + 1, d.end()); }

}  // namespace

Gradient::Gradient(Dims dims, Dims ishape, Dims oshape, Difference m, Edge e)
    : along(std::move(dims)), mode(m), edge(e) {
  require<DimError>(!along.empty(), "Gradient ", to_text(ishape), ": no dims to go along");
  check_distinct("Gradient", along);
  const Dims given = oshape.empty() ? Dims{} : tail(oshape);
  const Dims moved = mixed_output("Gradient", ishape, given, along);
  Dims taken = ishape;
  taken.append(moved);
  const NamedDimension first =
      oshape.empty() ? NamedDimension("D").next_unused(taken) : oshape.front();
  require<DimError>(!contains(taken, first) && !first.is_wildcard(), "Gradient ", to_text(ishape),
                    ": the directions' dim '", first, "' is another dim already");
  Dims out{first};
  out.append(moved);
  names = NamedShape(ishape, out);
}

std::optional<i64> Gradient::size(NamedDimension d) const {
  return d == directions() ? std::optional<i64>(along.size()) : std::nullopt;
}

Shape Gradient::output_shape(const Shape& input) const {
  Shape s = input;
  if (transposed)
    s.erase(0);
  else
    s.insert(0, along.size());
  return s;
}

void Gradient::apply(Recorder& r, const View& x, const View& y) const {
  const View& all = transposed ? x : y;
  const Dims& small = transposed ? names.oshape : names.ishape;
  const i64 rank = all.layout.ndim() - 1;
  for (i64 k = 0; k < along.size(); ++k) {
    const View one = sub_view(all, all.layout.select(0, k));
    const i64 axis = *axis_of(small, along[k], rank);
    if (!transposed) {
      record_difference(r, x, one, axis, mode, edge, false);
    } else if (k == 0) {
      record_difference(r, one, y, axis, mode, edge, true);
    } else {
      const View term = r.temporary(y.shape(), y.dtype, r.device(y));
      record_difference(r, one, term, axis, mode, edge, true);
      record::add(r, y, term, y);
    }
  }
}

Gradient Gradient::adjoint() const {
  Gradient a = *this;
  a.names = names.H();
  a.transposed = !transposed;
  return a;
}

Gradient Gradient::from_state(const Dims& along, const NamedShape& n, Difference mode, Edge edge,
                              bool transposed) {
  const Dims &small = transposed ? n.oshape : n.ishape, &large = transposed ? n.ishape : n.oshape;
  Dims mixed;  // a part along the directions takes fewer of these differences
  for (NamedDimension d : small)
    if (!contains(large, d)) mixed.push_back(d);
  Gradient a(mixed, small, large, mode, edge);
  for (NamedDimension d : along)
    require<DimError>(contains(mixed, d), "Gradient ", n.str(), ": no difference along '", d, "'");
  a.along = along;
  return transposed ? a.adjoint() : a;
}

Gradient Gradient::renamed(const Renames& r) const {
  Gradient a = *this;
  a.along = rename(along, r);
  a.names = names.renamed(r);
  return a;
}

NamedLinop Gradient::split(const Tile& tile) const {
  Gradient a = *this;
  for (const Cut& c : tile.cuts) {
    if (c.dim == directions()) {
      a.along = Dims(along.begin() + c.start, along.begin() + c.stop);
      continue;
    }
    const bool passes = contains(names.ishape, c.dim) && contains(names.oshape, c.dim);
    require<SplitError>(passes, "Gradient ", names.str(), " cannot be cut along dim '", c.dim,
                        "': it takes differences along it");
  }
  return a;
}

std::string Gradient::details() const {
  return cat("along ", to_text(along), ", ", name(mode), ", edge ", name(edge),
             transposed ? ", transposed" : "");
}

}  // namespace tessera
