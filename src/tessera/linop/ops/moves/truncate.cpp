// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/ops/moves/truncate.hpp"

#include "tessera/linop/core/dim_sizes.hpp"
#include "tessera/linop/ops/basic/identity.hpp"
#include "tessera/linop/ops/moves/window.hpp"
#include "tessera/plan/record_moves.hpp"

namespace tessera {
namespace {

i64 position_of(std::string_view who, NamedDimension d, const Dims& ishape) {
  for (i64 i = 0; i < ishape.size(); ++i)
    if (ishape[i] == d && !d.is_ellipses()) return i;
  throw DimError(cat(who, ": '", d, "' is not a dim of the input ", to_text(ishape)));
}

// Checks, and the names with a fresh one along the dim where the two sides repeat it.
NamedShape checked(std::string_view who, i64 dim, i64 shorter, i64 longer, const Dims& ishape,
                   const Dims& oshape) {
  require<DimError>(dim >= -ishape.size() && dim < ishape.size(), who, ": position ", dim,
                    " is not in the dims ", to_text(ishape));
  require<ArgumentError>(shorter >= 0 && shorter <= longer, who, " ", to_text(ishape), ": lengths ",
                         shorter, " and ", longer, "; expected 0 <= the shorter <= the longer");
  const NamedDimension d = ishape[dim < 0 ? dim + ishape.size() : dim];
  return {ishape, mixed_output(who, ishape, oshape, {d})};
}

std::optional<i64> length_of(const NamedShape& names, i64 dim, i64 from, i64 to, NamedDimension d) {
  const i64 at = dim < 0 ? dim + names.ishape.size() : dim;
  if (names.ishape[at] == d) return from;
  if (names.oshape[at] == d) return to;
  return std::nullopt;
}

i64 axis_at(const NamedShape& names, i64 dim, i64 rank) {
  const i64 at = dim < 0 ? dim + names.ishape.size() : dim;
  return *axis_of(names.ishape, names.ishape[at], rank);
}

}  // namespace

Truncate::Truncate(i64 at, i64 from, i64 to, Dims ishape, Dims oshape)
    : dim(at), from_length(from), to_length(to) {
  names = checked("Truncate", at, to, from, ishape, oshape);
}

Truncate::Truncate(NamedDimension d, i64 from, i64 to, Dims ishape, Dims oshape)
    : Truncate(position_of("Truncate", d, ishape), from, to, ishape, oshape) {}

std::optional<i64> Truncate::size(NamedDimension d) const {
  return length_of(names, dim, from_length, to_length, d);
}

void Truncate::apply(Recorder& r, const View& x, const View& y) const {
  const i64 axis = axis_at(names, dim, x.layout.ndim());
  record::copy(r, sub_view(x, x.layout.slice(axis, 0, to_length)), y);
}

PadDim Truncate::adjoint() const {
  return PadDim(dim, to_length, from_length, names.oshape, names.ishape);
}

NamedLinop Truncate::normal() const {
  const NamedDimension d = names.ishape[dim < 0 ? dim + names.ishape.size() : dim];
  return Window(names.ishape, {{d, 0, to_length, from_length}});
}

Truncate Truncate::renamed(const Renames& r) const {
  Truncate t = *this;
  t.names = names.renamed(r);
  return t;
}

PadDim::PadDim(i64 at, i64 from, i64 to, Dims ishape, Dims oshape)
    : dim(at), from_length(from), to_length(to) {
  names = checked("PadDim", at, from, to, ishape, oshape);
}

PadDim::PadDim(NamedDimension d, i64 from, i64 to, Dims ishape, Dims oshape)
    : PadDim(position_of("PadDim", d, ishape), from, to, ishape, oshape) {}

std::optional<i64> PadDim::size(NamedDimension d) const {
  return length_of(names, dim, from_length, to_length, d);
}

void PadDim::apply(Recorder& r, const View& x, const View& y) const {
  record::place(r, x, y, Shape(y.layout.ndim(), 0));
}

Truncate PadDim::adjoint() const {
  return Truncate(dim, to_length, from_length, names.oshape, names.ishape);
}

NamedLinop PadDim::normal() const { return Identity(names.ishape); }

PadDim PadDim::renamed(const Renames& r) const {
  PadDim p = *this;
  p.names = names.renamed(r);
  return p;
}

}  // namespace tessera
