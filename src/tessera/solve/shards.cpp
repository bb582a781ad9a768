// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/shards.hpp"

#include "tessera/linop/containers/add.hpp"
#include "tessera/linop/containers/chain.hpp"
#include "tessera/linop/containers/concat.hpp"
#include "tessera/linop/ops/to_device.hpp"

namespace tessera {
namespace {

// The device that a part computes on when it takes its input from elsewhere.
std::optional<Device> away(const NamedLinop& a) {
  const Chain* c = a.as<Chain>();
  const ToDevice* first = c ? c->operators.front().as<ToDevice>() : nullptr;
  return first ? std::optional(first->odevice()) : std::nullopt;
}

// A container of blocks on the diagonal, each on a device: what tells how vectors may be spread.
const Concat* guide(const NamedLinop& a) {
  if (const Concat* c = a.as<Concat>()) {
    bool fits = c->idim && c->odim && c->blocks.size() > 1;
    i64 next = 0;
    for (const Concat::Block& b : c->blocks) {
      fits = fits && b.in_start == next && b.out_start == next && b.in_size == b.out_size &&
             away(b.a).has_value();
      next += b.in_size;
    }
    if (fits && next == c->isize) return c;
  }
  if (!a.as<Add>() && !a.as<Chain>() && a.kind() != "Fitted") return nullptr;
  for (const NamedLinop& part : a.parts())
    if (const Concat* c = guide(part)) return c;
  return nullptr;
}

// The operator on one device: without the transfers that brought its data there. Nothing when it
// has parts on others.
std::optional<NamedLinop> at_home(const NamedLinop& a, Device device) {
  const Chain* chain_ = a.as<Chain>();
  const Add* add = a.as<Add>();
  if (!chain_ && !add) {
    if (a.as<ToDevice>() || a.as<Concat>()) return std::nullopt;
    return a.to(device);
  }
  std::vector<NamedLinop> parts;
  for (const NamedLinop& part : a.parts()) {
    if (const ToDevice* move = part.as<ToDevice>(); move && chain_) {
      const bool other = move->idevice() != device && move->odevice() != device;
      if (other || move->input_listener) return std::nullopt;
      continue;
    }
    const bool already = part.device() == device;  // nested tiles of this device stay as they are
    const std::optional<NamedLinop> there = already ? part : at_home(part, device);
    if (!there) return std::nullopt;
    parts.push_back(*there);
  }
  if (parts.empty()) return std::nullopt;
  return add ? sum(std::move(parts)) : chain(std::move(parts));
}

}  // namespace

Shards Shards::whole_of(const NamedLinop& a, const Array& b) {
  Shards s;
  s.shape_ = b.shape();
  s.pieces_.push_back({a, 0, b.ndim() > 0 ? b.shape(0) : 1, b.device()});
  return s;
}

Shards::Shards(const NamedLinop& a, const Array& b) : Shards(whole_of(a, b)) {
  const Concat* c = guide(a);
  if (!c || !contains(a.ishape(), *c->idim) || !contains(a.oshape(), *c->odim)) return;
  const auto in = axis_of(a.ishape(), *c->idim, b.ndim()),
             out = axis_of(a.oshape(), *c->odim, b.ndim());
  if (!in || in != out) return;
  std::vector<Piece> pieces;
  for (const Concat::Block& block : c->blocks) {
    const Device device = *away(block.a);
    Tile tile{{*c->idim, block.in_start, block.in_start + block.in_size}};
    if (!(*c->odim == *c->idim))
      tile.cuts.push_back({*c->odim, block.in_start, block.in_start + block.in_size});
    try {
      const std::optional<NamedLinop> own = at_home(a.split(tile), device);
      if (!own || own->output_device(device) != device) return;
      pieces.push_back({*own, block.in_start, block.in_size, device});
    } catch (const Error&) {
      return;  // some other part of the operator cannot be cut this way: vectors stay whole
    }
  }
  axis_ = *in;
  pieces_ = std::move(pieces);
}

Array Shards::part(const Array& whole, std::size_t i) const {
  if (!spread()) return whole;
  const Piece& p = pieces_[i];
  return whole.slice(axis_, p.start, p.start + p.size);
}

vec::Vector Shards::zeros(DType dtype) const {
  std::vector<Array> all;
  for (const Piece& p : pieces_) {
    Shape s = shape_;
    if (spread()) s[axis_] = p.size;
    all.push_back(vec::zeros(s, dtype, p.device));
  }
  return vec::Vector(std::move(all));
}

Array Shards::whole(const vec::Vector& pieces, Device device) const {
  const Array a = vec::zeros(shape_, pieces.pieces.front().dtype(), device);
  for (std::size_t i = 0; i < count(); ++i) part(a, i).copy_from(pieces.pieces[i].to(device));
  return a;
}

void Shards::scatter(Recorder& r, const Array& whole, const vec::Vector& pieces) const {
  for (std::size_t i = 0; i < count(); ++i)
    record::copy(r, r.constant(part(whole, i)), r.constant(pieces.pieces[i]));
}

void Shards::gather(Recorder& r, const vec::Vector& pieces, const Array& whole) const {
  for (std::size_t i = 0; i < count(); ++i)
    record::copy(r, r.constant(pieces.pieces[i]), r.constant(part(whole, i)));
}

void Shards::record(Recorder& r, const vec::Vector& x, const vec::Vector& y) const {
  Recorder::Parts parts(r, pieces_.front().device);
  for (std::size_t i = 0; i < count(); ++i) {
    parts.next();
    pieces_[i].a.record(r, vec::whole(r, x.pieces[i]), vec::whole(r, y.pieces[i]));
  }
}

}  // namespace tessera
