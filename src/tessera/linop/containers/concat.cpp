// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/containers/concat.hpp"

#include <algorithm>

#include "tessera/linop/containers/add.hpp"
#include "tessera/linop/containers/common.hpp"
#include "tessera/linop/rewrite/join.hpp"

namespace tessera {
namespace {

// Where the dim is in an array of this rank; DimError when "..." on both sides leaves it open.
i64 axis_along(const Dims& dims, NamedDimension d, i64 ndim) {
  const auto axis = axis_of(dims, d, ndim);
  require<DimError>(axis.has_value(), "Concat: dim '", d, "' is not one of ", to_text(dims));
  return *axis;
}

i64 size_known(const NamedLinop& a, NamedDimension d) {
  require<DimError>(contains(a.dims(), d), "Concat along '", d, "': ", a, " has no such dim");
  const std::optional<i64> n = a.size(d);
  require<DimError>(n.has_value(), "Concat along '", d, "': undefined size in ", a);
  return *n;
}

void check_one_place(const Dims& dims, NamedDimension d) {
  require<DimError>(std::count(dims.begin(), dims.end(), NamedDimension::ellipses()) <= 1,
                    "Concat along '", d, "': the place of the dim in ", to_text(dims),
                    " is not known, '...' stands on both sides of it");
}

// The part of [start, start+size) inside the cut, in the block's own count; empty when they do not
// meet.
struct Overlap {
  i64 start, stop, shifted;  // within the block; where it begins in the cut
  bool any() const { return start < stop; }
};
Overlap overlap(i64 start, i64 size, const Cut& c) {
  const i64 from = std::max(start, c.start), to = std::min(start + size, c.stop);
  return {from - start, to - start, from - c.start};
}

}  // namespace

NamedLinop concat(std::vector<NamedLinop> operators, const ConcatDims& along) {
  require<ArgumentError>(!operators.empty(), "Concat: no operators given");
  require<ArgumentError>(along.idim || along.odim,
                         "Concat: At least one of idim and odim must be given");
  Concat c;
  c.idim = along.idim;
  c.odim = along.odim;
  NamedShape s = operators.front().shape();
  for (const NamedLinop& a : operators) {
    require<DimError>(a.shape() == s, "Concat: ", a, " does not fit ", operators.front());
    s = NamedShape(resolve_wildcards(s.ishape, a.ishape()),
                   resolve_wildcards(s.oshape, a.oshape()));
  }
  c.names = s;
  if (c.idim) {
    require<DimError>(contains(s.ishape, *c.idim), "Concat: idim '", *c.idim, "' is not one of ",
                      to_text(s.ishape));
    check_one_place(s.ishape, *c.idim);
  }
  if (c.odim) {
    require<DimError>(contains(s.oshape, *c.odim), "Concat: odim '", *c.odim, "' is not one of ",
                      to_text(s.oshape));
    check_one_place(s.oshape, *c.odim);
  }
  // A dim on both sides is one dim: cut on one side only, its parts would not fit.
  for (const auto& [given, other] : {std::pair(c.idim, c.odim), std::pair(c.odim, c.idim)})
    require<DimError>(
        !given || other == given || !(contains(s.ishape, *given) && contains(s.oshape, *given)),
        "Concat ", s.str(), ": dim '", given.value_or(ND()),
        "' is on both sides, so it must be both idim and odim");
  for (const NamedLinop& a : operators) {
    Concat::Block b{.a = a};
    if (c.idim) {
      b.in_start = c.isize;
      b.in_size = size_known(a, *c.idim);
      c.isize += b.in_size;
    }
    if (c.odim) {
      b.out_start = c.osize;
      b.out_size = size_known(a, *c.odim);
      c.osize += b.out_size;
    }
    c.blocks.push_back(std::move(b));
  }
  for (NamedDimension d : dims_of(s))
    if (d != c.idim && d != c.odim) (void)common_size("Concat", c.parts(), d);
  return c;
}

NamedLinop block_diag(std::vector<NamedLinop> operators, ConcatDims along) {
  require<ArgumentError>(!operators.empty(), "BlockDiag: no operators given");
  auto first_named = [](const Dims& dims) -> std::optional<NamedDimension> {
    for (NamedDimension d : dims)
      if (!d.is_wildcard()) return d;
    return std::nullopt;
  };
  if (!along.idim) along.idim = first_named(operators.front().ishape());
  if (!along.odim) along.odim = first_named(operators.front().oshape());
  require<DimError>(along.idim && along.odim, "BlockDiag: ", operators.front(),
                    " has no named dim to place blocks along; give idim and odim");
  return concat(std::move(operators), along);
}

std::vector<NamedLinop> Concat::parts() const {
  std::vector<NamedLinop> all;
  for (const Block& b : blocks) all.push_back(b.a);
  return all;
}

std::optional<i64> Concat::size(NamedDimension d) const {
  if (idim == d) return isize;
  if (odim == d) return osize;
  if (!contains(dims_of(names), d)) return std::nullopt;
  const std::vector<NamedLinop> all = parts();
  if (const auto n = common_size("Concat", all, d)) return n;
  const auto other = same_size(d);
  return other ? common_size("Concat", all, *other) : std::nullopt;
}

std::optional<NamedDimension> Concat::same_size(NamedDimension d) const {
  return idim == d || odim == d ? std::nullopt : common_same_size(parts(), d);
}
std::optional<Device> Concat::device() const { return common_device_of(parts()); }
DType Concat::output_dtype(DType t) const { return common_dtype(parts(), t); }
bool Concat::is_real_linear() const { return any_real_linear(parts()); }
std::string Concat::details() const {
  return cat(idim ? cat("idim=", *idim) : "", idim && odim ? " " : "",
             odim ? cat("odim=", *odim) : "");
}

Shape Concat::output_shape(const Shape& input) const {
  std::optional<Shape> whole;
  for (const Block& b : blocks) {
    Shape in = input;
    if (idim) in[axis_along(names.ishape, *idim, input.size())] = b.in_size;
    Shape out = b.a.output_shape(in);
    if (odim) out[axis_along(names.oshape, *odim, out.size())] = osize;
    if (whole && *whole != out)
      throw ShapeError(
          cat("Concat ", names.str(), ": ", b.a, " gives shape ", out, ", another part ", *whole));
    whole = out;
  }
  return *whole;
}

std::pair<View, View> Concat::views_of(const Block& b, const View& x, const View& y) const {
  View in = x, out = y;
  if (idim)
    in.layout =
        in.layout.slice(axis_along(names.ishape, *idim, x.layout.ndim()), b.in_start, b.in_size);
  if (odim)
    out.layout =
        out.layout.slice(axis_along(names.oshape, *odim, y.layout.ndim()), b.out_start, b.out_size);
  return {in, out};
}

void Concat::apply(Recorder& r, const View& x, const View& y) const {
  if (const auto whole = joined(*this, x, y)) return whole->record(r, x, y);
  record_placed(r, placed(x, y), r.device(y));
  if (!odim) return;
  // Rows that no block gives (a tile beside the diagonal) are zero.
  const i64 axis = axis_along(names.oshape, *odim, y.layout.ndim());
  for (const auto& [start, length] : gaps())
    record::fill(r, Value(0), sub_view(y, y.layout.slice(axis, start, length)));
}

bool Concat::apply_add(Recorder& r, const View& x, const View& y) const {
  if (const auto whole = joined(*this, x, y))
    whole->record_add(r, x, y);
  else
    record_placed(r, placed(x, y), r.device(y), true);
  return true;
}

std::vector<PlacedPart> Concat::placed(const View& x, const View& y) const {
  std::vector<PlacedPart> all;
  all.reserve(blocks.size());
  for (const Block& b : blocks) {
    auto [in, out] = views_of(b, x, y);
    all.push_back({b.a, std::move(in), std::move(out)});
  }
  return all;
}

std::vector<std::pair<i64, i64>> Concat::gaps() const {
  std::vector<std::pair<i64, i64>> rows, missing;
  for (const Block& b : blocks) rows.emplace_back(b.out_start, b.out_size);
  std::sort(rows.begin(), rows.end());
  rows.emplace_back(osize, 0);
  i64 next = 0;
  for (const auto& [start, length] : rows) {
    if (start > next) missing.emplace_back(next, start - next);
    next = std::max(next, start + length);
  }
  return missing;
}

NamedLinop Concat::adjoint() const {
  Concat h{{}, odim, idim, osize, isize, names.H()};
  for (const Block& b : blocks)
    h.blocks.push_back({b.a.H(), b.out_start, b.out_size, b.in_start, b.in_size});
  return h;
}

std::optional<NamedLinop> Concat::normal() const {
  if (const auto whole = joined(*this)) return whole->N();
  // Parts whose results are added meet in pairs; one after the other is 2n.
  if (!odim && blocks.size() > 1) return std::nullopt;
  const std::vector<NamedLinop> normals = normals_alike(parts());
  if (normals.empty()) return std::nullopt;
  if (!idim) return sum(normals);
  // Not concat(): a part need not know how long it is along the dim, and a tile of a block diagonal
  // may have inputs that none of its parts takes, where the normal gives zeros.
  const Dims out = normals.front().oshape();
  const i64 at = axis_along(names.ishape, *idim, names.ishape.size());
  Concat n{{}, idim, out[at], isize, isize, NamedShape(names.ishape, out)};
  for (std::size_t i = 0; i < blocks.size(); ++i)
    n.blocks.push_back(
        {normals[i], blocks[i].in_start, blocks[i].in_size, blocks[i].in_start, blocks[i].in_size});
  return n;
}

Concat Concat::from_state(std::vector<Block> of, std::optional<NamedDimension> idim,
                          std::optional<NamedDimension> odim, i64 isize, i64 osize,
                          NamedShape names) {
  const auto within = [](bool joins, i64 start, i64 size, i64 whole) {
    return !joins || (start >= 0 && size >= 0 && start <= whole && size <= whole - start);
  };
  require<IoError>(!of.empty(), "Concat ", names.str(), ": no operators");
  for (const Block& b : of)
    require<IoError>(within(idim.has_value(), b.in_start, b.in_size, isize) &&
                         within(odim.has_value(), b.out_start, b.out_size, osize),
                     "Concat ", names.str(), ": ", b.a, " lies outside of ", isize, " inputs and ",
                     osize, " outputs");
  return {std::move(of), idim, odim, isize, osize, std::move(names)};
}

Concat Concat::renamed(const Renames& r) const {
  Concat c = *this;
  for (Block& b : c.blocks) b.a = b.a.rename(r);
  if (idim) c.idim = rename({*idim}, r)[0];
  if (odim) c.odim = rename({*odim}, r)[0];
  c.names = names.renamed(r);
  return c;
}

NamedLinop Concat::split(const Tile& tile) const {
  const Cut whole_in{idim.value_or(ND()), 0, isize}, whole_out{odim.value_or(ND()), 0, osize};
  const Cut* cut_in = idim ? tile.find(*idim) : nullptr;
  const Cut* cut_out = odim ? tile.find(*odim) : nullptr;
  if (!cut_in) cut_in = &whole_in;
  if (!cut_out) cut_out = &whole_out;
  Concat part{{}, idim, odim, cut_in->size(), cut_out->size(), names};
  for (const Block& b : blocks) {
    Tile own;
    for (const Cut& c : tile.cuts)
      if (c.dim != idim && c.dim != odim) own.cuts.push_back(c);
    const Overlap in = overlap(b.in_start, b.in_size, *cut_in),
                  out = overlap(b.out_start, b.out_size, *cut_out);
    if ((idim && !in.any()) || (odim && !out.any())) continue;
    if (idim) own.cuts.push_back({*idim, in.start, in.stop, b.in_size});
    if (odim && odim != idim) own.cuts.push_back({*odim, out.start, out.stop, b.out_size});
    part.blocks.push_back({part_within(b.a, names, own), idim ? in.shifted : 0,
                           in.any() ? in.stop - in.start : 0, odim ? out.shifted : 0,
                           out.any() ? out.stop - out.start : 0});
  }
  if (part.blocks.empty()) {
    // Beside the diagonal. The block that tells the shape stands outside: no further cut meets it.
    const Block& like = blocks.front();
    Tile own;
    for (const Cut& c : tile.cuts)
      if (c.dim != idim && c.dim != odim) own.cuts.push_back(c);
    part.blocks.push_back(
        {part_within(like.a, names, own), part.isize, like.in_size, part.osize, like.out_size});
    return zero_part(part);
  }
  const Block& only = part.blocks.front();
  const bool bare = part.blocks.size() == 1 && (!idim || only.in_size == part.isize) &&
                    (!odim || only.out_size == part.osize);
  return bare ? only.a : NamedLinop(part);
}

}  // namespace tessera
