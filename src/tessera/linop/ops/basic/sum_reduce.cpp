// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/ops/basic/sum_reduce.hpp"

#include "tessera/linop/ops/basic/scalar.hpp"

namespace tessera {
namespace {

// Every dim of `fewer` is one of `more`, which has others besides.
void check_sides(std::string_view who, const Dims& fewer, const Dims& more) {
  check_distinct(who, fewer);
  check_distinct(who, more);
  require<DimError>(fewer.size() < more.size(), who, ": ", to_text(fewer),
                    " must have fewer dims than ", to_text(more));
  for (NamedDimension d : fewer)
    require<DimError>(contains(more, d), who, ": dim '", d, "' is not among ", to_text(more));
}

Dims without(const Dims& more, const Dims& fewer) {
  Dims rest;
  for (NamedDimension d : more)
    if (!contains(fewer, d)) rest.push_back(d);
  return rest;
}

}  // namespace

SumReduce::SumReduce(Dims ishape, Dims oshape, DimSizes s)
    : names(std::move(ishape), std::move(oshape)), sizes(std::move(s)) {
  const std::string who = cat("SumReduce ", names.str());
  check_sides(who, names.oshape, names.ishape);
  check_sizes(who, sizes, names.ishape);
}

void SumReduce::apply(Recorder& r, const View& x, const View& y) const {
  record::sum(r, x, sub_view(y, aligned(y.layout, names.oshape, names.ishape)));
}

Repeat SumReduce::adjoint() const {
  const Dims fresh = without(names.ishape, names.oshape);
  DimSizes known;
  for (NamedDimension d : fresh)
    if (const auto n = size_in(sizes, d)) known.emplace_back(d, *n);
  // Made as if the sizes did not matter; where one is missing, only applying it is an error.
  Repeat h(known, names.oshape, names.ishape, fresh);
  h.broadcast_dims.clear();
  return h;
}

NamedLinop SumReduce::normal() const {
  return SumSpread{names.N(), without(names.ishape, names.oshape)};
}

SumReduce SumReduce::renamed(const Renames& r) const {
  return SumReduce(rename(names.ishape, r), rename(names.oshape, r), renamed_sizes(sizes, r));
}

NamedLinop SumReduce::split(const Tile& tile) const {
  SumReduce s = *this;
  s.sizes = cut_sizes(sizes, tile);
  for (const Cut& c : tile.cuts)
    if (!size_in(s.sizes, c.dim)) s.sizes.emplace_back(c.dim, c.size());
  return s;
}

std::optional<SumReduce> SumReduce::informed(const SizeOf& size_of) const {
  SumReduce s = *this;
  for (NamedDimension d : names.ishape)
    if (!d.is_wildcard() && !size_in(sizes, d))
      if (const auto n = size_of(d)) s.sizes.emplace_back(d, *n);
  return s.sizes.size() > sizes.size() ? std::optional(s) : std::nullopt;
}

Repeat::Repeat(DimSizes n, Dims ishape, Dims oshape, Dims broadcast)
    : n_repeats(std::move(n)),
      names(std::move(ishape), std::move(oshape)),
      broadcast_dims(std::move(broadcast)) {
  const std::string who = cat("Repeat ", names.str());
  check_sides(who, names.ishape, names.oshape);
  const Dims fresh = without(names.oshape, names.ishape);
  check_sizes(who, n_repeats, fresh);
  for (NamedDimension d : broadcast_dims)
    require<DimError>(contains(fresh, d), who, ": broadcast dim '", d,
                      "' is not one of its new dims ", to_text(fresh));
  for (NamedDimension d : fresh)
    require<DimError>(size_in(n_repeats, d) || contains(broadcast_dims, d), who,
                      ": n_repeats does not say how often along dim '", d, "'");
}

std::optional<i64> Repeat::size(NamedDimension d) const {
  return contains(broadcast_dims, d) ? std::nullopt : size_in(n_repeats, d);
}

Shape Repeat::output_shape(const Shape& input) const {
  const std::string who = cat("Repeat ", names.str());
  return sizes_of(who, names.oshape, bind_dims(who, names.ishape, input),
                  [&](NamedDimension d) -> std::optional<i64> {
                    if (const auto n = size_in(n_repeats, d)) return n;
                    if (contains(broadcast_dims, d)) return 1;
                    throw DimError(cat(who, ": the size of dim '", d,
                                       "' is not known; give it to SumReduce in sizes"));
                  });
}

void Repeat::apply(Recorder& r, const View& x, const View& y) const {
  record::copy(r, sub_view(x, aligned(x.layout, names.ishape, names.oshape)), y);
}

SumReduce Repeat::adjoint() const {
  DimSizes fixed;
  for (const auto& [d, n] : n_repeats)
    if (!contains(broadcast_dims, d)) fixed.emplace_back(d, n);
  return SumReduce(names.oshape, names.ishape, fixed);
}

std::optional<NamedLinop> Repeat::normal() const {
  double times = 1;
  for (NamedDimension d : without(names.oshape, names.ishape)) {
    const std::optional<i64> n = size_in(n_repeats, d);
    if (!n && !contains(broadcast_dims, d)) return std::nullopt;
    times *= static_cast<double>(n.value_or(1));
  }
  return Scalar(Value(times), names.ishape);
}

Repeat Repeat::from_state(DimSizes repeats, const NamedShape& n, Dims broadcast) {
  // An adjoint of a sum may lack sizes, which its constructor asks for.
  Repeat a(std::move(repeats), n.ishape, n.oshape, without(n.oshape, n.ishape));
  for (NamedDimension d : broadcast)
    require<DimError>(contains(a.broadcast_dims, d), "Repeat ", n.str(), ": broadcast dim '", d,
                      "' is not one of its new dims");
  a.broadcast_dims = std::move(broadcast);
  return a;
}

Repeat Repeat::renamed(const Renames& r) const {
  Repeat a = *this;
  a.n_repeats = renamed_sizes(n_repeats, r);
  a.names = names.renamed(r);
  a.broadcast_dims = rename(broadcast_dims, r);
  return a;
}

NamedLinop Repeat::split(const Tile& tile) const {
  Repeat a = *this;
  a.n_repeats = cut_sizes(n_repeats, tile);
  for (const Cut& c : tile.cuts)
    if (!contains(names.ishape, c.dim) && !size_in(a.n_repeats, c.dim))
      a.n_repeats.emplace_back(c.dim, c.size());
  return a;
}

void SumSpread::apply(Recorder& r, const View& x, const View& y) const {
  Shape narrow = x.shape();
  for (NamedDimension d : summed) narrow[*axis_of(names.ishape, d, narrow.size())] = 1;
  const View total = r.temporary(narrow, y.dtype, r.device(y));
  record::sum(r, x, total);
  record::copy(r, total, y);
}

SumSpread SumSpread::adjoint() const {
  Dims out;
  for (NamedDimension d : summed)
    out.push_back(names.oshape[*axis_of(names.ishape, d, names.ishape.size())]);
  return {names.H(), out};
}

}  // namespace tessera
