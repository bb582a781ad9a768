// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/core/sharded_operator.hpp"

#include <algorithm>

#include "tessera/linop/containers/add.hpp"
#include "tessera/linop/containers/chain.hpp"
#include "tessera/linop/containers/concat.hpp"
#include "tessera/linop/core/binding.hpp"
#include "tessera/linop/rewrite/memory_map.hpp"
#include "tessera/solve/core/polynomial_preconditioner.hpp"
#include "tessera/solve/core/stored_vectors.hpp"
#include "tessera/solve/core/tiling.hpp"

namespace tessera {
namespace {

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

// How the vectors of both sides are distributed over ranks, if they are.
std::pair<RanksPtr, RanksPtr> ranks_of(const NamedLinop& a) {
  if (const LocalPart* p = a.as<LocalPart>()) return {p->in, p->out};
  if (const Chain* c = a.as<Chain>())
    return {ranks_of(c->operators.front()).first, ranks_of(c->operators.back()).second};
  return {};
}

// The tiles of a grid: for each, where it stands along every way, and its number among the pieces
// of either side.
class Grid {
 public:
  Grid(const std::vector<Way>& ways, const Shape& in, const Shape& out, const NamedLinop& a)
      : ways_(ways), at_(ways.size(), 0), in_(in), out_(out) {
    for (const Way& w : ways) {
      in_axes_.push_back(axis(a.ishape(), w.idim, in));
      out_axes_.push_back(axis(a.oshape(), w.odim, out));
    }
  }
  // Every way is along an axis of the vectors.
  bool fits() const {
    for (std::size_t k = 0; k < ways_.size(); ++k)
      if ((ways_[k].idim && !in_axes_[k]) || (ways_[k].odim && !out_axes_[k])) return false;
    return true;
  }
  bool next() {
    for (std::size_t k = ways_.size(); k-- > 0;) {
      if (++at_[k] < ways_[k].ranges.size()) return true;
      at_[k] = 0;
    }
    return false;
  }
  Tile tile() const {
    Tile t;
    for (std::size_t k = 0; k < ways_.size(); ++k) {
      const Way& w = ways_[k];
      const Way::Range& r = w.ranges[at_[k]];
      if (w.idim) t.cuts.push_back({*w.idim, r.in_start, r.in_start + r.in_size});
      if (w.odim && w.odim != w.idim)
        t.cuts.push_back({*w.odim, r.out_start, r.out_start + r.out_size});
    }
    return t;
  }
  std::size_t from() const { return number(in_axes_); }
  std::size_t to() const { return number(out_axes_); }
  // The piece of this tile; its device is said later.
  VectorSpace::Piece input() const {
    VectorSpace::Piece p{Shape(in_.size(), 0), in_, {}};
    for (std::size_t k = 0; k < ways_.size(); ++k)
      if (in_axes_[k]) {
        p.start[*in_axes_[k]] = ways_[k].ranges[at_[k]].in_start;
        p.size[*in_axes_[k]] = ways_[k].ranges[at_[k]].in_size;
      }
    return p;
  }
  VectorSpace::Piece output() const {
    VectorSpace::Piece p{Shape(out_.size(), 0), out_, {}};
    for (std::size_t k = 0; k < ways_.size(); ++k)
      if (out_axes_[k]) {
        p.start[*out_axes_[k]] = ways_[k].ranges[at_[k]].out_start;
        p.size[*out_axes_[k]] = ways_[k].ranges[at_[k]].out_size;
      }
    return p;
  }

 private:
  using Axes = std::vector<std::optional<i64>>;
  static std::optional<i64> axis(const Dims& dims, const std::optional<NamedDimension>& d,
                                 const Shape& shape) {
    return d && contains(dims, *d) ? axis_of(dims, *d, shape.size()) : std::nullopt;
  }
  std::size_t number(const Axes& axes) const {
    std::size_t n = 0;
    for (std::size_t k = 0; k < ways_.size(); ++k)
      if (axes[k]) n = n * ways_[k].ranges.size() + at_[k];
    return n;
  }
  const std::vector<Way>& ways_;
  std::vector<std::size_t> at_;
  Shape in_, out_;
  Axes in_axes_, out_axes_;
};

// A piece is at home with its first tile.
void settle(std::vector<VectorSpace::Piece>& pieces, std::size_t i, const VectorSpace::Piece& p,
            Device home) {
  if (i < pieces.size()) return;
  pieces.push_back(p);
  pieces.back().device = home;
}

}  // namespace

ShardedOperator::ShardedOperator(std::vector<Path> terms)
    : in(terms.front().front().in), out(terms.front().back().out), terms_(std::move(terms)) {}

ShardedOperator ShardedOperator::whole_of(const NamedLinop& a, const Shape& in, const Shape& out,
                                          Device base) {
  const auto [from, to] = ranks_of(a);
  const StoredSolvePtr stored = stored_solve_of(a);
  return ShardedOperator({{{{{a, base, base, 0, 0}},
                            VectorSpace(in, base, from, stored),
                            VectorSpace(out, base, to, stored)}}});
}

ShardedOperator::ShardedOperator(const NamedLinop& a, const Shape& in_shape, const Shape& out_shape,
                                 Device base)
    : ShardedOperator(whole_of(a, in_shape, out_shape, base)) {
  const std::optional<std::vector<Way>> ways = ways_of(a);
  if (!ways || ways->empty()) return;
  Grid grid(*ways, in_shape, out_shape, a);
  if (!grid.fits()) return;
  const auto has = [&](auto member) {
    return std::any_of(ways->begin(), ways->end(),
                       [&](const Way& w) { return (w.*member).has_value(); });
  };
  const FreeEnds free{has(&Way::idim), has(&Way::odim)};
  std::vector<VectorSpace::Piece> ins, outs;
  std::vector<Placed> tiles;
  do {
    try {
      const auto parts = bare(a.split(grid.tile()), base, free);
      if (!parts) return;
      settle(ins, grid.from(), grid.input(), parts->front().in);
      settle(outs, grid.to(), grid.output(), parts->front().out);
      for (const BarePart& p : *parts) tiles.push_back({p.op, p.in, p.out, grid.from(), grid.to()});
    } catch (const Error&) {
      return;  // some other part of the operator cannot be cut this way: vectors stay whole
    }
  } while (grid.next());
  if (free.in) in = VectorSpace(in_shape, std::move(ins), base);
  if (free.out) out = VectorSpace(out_shape, std::move(outs), base);
  terms_ = {{{std::move(tiles), in, out}}};
}

void ShardedOperator::rehome(const VectorSpace& from, const VectorSpace& to) {
  in = from;
  out = to;
  for (Path& path : terms_) {
    path.front().in = from;
    path.back().out = to;
  }
}

std::optional<ShardedOperator> ShardedOperator::beside(const VectorSpace& side, const NamedLinop& a,
                                                       const Shape& out) {
  if (!side.distribution()) return whole_of(a, side.shape(), out, side.base());
  if (auto s = cut_beside(side, a, out)) return s;
  // It mixes what lies in different pieces: one that was cut like them sends what it must.
  auto s = out == side.shape() ? alike(a, out, side.base()) : std::nullopt;
  if (!s || !s->in.cut_like(side)) return std::nullopt;
  s->rehome(side, side);
  return s;
}

std::optional<ShardedOperator> ShardedOperator::cut_beside(const VectorSpace& side,
                                                           const NamedLinop& a, const Shape& out) {
  const i64 rank = side.shape().size();
  struct Axis {
    i64 in, out;
    std::optional<NamedDimension> dim;
  };
  std::vector<Axis> axes;
  for (i64 axis : side.cut_axes()) {
    const auto across = axis_across(a, axis, rank, out.size());
    if (!across || out[*across] != side.shape()[axis]) return std::nullopt;
    axes.push_back({axis, *across, dim_at(a.ishape(), axis, rank)});
  }
  std::vector<VectorSpace::Piece> pieces;
  std::vector<Placed> tiles;
  for (std::size_t i = 0; i < side.count(); ++i) {
    const VectorSpace::Piece& p = side.piece(i);
    VectorSpace::Piece& q =
        pieces.emplace_back(VectorSpace::Piece{Shape(out.size(), 0), out, p.device});
    Tile tile;
    for (const Axis& x : axes) {
      if (x.dim)
        tile.cuts.push_back(
            {*x.dim, p.start[x.in], p.start[x.in] + p.size[x.in], side.shape()[x.in]});
      q.start[x.out] = p.start[x.in];
      q.size[x.out] = p.size[x.in];
    }
    try {
      const auto own = bare(tile.empty() ? a : a.split(tile), side.base(), {true, true});
      if (!own || own->size() != 1) return std::nullopt;
      const NamedLinop& op = own->front().op;
      if (op.output_shape(p.size) != q.size) return std::nullopt;
      const bool there = own->front().in == p.device;
      if (!there && crosses_devices(a)) return std::nullopt;
      tiles.push_back({there ? op : op.to(p.device), p.device, p.device, i, i});
    } catch (const Error&) {
      return std::nullopt;
    }
  }
  return ShardedOperator(
      {{{std::move(tiles), side, VectorSpace(out, std::move(pieces), side.base())}}});
}

std::optional<ShardedOperator> ShardedOperator::over_the_middle(const Chain& c, const Shape& shape,
                                                                Device base) {
  using Parts = std::vector<NamedLinop>;
  for (auto cut = c.operators.begin() + 1; cut < c.operators.end(); ++cut) {
    const NamedLinop first = chain(Parts(c.operators.begin(), cut)),
                     second = chain(Parts(cut, c.operators.end()));
    const Shape middle = first.output_shape(shape);
    const ShardedOperator there(first, shape, middle, base), back(second, middle, shape, base);
    if (!there.in.distribution() || !there.in.cut_like(back.out) || !there.out.cut_like(back.in))
      continue;
    Stage go = there.terms_.front().front(), come = back.terms_.front().front();
    // What is summed up in one place is summed where a tile is.
    const Device home = go.tiles.front().out;
    if (!go.out.distribution() && come.tiles.front().in != base)
      go.out = VectorSpace(middle, {{Shape(middle.size(), 0), middle, home}}, base);
    come.in = go.out;
    come.out = go.in;
    return ShardedOperator({{std::move(go), std::move(come)}});
  }
  return std::nullopt;
}

std::optional<ShardedOperator> ShardedOperator::sum_of(const Add& a, const Shape& shape,
                                                       Device base) {
  std::optional<VectorSpace> side;
  for (const NamedLinop& term : a.operators)
    if (const auto s = alike(term, shape, base); s && !side) side = s->in;
  if (!side) return std::nullopt;
  std::vector<Path> terms;
  for (const NamedLinop& term : a.operators) {
    const auto s = beside(*side, term, shape);
    if (!s || !(s->out == *side) || !s->coefficients_.empty()) return std::nullopt;
    terms.insert(terms.end(), s->terms_.begin(), s->terms_.end());
  }
  return ShardedOperator(std::move(terms));
}

// Each block by itself, its pieces at their places in the whole.
std::optional<ShardedOperator> ShardedOperator::diagonal(const Concat& c, const Shape& shape,
                                                         Device base) {
  if (!c.idim || !c.odim) return std::nullopt;
  const auto axis = axis_of(c.names.ishape, *c.idim, shape.size());
  if (!axis || axis != axis_of(c.names.oshape, *c.odim, shape.size()) || !way_of(c))
    return std::nullopt;
  std::vector<VectorSpace::Piece> pieces;
  std::vector<Path> terms;
  for (const Concat::Block& b : c.blocks) {
    Shape own = shape;
    own[*axis] = b.in_size;
    if (b.in_start != b.out_start || b.in_size != b.out_size) return std::nullopt;
    const std::optional<ShardedOperator> s =
        crosses_devices(b.a) ? alike(b.a, own, base) : whole_of(b.a, own, own, base);
    if (!s || !s->coefficients_.empty()) return std::nullopt;
    for (Path path : s->terms_) {
      for (Placed& t : path.front().tiles) t.from += pieces.size();
      for (Placed& t : path.back().tiles) t.to += pieces.size();
      terms.push_back(std::move(path));
    }
    for (std::size_t i = 0; i < s->in.count(); ++i) {
      pieces.push_back(s->in.piece(i));
      pieces.back().start[*axis] += b.in_start;
    }
  }
  const VectorSpace side(shape, std::move(pieces), base);
  ShardedOperator all(std::move(terms));
  all.rehome(side, side);
  return all;
}

std::optional<ShardedOperator> ShardedOperator::polynomial(const Polynomial& p, const Shape& shape,
                                                           Device base) {
  auto s = alike(p.T, shape, base);
  if (!s || !s->coefficients_.empty()) return std::nullopt;
  s->coefficients_ = p.coefficients;
  return s;
}

// Distributed, both sides in the same way; or nothing.
std::optional<ShardedOperator> ShardedOperator::alike(const NamedLinop& a, const Shape& shape,
                                                      Device base) {
  if (!crosses_devices(a)) return std::nullopt;
  if (ShardedOperator s(a, shape, shape, base); s.distribution() && s.in.cut_like(s.out)) {
    std::vector<VectorSpace::Piece> pieces;
    for (std::size_t i = 0; i < s.in.count(); ++i) pieces.push_back(s.in.piece(i));
    // Tiles on the diagonal have both of their pieces at home.
    for (const Placed& t : s.terms_.front().front().tiles)
      if (t.from == t.to) pieces[t.from].device = t.in;
    const VectorSpace side(shape, std::move(pieces), base);
    s.rehome(side, side);
    return s;
  }
  if (const auto same = a.offers().stands_for()) return alike(*same, shape, base);
  if (const Chain* c = a.as<Chain>()) return over_the_middle(*c, shape, base);
  if (const Add* sum = a.as<Add>()) return sum_of(*sum, shape, base);
  if (const Concat* c = a.as<Concat>()) return diagonal(*c, shape, base);
  if (const Polynomial* p = a.as<Polynomial>()) return polynomial(*p, shape, base);
  return std::nullopt;
}

ShardedOperator ShardedOperator::square(const NamedLinop& a, const Shape& shape, Device base) {
  return alike(a, shape, base).value_or(whole_of(a, shape, shape, base));
}

// Each tile on its device. What tiles of one device add to a piece that is at home elsewhere is
// summed there and sent home once; so is a piece that they use sent to them once.
void ShardedOperator::record_stage(Recorder& r, const Stage& s, const std::vector<View>& x,
                                   const std::vector<View>& y, std::vector<bool>& begun) {
  struct Away {
    std::size_t to;
    View sum;
  };
  std::vector<Away> sums;
  std::optional<Recorder::Parts> parts;
  if (s.tiles.size() > 1) parts.emplace(r, s.in.base());
  for (const Placed& t : s.tiles) {
    if (parts) parts->next();
    const View from = r.resident(x[t.from], t.in);
    View to = y[t.to];
    bool adds = begun[t.to];
    if (t.out != r.device(to)) {
      const auto it = std::find_if(sums.begin(), sums.end(), [&](const Away& a) {
        return a.to == t.to && r.device(a.sum) == t.out;
      });
      adds = it != sums.end();
      if (!adds) sums.push_back({t.to, r.temporary(to.shape(), to.dtype, t.out)});
      to = adds ? it->sum : sums.back().sum;
    } else {
      begun[t.to] = true;
    }
    adds ? t.op.record_add(r, from, to) : t.op.record(r, from, to);
  }
  for (const Away& a : sums) {
    if (parts) parts->next();
    const View& home = y[a.to];
    if (begun[a.to])
      record::add(r, home, r.resident(a.sum, r.device(home)), home);
    else
      record::copy(r, a.sum, home);
    begun[a.to] = true;
  }
}

void ShardedOperator::record_terms(Recorder& r, const std::vector<View>& x,
                                   const std::vector<View>& y) const {
  std::vector<bool> begun(y.size(), false);
  for (const Path& path : terms_) {
    std::vector<View> from = x;
    for (const Stage& s : path) {
      if (&s == &path.back()) {
        record_stage(r, s, from, y, begun);
        break;
      }
      const std::vector<View> to =
          s.out.temporaries(r, s.tiles.front().op.output_dtype(from.front().dtype));
      std::vector<bool> fresh(to.size(), false);
      record_stage(r, s, from, to, fresh);
      from = to;
    }
  }
}

void ShardedOperator::record_residual(Recorder& r, const Array& x0, const vec::Vector& b,
                                      const vec::Vector& x, const vec::Vector& Ax,
                                      const vec::Vector& residual) const {
  if (!x0) return vec::copy(r, b, residual);
  in.scatter(r, x0, x);
  record(r, x, Ax);
  vec::subtract(r, b, Ax, residual);
}

void ShardedOperator::record(Recorder& r, const std::vector<View>& x,
                             const std::vector<View>& y) const {
  if (coefficients_.empty()) return record_terms(r, x, y);
  // Horner: y = c_d x, then y = T y + c_k x.
  for (std::size_t i = 0; i < y.size(); ++i) record::scale(r, coefficients_.back(), x[i], y[i]);
  const std::vector<View> image = in.temporaries(r, y.front().dtype);
  for (std::size_t k = coefficients_.size() - 1; k-- > 0;) {
    record_terms(r, y, image);
    for (std::size_t i = 0; i < y.size(); ++i)
      record::multiply_add(r, coefficients_[k], x[i], image[i], y[i]);
  }
}

void ShardedOperator::record_adjoint(Recorder& r, const std::vector<View>& y,
                                     const std::vector<View>& x) const {
  std::vector<Path> back;
  for (const Path& path : terms_) {
    Path& turned = back.emplace_back();
    for (auto s = path.rbegin(); s != path.rend(); ++s) {
      turned.push_back({{}, s->out, s->in});
      for (const Placed& t : s->tiles)
        turned.back().tiles.push_back({t.op.H(), t.out, t.in, t.to, t.from});
    }
  }
  ShardedOperator all(std::move(back));
  all.coefficients_ = coefficients_;
  all.record(r, y, x);
}

const NamedLinop& ShardedOperator::on_stored_vectors() const {
  const OnStoredVectors* op = terms_.front().front().tiles.front().op.as<OnStoredVectors>();
  require<ArgumentError>(op != nullptr, terms_.front().front().tiles.front().op,
                         ": a part of this solve is on disk, and this is not");
  return op->a;
}

void ShardedOperator::record(Recorder& r, const vec::Vector& x, const vec::Vector& y) const {
  if (x.stored) return x.stored->solve->apply(r, on_stored_vectors(), x, y);
  record(r, vec::whole(r, x), vec::whole(r, y));
}

void ShardedOperator::record_adjoint(Recorder& r, const vec::Vector& y,
                                     const vec::Vector& x) const {
  if (y.stored) return y.stored->solve->apply(r, on_stored_vectors().H(), y, x);
  record_adjoint(r, vec::whole(r, y), vec::whole(r, x));
}

SquareShards::SquareShards(const NamedLinop& op, const std::optional<NamedLinop>& another,
                           const Shape& shape, Device base)
    : a(ShardedOperator::square(op, shape, base)) {
  if (!another) return;
  const Shape out = another->output_shape(shape);
  other = ShardedOperator::beside(a.in, *another, out);
  if (other) return;
  a = ShardedOperator::whole_of(op, shape, shape, base);
  other = ShardedOperator::whole_of(*another, shape, out, base);
}

}  // namespace tessera
