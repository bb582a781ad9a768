// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/shards.hpp"

#include "tessera/linop/containers/add.hpp"
#include "tessera/linop/containers/chain.hpp"
#include "tessera/linop/containers/concat.hpp"
#include "tessera/linop/ops/to_device.hpp"
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

// A container of tiles in a row, each on a device: what tells how vectors may be spread.
const Concat* guide(const NamedLinop& a) {
  if (const Concat* c = a.as<Concat>()) {
    bool fits = c->blocks.size() > 1;
    i64 in = 0, out = 0;
    for (const Concat::Block& b : c->blocks) {
      fits = fits && away(b.a).has_value() && (!c->idim || b.in_start == in) &&
             (!c->odim || b.out_start == out);
      in += b.in_size;
      out += b.out_size;
    }
    if (fits && (!c->idim || in == c->isize) && (!c->odim || out == c->osize)) return c;
  }
  if (!a.as<Add>() && !a.as<Chain>() && !a.as<Fitted>() && !a.as<AsyncStreamer>()) return nullptr;
  for (const NamedLinop& part : a.parts())
    if (const Concat* c = guide(part)) return c;
  return nullptr;
}

// Which ends of a tile are on its device: the transfers there are not needed.
struct Ends {
  Device device;
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
  // What lies on the base can go along only when both of its ends do.
  if (!ends.in || !ends.out || a.as<Concat>() || a.as<ToDevice>()) return std::nullopt;
  for (const NamedLinop& part : a.parts())
    if (part.as<ToDevice>()) return std::nullopt;
  return a.to(ends.device);
}

}  // namespace

Side::Side(Shape shape, Device base)
    : shape_(std::move(shape)), pieces_{{0, shape_.empty() ? 1 : shape_[0], base}} {}

Side::Side(Shape shape, i64 axis, std::vector<Piece> pieces)
    : shape_(std::move(shape)), axis_(axis), pieces_(std::move(pieces)) {}

Array Side::part(const Array& whole, std::size_t i) const {
  if (!spread()) return whole;
  const Piece& p = pieces_[i];
  return whole.slice(axis_, p.start, p.start + p.size);
}

vec::Vector Side::zeros(DType dtype) const {
  std::vector<Array> all;
  for (const Piece& p : pieces_) {
    Shape s = shape_;
    if (spread()) s[axis_] = p.size;
    all.push_back(vec::zeros(s, dtype, p.device));
  }
  return vec::Vector(std::move(all));
}

Array Side::whole(const vec::Vector& pieces, Device device) const {
  const Array a = vec::zeros(shape_, pieces.pieces.front().dtype(), device);
  for (std::size_t i = 0; i < count(); ++i) part(a, i).copy_from(pieces.pieces[i].to(device));
  return a;
}

void Side::scatter(Recorder& r, const Array& whole, const vec::Vector& pieces) const {
  for (std::size_t i = 0; i < count(); ++i)
    record::copy(r, r.constant(part(whole, i)), r.constant(pieces.pieces[i]));
}

void Side::gather(Recorder& r, const vec::Vector& pieces, const Array& whole) const {
  for (std::size_t i = 0; i < count(); ++i)
    record::copy(r, r.constant(pieces.pieces[i]), r.constant(part(whole, i)));
}

Shards::Shards(NamedLinop a, Side i, Side o, Device base)
    : in(std::move(i)), out(std::move(o)), tiles_{std::move(a)}, base_(base) {}

Shards Shards::whole_of(const NamedLinop& a, const Shape& in, const Shape& out, Device base) {
  return {a, Side(in, base), Side(out, base), base};
}

Shards::Shards(const NamedLinop& a, const Shape& in_shape, const Shape& out_shape, Device base)
    : Shards(whole_of(a, in_shape, out_shape, base)) {
  const Concat* c = guide(a);
  if (!c || (c->idim && !contains(a.ishape(), *c->idim)) ||
      (c->odim && !contains(a.oshape(), *c->odim)))
    return;
  const auto in_axis = c->idim ? axis_of(a.ishape(), *c->idim, in_shape.size()) : std::nullopt,
             out_axis = c->odim ? axis_of(a.oshape(), *c->odim, out_shape.size()) : std::nullopt;
  if ((c->idim && !in_axis) || (c->odim && !out_axis)) return;
  std::vector<Side::Piece> ins, outs;
  std::vector<NamedLinop> tiles;
  for (const Concat::Block& b : c->blocks) {
    const Device device = *away(b.a);
    Tile tile;
    if (c->idim) tile.cuts.push_back({*c->idim, b.in_start, b.in_start + b.in_size});
    if (c->odim && c->odim != c->idim)
      tile.cuts.push_back({*c->odim, b.out_start, b.out_start + b.out_size});
    try {
      const auto own =
          without_transfers(a.split(tile), {device, c->idim.has_value(), c->odim.has_value()});
      if (!own) return;
      tiles.push_back(*own);
    } catch (const Error&) {
      return;  // some other part of the operator cannot be cut this way: vectors stay whole
    }
    ins.push_back({b.in_start, b.in_size, device});
    outs.push_back({b.out_start, b.out_size, device});
  }
  if (in_axis) in = Side(in_shape, *in_axis, std::move(ins));
  if (out_axis) out = Side(out_shape, *out_axis, std::move(outs));
  tiles_ = std::move(tiles);
}

namespace {

// y = sum over tiles that share a place of it.
void record_tiles(Recorder& r, const std::vector<NamedLinop>& tiles, const vec::Vector& x,
                  const vec::Vector& y, Device base) {
  Recorder::Parts parts(r, base);
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    parts.next();
    const View from = vec::whole(r, x.pieces[std::min(i, x.pieces.size() - 1)]),
               to = vec::whole(r, y.pieces[std::min(i, y.pieces.size() - 1)]);
    if (i < y.pieces.size())
      tiles[i].record(r, from, to);
    else
      tiles[i].record_add(r, from, to);
  }
}

}  // namespace

void Shards::record(Recorder& r, const vec::Vector& x, const vec::Vector& y) const {
  record_tiles(r, tiles_, x, y, base_);
}

void Shards::record_adjoint(Recorder& r, const vec::Vector& y, const vec::Vector& x) const {
  std::vector<NamedLinop> back;
  back.reserve(tiles_.size());
  for (const NamedLinop& t : tiles_) back.push_back(t.H());
  record_tiles(r, back, y, x, base_);
}

}  // namespace tessera
