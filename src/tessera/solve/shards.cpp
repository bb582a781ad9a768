// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/shards.hpp"

#include <algorithm>

#include "tessera/linop/binding.hpp"
#include "tessera/linop/containers/add.hpp"
#include "tessera/linop/containers/chain.hpp"
#include "tessera/linop/containers/concat.hpp"
#include "tessera/linop/ops/to_device.hpp"
#include "tessera/solve/polynomial_preconditioner.hpp"
#include "tessera/split/async_streamer.hpp"
#include "tessera/split/fit.hpp"

namespace tessera {
namespace {

// The device that a part computes on when it takes its input from elsewhere.
std::optional<Device> away(const NamedLinop& a) {
  const Chain* c = a.as<Chain>();
  const ToDevice* first = c ? c->operators.front().as<ToDevice>() : nullptr;
  return first ? std::optional(first->odevice()) : std::nullopt;
}

bool crosses_devices(const NamedLinop& a) {
  const std::vector<NamedLinop> parts = a.parts();
  return a.as<ToDevice>() || std::any_of(parts.begin(), parts.end(), crosses_devices);
}

// The device of a tile: where it takes its input to, or the base, which it does not leave.
std::optional<Device> device_of(const NamedLinop& tile, Device base) {
  if (const std::optional<Device> there = away(tile)) return there;
  return crosses_devices(tile) ? std::nullopt : std::optional(base);
}

// A container of tiles in a row, each on a device: what tells how vectors may be spread.
const Concat* guide(const NamedLinop& a, Device base) {
  if (const Concat* c = a.as<Concat>()) {
    bool fits = c->blocks.size() > 1, leaves = false;
    i64 in = 0, out = 0;
    for (const Concat::Block& b : c->blocks) {
      const std::optional<Device> d = device_of(b.a, base);
      fits = fits && d && (!c->idim || b.in_start == in) && (!c->odim || b.out_start == out);
      leaves = leaves || d != base;
      in += b.in_size;
      out += b.out_size;
    }
    if (fits && leaves && (!c->idim || in == c->isize) && (!c->odim || out == c->osize)) return c;
  }
  if (!a.as<Add>() && !a.as<Chain>() && !a.as<Fitted>() && !a.as<AsyncStreamer>() &&
      !a.as<Polynomial>())
    return nullptr;
  for (const NamedLinop& part : a.parts())
    if (const Concat* c = guide(part, base)) return c;
  return nullptr;
}

// Which ends of a tile are on its device: the transfers there are not needed.
struct Ends {
  Device device, base;
  bool in, out;
};

void append_flat(std::vector<NamedLinop>& to, const Chain& c) {
  for (const NamedLinop& part : c.operators)
    if (const Chain* inner = part.as<Chain>())
      append_flat(to, *inner);
    else
      to.push_back(part);
}

// There and back again: before the first transfer and after the second one parts are on the base.
std::optional<NamedLinop> chain_without_transfers(const Chain& c, const Ends& ends) {
  std::vector<NamedLinop> parts, all;
  append_flat(all, c);
  int crossed = 0;
  for (const NamedLinop& part : all) {
    const ToDevice* move = part.as<ToDevice>();
    const bool there = crossed == 1, dropped = move ? (there ? ends.out : ends.in) : false;
    if (move) {
      const Device other = there ? move->idevice() : move->odevice();
      if (++crossed > 2 || other != ends.device || move->input_listener) return std::nullopt;
      if (!dropped) parts.push_back(part);
      continue;
    }
    const bool moves = crossed == 0 ? ends.in : crossed == 2 && ends.out;
    parts.push_back(moves ? part.to(ends.device) : part);
  }
  if (crossed != 2 || parts.empty()) return std::nullopt;
  return chain(std::move(parts));
}

std::optional<NamedLinop> without_transfers(const NamedLinop& a, const Ends& ends) {
  if (ends.device == ends.base && !crosses_devices(a)) return a;
  if (const Chain* c = a.as<Chain>())
    if (auto own = chain_without_transfers(*c, ends)) return own;
  if (const Add* sum_of = a.as<Add>()) {
    std::vector<NamedLinop> terms;
    for (const NamedLinop& term : sum_of->operators) {
      const std::optional<NamedLinop> own = without_transfers(term, ends);
      if (!own) return std::nullopt;
      terms.push_back(*own);
    }
    return sum(std::move(terms));
  }
  if (!ends.in || !ends.out) return std::nullopt;
  if (const Polynomial* p = a.as<Polynomial>()) {
    const std::optional<NamedLinop> own = without_transfers(p->T, ends);
    return own ? std::optional<NamedLinop>(Polynomial{*own, p->coefficients}) : std::nullopt;
  }
  // What lies on the base can go along only when both of its ends do.
  return crosses_devices(a) ? std::nullopt : std::optional(a.to(ends.device));
}

// The dim at an axis of an array of `rank` axes; nothing where that is one of "...".
std::optional<NamedDimension> dim_at(const Dims& dims, i64 axis, i64 rank) {
  for (NamedDimension d : dims)
    if (!d.is_ellipses() && axis_of(dims, d, rank) == axis) return d;
  return std::nullopt;
}

// The axis of the output that is point by point the one of the input.
std::optional<i64> axis_across(const NamedLinop& a, i64 axis, i64 in_rank, i64 out_rank) {
  if (const auto d = dim_at(a.ishape(), axis, in_rank)) return axis_of(a.oshape(), *d, out_rank);
  const auto in = axis_of(a.ishape(), NamedDimension::ellipses(), in_rank),
             out = axis_of(a.oshape(), NamedDimension::ellipses(), out_rank);
  return in && out ? std::optional(axis - *in + *out) : std::nullopt;
}

// How the vectors of both sides are dealt out over ranks, if they are.
std::pair<RanksPtr, RanksPtr> ranks_of(const NamedLinop& a) {
  if (const LocalPart* p = a.as<LocalPart>()) return {p->in, p->out};
  if (const Chain* c = a.as<Chain>())
    return {ranks_of(c->operators.front()).first, ranks_of(c->operators.back()).second};
  return {};
}

}  // namespace

Shards::Shards(std::vector<Path> terms)
    : in(terms.front().front().in), out(terms.front().back().out), terms_(std::move(terms)) {}

Shards Shards::whole_of(const NamedLinop& a, const Shape& in, const Shape& out, Device base) {
  const auto [from, to] = ranks_of(a);
  return Shards({{{{a}, Side(in, base, from), Side(out, base, to)}}});
}

Shards::Shards(const NamedLinop& a, const Shape& in_shape, const Shape& out_shape, Device base)
    : Shards(whole_of(a, in_shape, out_shape, base)) {
  const Concat* c = guide(a, base);
  if (!c || (c->idim && !contains(a.ishape(), *c->idim)) ||
      (c->odim && !contains(a.oshape(), *c->odim)))
    return;
  const auto in_axis = c->idim ? axis_of(a.ishape(), *c->idim, in_shape.size()) : std::nullopt,
             out_axis = c->odim ? axis_of(a.oshape(), *c->odim, out_shape.size()) : std::nullopt;
  if ((c->idim && !in_axis) || (c->odim && !out_axis)) return;
  std::vector<Side::Piece> ins, outs;
  std::vector<NamedLinop> tiles;
  for (const Concat::Block& b : c->blocks) {
    const Device device = *device_of(b.a, base);
    Tile tile;
    if (c->idim) tile.cuts.push_back({*c->idim, b.in_start, b.in_start + b.in_size});
    if (c->odim && c->odim != c->idim)
      tile.cuts.push_back({*c->odim, b.out_start, b.out_start + b.out_size});
    try {
      const auto own = without_transfers(a.split(tile),
                                         {device, base, c->idim.has_value(), c->odim.has_value()});
      if (!own) return;
      tiles.push_back(*own);
    } catch (const Error&) {
      return;  // some other part of the operator cannot be cut this way: vectors stay whole
    }
    ins.push_back({b.in_start, b.in_size, device});
    outs.push_back({b.out_start, b.out_size, device});
  }
  if (in_axis) in = Side(in_shape, *in_axis, std::move(ins), base);
  if (out_axis) out = Side(out_shape, *out_axis, std::move(outs), base);
  terms_ = {{{std::move(tiles), in, out}}};
}

std::optional<Shards> Shards::beside(const Side& side, const NamedLinop& a, const Shape& out) {
  if (!side.spread()) return whole_of(a, side.shape(), out, side.base());
  const i64 rank = side.shape().size();
  const auto axis = axis_across(a, side.axis_, rank, out.size());
  if (!axis || out[*axis] != side.shape()[side.axis_]) return std::nullopt;
  const auto dim = dim_at(a.ishape(), side.axis_, rank);
  Stage s{{}, side, Side(out, *axis, side.pieces_, side.base_)};
  for (std::size_t i = 0; i < side.count(); ++i) {
    const Side::Piece& p = side.pieces_[i];
    try {
      const NamedLinop tile = dim ? a.split({{*dim, p.start, p.start + p.size}}) : a;
      const auto own = without_transfers(tile, {p.device, side.base_, true, true});
      if (!own || own->output_shape(side.shape(i)) != s.out.shape(i)) return std::nullopt;
      s.tiles.push_back(*own);
    } catch (const Error&) {
      return std::nullopt;  // it mixes what lies in different pieces
    }
  }
  return Shards({{std::move(s)}});
}

std::optional<Shards> Shards::over_the_middle(const Chain& c, const Shape& shape, Device base) {
  using Parts = std::vector<NamedLinop>;
  for (auto cut = c.operators.begin() + 1; cut < c.operators.end(); ++cut) {
    const NamedLinop first = chain(Parts(c.operators.begin(), cut)),
                     second = chain(Parts(cut, c.operators.end()));
    const Shape middle = first.output_shape(shape);
    const Shards there(first, shape, middle, base), back(second, middle, shape, base);
    if (!there.in.spread() || !(there.in == back.out) || !(there.out == back.in)) continue;
    return Shards({{there.terms_.front().front(), back.terms_.front().front()}});
  }
  return std::nullopt;
}

std::optional<Shards> Shards::sum_of(const Add& a, const Shape& shape, Device base) {
  std::optional<Side> side;
  for (const NamedLinop& term : a.operators)
    if (const auto s = alike(term, shape, base); s && !side) side = s->in;
  if (!side) return std::nullopt;
  std::vector<Path> terms;
  for (const NamedLinop& term : a.operators) {
    auto s = alike(term, shape, base);
    if (!s || !(s->in == *side)) s = beside(*side, term, shape);
    if (!s || !(s->out == *side)) return std::nullopt;
    for (Path& p : s->terms_) terms.push_back(std::move(p));
  }
  return Shards(std::move(terms));
}

// Spread, both sides in the same way; or nothing.
std::optional<Shards> Shards::alike(const NamedLinop& a, const Shape& shape, Device base) {
  if (!guide(a, base)) return std::nullopt;
  if (Shards s(a, shape, shape, base); s.spread() && s.in == s.out) return s;
  if (const Chain* c = a.as<Chain>()) return over_the_middle(*c, shape, base);
  if (const Add* sum = a.as<Add>()) return sum_of(*sum, shape, base);
  return std::nullopt;
}

Shards Shards::square(const NamedLinop& a, const Shape& shape, Device base) {
  return alike(a, shape, base).value_or(whole_of(a, shape, shape, base));
}

// y = sum over tiles that share a place of it.
void Shards::record_stage(Recorder& r, const Stage& s, const std::vector<View>& x,
                          const std::vector<View>& y, bool add) {
  std::optional<Recorder::Parts> parts;
  if (s.tiles.size() > 1) parts.emplace(r, s.in.base());
  for (std::size_t i = 0; i < s.tiles.size(); ++i) {
    if (parts) parts->next();
    const View &from = vec::piece(x, i), &to = vec::piece(y, i);
    if (i < y.size() && !add)
      s.tiles[i].record(r, from, to);
    else
      s.tiles[i].record_add(r, from, to);
  }
}

void Shards::record(Recorder& r, const std::vector<View>& x, const std::vector<View>& y) const {
  for (const Path& path : terms_) {
    std::vector<View> from = x;
    for (const Stage& s : path) {
      const bool last = &s == &path.back();
      const std::vector<View> to =
          last ? y : s.out.temporaries(r, s.tiles.front().output_dtype(from.front().dtype));
      record_stage(r, s, from, to, last && &path != &terms_.front());
      from = to;
    }
  }
}

void Shards::record_adjoint(Recorder& r, const std::vector<View>& y,
                            const std::vector<View>& x) const {
  std::vector<Path> back;
  for (const Path& path : terms_) {
    Path& turned = back.emplace_back();
    for (auto s = path.rbegin(); s != path.rend(); ++s) {
      turned.push_back({{}, s->out, s->in});
      for (const NamedLinop& t : s->tiles) turned.back().tiles.push_back(t.H());
    }
  }
  Shards(std::move(back)).record(r, y, x);
}

void Shards::record(Recorder& r, const vec::Vector& x, const vec::Vector& y) const {
  record(r, vec::whole(r, x), vec::whole(r, y));
}

void Shards::record_adjoint(Recorder& r, const vec::Vector& y, const vec::Vector& x) const {
  record_adjoint(r, vec::whole(r, y), vec::whole(r, x));
}

SquareShards::SquareShards(const NamedLinop& op, const std::optional<NamedLinop>& another,
                           const Shape& shape, Device base)
    : a(Shards::square(op, shape, base)) {
  if (!another) return;
  const Shape out = another->output_shape(shape);
  other = Shards::beside(a.in, *another, out);
  if (other) return;
  a = Shards::whole_of(op, shape, shape, base);
  other = Shards::whole_of(*another, shape, out, base);
}

}  // namespace tessera
