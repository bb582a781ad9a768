// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/containers/stack.hpp"

#include <algorithm>

#include "tessera/linop/containers/add.hpp"
#include "tessera/linop/containers/common.hpp"
#include "tessera/linop/rewrite/join.hpp"

namespace tessera {
namespace {

Dims with_dim(const Dims& dims, const StackDim& s) {
  require<DimError>(!s.dim.is_wildcard(), "Stack: '", s.dim, "' cannot name a dim that joins ",
                    to_text(dims), "; expected a name without wildcards");
  require<DimError>(!contains(dims, s.dim), "Stack: dim '", s.dim, "' is already one of ",
                    to_text(dims), "; use Concat along an existing dim");
  const i64 at = s.index < 0 ? s.index + dims.size() + 1 : s.index;
  require<ArgumentError>(at >= 0 && at <= dims.size(), "Stack: index ", s.index, " for dim '",
                         s.dim, "' is outside of ", to_text(dims));
  Dims all = dims;
  all.insert(at, s.dim);
  return all;
}

Shape without(const Shape& s, i64 axis) {
  Shape r;
  for (i64 i = 0; i < s.size(); ++i)
    if (i != axis) r.push_back(s[i]);
  return r;
}

}  // namespace

NamedLinop stack(std::vector<NamedLinop> operators, std::optional<StackDim> idim,
                 std::optional<StackDim> odim) {
  require<ArgumentError>(!operators.empty(), "Stack: no operators given");
  require<ArgumentError>(idim || odim, "Stack: At least one of idim and odim must be given");
  NamedShape s = operators.front().shape();
  for (const NamedLinop& a : operators) {
    require<DimError>(a.shape() == s, "Stack: ", a, " does not fit ", operators.front());
    s = NamedShape(resolve_wildcards(s.ishape, a.ishape()),
                   resolve_wildcards(s.oshape, a.oshape()));
  }
  Stack c;
  const i64 n = static_cast<i64>(operators.size());
  if (idim) {
    c.idim = idim->dim;
    c.isize = n;
  }
  if (odim) {
    c.odim = odim->dim;
    c.osize = n;
  }
  c.names = NamedShape(idim ? with_dim(s.ishape, *idim) : s.ishape,
                       odim ? with_dim(s.oshape, *odim) : s.oshape);
  require<DimError>((!idim || c.odim == c.idim || !contains(c.names.oshape, idim->dim)) &&
                        (!odim || c.odim == c.idim || !contains(c.names.ishape, odim->dim)),
                    "Stack ", c.names.str(), ": a stack dim is also a dim of the other side");
  for (i64 i = 0; i < n; ++i)
    c.blocks.push_back({operators[static_cast<std::size_t>(i)], idim ? i : 0, odim ? i : 0});
  for (NamedDimension d : dims_of(s)) (void)common_size("Stack", operators, d);
  return c;
}

std::vector<NamedLinop> Stack::parts() const {
  std::vector<NamedLinop> all;
  for (const Block& b : blocks) all.push_back(b.a);
  return all;
}

std::optional<i64> Stack::size(NamedDimension d) const {
  if (idim == d) return isize;
  if (odim == d) return osize;
  if (!contains(dims_of(names), d)) return std::nullopt;
  const std::vector<NamedLinop> all = parts();
  if (const auto n = common_size("Stack", all, d)) return n;
  const auto other = same_size(d);
  return other ? common_size("Stack", all, *other) : std::nullopt;
}

std::optional<NamedDimension> Stack::same_size(NamedDimension d) const {
  return idim == d || odim == d ? std::nullopt : common_same_size(parts(), d);
}
std::optional<Device> Stack::device() const { return common_device_of(parts()); }
DType Stack::output_dtype(DType t) const { return common_dtype(parts(), t); }
bool Stack::is_real_linear() const { return any_real_linear(parts()); }
std::string Stack::details() const {
  return cat(idim ? cat("idim=", *idim) : "", idim && odim ? " " : "",
             odim ? cat("odim=", *odim) : "");
}

Shape Stack::output_shape(const Shape& input) const {
  Shape in = input;
  if (idim) {
    const i64 axis = *axis_of(names.ishape, *idim, input.size());
    require<DimError>(input[axis] == isize, "Stack ", names.str(), ": expecting ", isize,
                      " positions along dim '", *idim, "', got ", input[axis]);
    in = without(input, axis);
  }
  Shape out = blocks.front().a.output_shape(in);
  for (const Block& b : blocks)
    require<ShapeError>(b.a.output_shape(in) == out, "Stack ", names.str(), ": ", b.a,
                        " gives shape ", b.a.output_shape(in), ", another part ", out);
  if (odim) out.insert(*axis_of(names.oshape, *odim, out.size() + 1), osize);
  return out;
}

std::pair<View, View> Stack::views_of(const Block& b, const View& x, const View& y) const {
  View in = x, out = y;
  if (idim) in.layout = in.layout.select(*axis_of(names.ishape, *idim, x.layout.ndim()), b.in);
  if (odim) out.layout = out.layout.select(*axis_of(names.oshape, *odim, y.layout.ndim()), b.out);
  return {in, out};
}

void Stack::apply(Recorder& r, const View& x, const View& y) const {
  if (const auto whole = joined(*this, x, y)) return whole->record(r, x, y);
  record_placed(r, placed(x, y), r.device(y));
  if (!odim) return;
  const i64 axis = *axis_of(names.oshape, *odim, y.layout.ndim());
  for (i64 i = 0; i < osize; ++i)
    if (!gives(i)) record::fill(r, Value(0), sub_view(y, y.layout.select(axis, i)));
}

bool Stack::apply_add(Recorder& r, const View& x, const View& y) const {
  if (const auto whole = joined(*this, x, y))
    whole->record_add(r, x, y);
  else
    record_placed(r, placed(x, y), r.device(y), true);
  return true;
}

std::vector<PlacedPart> Stack::placed(const View& x, const View& y) const {
  std::vector<PlacedPart> all;
  all.reserve(blocks.size());
  for (const Block& b : blocks) {
    auto [in, out] = views_of(b, x, y);
    all.push_back({b.a, std::move(in), std::move(out)});
  }
  return all;
}

bool Stack::gives(i64 position) const {
  return std::any_of(blocks.begin(), blocks.end(),
                     [&](const Block& b) { return b.out == position; });
}

bool Stack::covers_output() const {
  for (i64 i = 0; odim && i < osize; ++i)
    if (!gives(i)) return false;
  return true;
}

NamedLinop Stack::adjoint() const {
  Stack h{{}, odim, idim, osize, isize, names.H()};
  for (const Block& b : blocks) h.blocks.push_back({b.a.H(), b.out, b.in});
  return h;
}

std::optional<NamedLinop> Stack::normal() const {
  // Parts whose results are added meet in pairs; one after the other is 2n.
  if (!odim && blocks.size() > 1) return std::nullopt;
  const std::vector<NamedLinop> normals = normals_alike(parts());
  if (normals.empty()) return std::nullopt;
  if (!idim) return sum(normals);
  // Block by block along the stack dim, which keeps its place; its name is born again unless both
  // sides share it. A tile may have positions that none of its parts takes: zeros there.
  const auto at = std::find(names.ishape.begin(), names.ishape.end(), *idim) - names.ishape.begin();
  const NamedDimension born = idim == odim ? *idim : idim->next_unused(dims_of(names));
  const NamedLinop side_by_side = stack(normals, StackDim{*idim, at}, StackDim{born, at});
  Stack n = *side_by_side.as<Stack>();
  n.isize = n.osize = isize;
  for (std::size_t i = 0; i < blocks.size(); ++i) n.blocks[i].in = n.blocks[i].out = blocks[i].in;
  return n;
}

Stack Stack::from_state(std::vector<Block> of, std::optional<NamedDimension> idim,
                        std::optional<NamedDimension> odim, i64 isize, i64 osize,
                        NamedShape names) {
  require<IoError>(!of.empty(), "Stack ", names.str(), ": no operators");
  for (const Block& b : of)
    require<IoError>(
        (!idim || (b.in >= 0 && b.in < isize)) && (!odim || (b.out >= 0 && b.out < osize)),
        "Stack ", names.str(), ": ", b.a, " lies outside of ", isize, " inputs and ", osize,
        " outputs");
  return {std::move(of), idim, odim, isize, osize, std::move(names)};
}

Stack Stack::renamed(const Renames& r) const {
  Stack c = *this;
  for (Block& b : c.blocks) b.a = b.a.rename(r);
  if (idim) c.idim = rename({*idim}, r)[0];
  if (odim) c.odim = rename({*odim}, r)[0];
  c.names = names.renamed(r);
  return c;
}

NamedLinop Stack::split(const Tile& tile) const {
  const Cut* cut_in = idim ? tile.find(*idim) : nullptr;
  const Cut* cut_out = odim ? tile.find(*odim) : nullptr;
  Stack part{{},   idim, odim, cut_in ? cut_in->size() : isize, cut_out ? cut_out->size() : osize,
             names};
  auto without_dim = [](const Dims& dims, const std::optional<NamedDimension>& stacked) {
    Dims rest;
    for (NamedDimension d : dims)
      if (d != stacked) rest.push_back(d);
    return rest;
  };
  const NamedShape inner(without_dim(names.ishape, idim), without_dim(names.oshape, odim));
  auto inside = [](const Cut* c, i64 i) { return !c || (i >= c->start && i < c->stop); };
  for (const Block& b : blocks) {
    if (!inside(cut_in, b.in) || !inside(cut_out, b.out)) continue;
    Tile own;
    for (const Cut& c : tile.cuts)
      if (c.dim != idim && c.dim != odim) own.cuts.push_back(c);
    part.blocks.push_back({part_within(b.a, inner, own), b.in - (cut_in ? cut_in->start : 0),
                           b.out - (cut_out ? cut_out->start : 0)});
  }
  if (!part.blocks.empty()) return part;
  // Beside the diagonal. The block that tells the shape stands outside: no further cut meets it.
  Tile own;
  for (const Cut& c : tile.cuts)
    if (c.dim != idim && c.dim != odim) own.cuts.push_back(c);
  part.blocks.push_back({part_within(blocks.front().a, inner, own), part.isize, part.osize});
  return zero_part(part);
}

}  // namespace tessera
