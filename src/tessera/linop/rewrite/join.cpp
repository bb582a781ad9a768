// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/rewrite/join.hpp"

#include <algorithm>
#include <tuple>

#include "tessera/base/config.hpp"
#include "tessera/linop/ops/basic/dense.hpp"
#include "tessera/linop/ops/basic/diagonal.hpp"
#include "tessera/linop/ops/basic/identity.hpp"
#include "tessera/linop/ops/basic/scalar.hpp"

namespace tessera {
namespace {

bool same_view(const Array& a, const Array& b) {
  return a.storage() == b.storage() && a.layout() == b.layout() && a.dtype() == b.dtype();
}

bool same_names(const NamedShape& a, const NamedShape& b) {
  return a.ishape == b.ishape && a.oshape == b.oshape;
}

// One view over both, b after a along an axis, when b begins where a ends. The stride of an axis of
// size 1 says nothing.
std::optional<Array> beside(const Array& a, const Array& b, i64 axis) {
  if (!(a.storage() == b.storage()) || a.dtype() != b.dtype() || a.ndim() != b.ndim()) return {};
  Layout both = a.layout();
  const Layout& next = b.layout();
  for (i64 i = 0; i < both.ndim(); ++i)
    if (i != axis && (both.shape[i] != next.shape[i] ||
                      (both.shape[i] > 1 && both.strides[i] != next.strides[i])))
      return {};
  const i64 n = both.shape[axis], step = n > 1                  ? both.strides[axis]
                                         : next.shape[axis] > 1 ? next.strides[axis]
                                                                : next.offset - both.offset;
  if (step == 0 || n == 0 || next.offset != both.offset + n * step ||
      (next.shape[axis] > 1 && next.strides[axis] != step))
    return {};
  both.strides[axis] = step;
  both.shape[axis] += next.shape[axis];
  return a.view(both);
}

// Two tiles along `dim`, of these sizes, as one.
std::optional<NamedLinop> together(const Dense& a, const Dense& b, NamedDimension dim, i64 na,
                                   i64 nb) {
  if (!(a.weightshape == b.weightshape) || !same_names(a.names, b.names) ||
      !(a.broadcast_dims == b.broadcast_dims) || a.conjugated != b.conjugated)
    return {};
  const auto axis = axis_of(a.weightshape, dim, a.weight.ndim());
  if (!axis) return same_view(a.weight, b.weight) ? std::optional<NamedLinop>(a) : std::nullopt;
  if (a.weight.shape(*axis) != na || b.weight.shape(*axis) != nb) return {};
  const auto weight = beside(a.weight, b.weight, *axis);
  if (!weight) return {};
  Dense both = a;
  both.weight = *weight;
  return both;
}

std::optional<NamedLinop> together(const Diagonal& a, const Diagonal& b, NamedDimension dim, i64 na,
                                   i64 nb) {
  const bool alike = same_names(a.names, b.names) && a.broadcast_dims == b.broadcast_dims &&
                     a.factors.size() == b.factors.size() && a.scale.kind() == b.scale.kind() &&
                     a.scale.as<c128>() == b.scale.as<c128>();
  const Dims& names = a.names.ishape;
  i64 back = 0;  // from the right, where weights are aligned
  for (i64 i = names.size(); i-- > 0 && !names[i].is_ellipses();)
    if (names[i] == dim) back = names.size() - i;
  if (!alike || back == 0) return {};
  Diagonal both = a;
  for (std::size_t k = 0; k < a.factors.size(); ++k) {
    const Diagonal::Factor &f = a.factors[k], &g = b.factors[k];
    if (f.conjugated != g.conjugated || f.squared != g.squared || f.follows != g.follows) return {};
    const i64 axis = f.weight.ndim() - back;
    // What applies to any size along the dim is the same for both.
    if (same_view(f.weight, g.weight) && (axis < 0 || f.weight.shape(axis) == 1)) continue;
    if (axis < 0 || f.weight.shape(axis) != na || g.weight.shape(axis) != nb) return {};
    const auto weight = beside(f.weight, g.weight, axis);
    if (!weight) return {};
    both.factors[k].weight = *weight;
  }
  return both;
}

std::optional<NamedLinop> together(const NamedLinop& a, const NamedLinop& b, NamedDimension dim,
                                   i64 na, i64 nb, bool both_sides) {
  if (const Dense* d = a.as<Dense>(), *e = b.as<Dense>(); d && e)
    return together(*d, *e, dim, na, nb);
  if (!both_sides) return {};
  if (const Diagonal* d = a.as<Diagonal>(), *e = b.as<Diagonal>(); d && e)
    return together(*d, *e, dim, na, nb);
  const Scalar *s = a.as<Scalar>(), *t = b.as<Scalar>();
  const bool scalars = s && t && s->weight.kind() == t->weight.kind() &&
                       s->weight.as<c128>() == t->weight.as<c128>();
  const bool identities = a.as<Identity>() && b.as<Identity>();
  if ((scalars || identities) && same_names(a.shape(), b.shape())) return a;
  return {};
}

// Blocks of a Concat on their way to fewer.
class Joiner {
 public:
  // Without views it is not asked what a product copies.
  Joiner(const Concat& tiles, const View* x, const View* y) : tiles_(tiles), x_(x), y_(y) {
    for (Concat::Block b : tiles.blocks) {
      i64 count = 1;
      std::optional<NamedLinop> whole;
      if (!x) {
        if (const Concat* inner = b.a.as<Concat>()) whole = joined(*inner);
      } else {
        const auto [in, out] = tiles.views_of(b, *x, *y);
        if (const Concat* inner = b.a.as<Concat>()) whole = joined(*inner, in, out);
        if (const Stack* inner = b.a.as<Stack>()) whole = joined(*inner, in, out);
      }
      if (whole) {
        count = static_cast<i64>(b.a.parts().size());
        b.a = *whole;
        changed_ = true;
      }
      runs_.push_back({std::move(b), count, false});
    }
  }

  std::optional<NamedLinop> result() {
    if (tiles_.idim && tiles_.idim == tiles_.odim) {
      join(Along::both);
    } else {
      while ((tiles_.idim && join(Along::input)) || (tiles_.odim && join(Along::output))) {
      }
    }
    if (!changed_) return std::nullopt;
    std::vector<std::string> notes;
    for (Run& r : runs_)
      if (r.merged)
        notes.push_back(cat(r.tiles, " tiles of ", r.block.a.kind(), " joined: ",
                            r.block.a.arrays().empty() ? "they are the same operator"
                                                       : "their weights lie side by side"));
    const Concat::Block& only = runs_.front().block;
    if (runs_.size() == 1 && (!tiles_.idim || only.in_size == tiles_.isize) &&
        (!tiles_.odim || only.out_size == tiles_.osize))
      return only.a.noted(std::move(notes));
    Concat fewer = tiles_;
    fewer.blocks.clear();
    for (Run& r : runs_) fewer.blocks.push_back(std::move(r.block));
    return NamedLinop(std::move(fewer)).noted(std::move(notes));
  }

 private:
  enum class Along : std::uint8_t { input, output, both };
  struct Run {
    Concat::Block block;
    i64 tiles;
    bool merged;
  };

  bool join(Along along) {
    std::stable_sort(runs_.begin(), runs_.end(), [&](const Run& a, const Run& b) {
      auto key = [&](const Concat::Block& k) {
        return along == Along::output
                   ? std::tuple(k.in_start, k.in_size, k.out_start, k.out_size)
                   : std::tuple(k.out_start, along == Along::both ? 0 : k.out_size, k.in_start,
                                k.in_size);
      };
      return key(a.block) < key(b.block);
    });
    std::vector<Run> all;
    for (Run& r : runs_) {
      if (!all.empty())
        if (const auto both = merged(all.back().block, r.block, along)) {
          all.back() = {*both, all.back().tiles + r.tiles, true};
          continue;
        }
      all.push_back(std::move(r));
    }
    const bool fewer = all.size() < runs_.size();
    runs_ = std::move(all);
    changed_ = changed_ || fewer;
    return fewer;
  }

  std::optional<Concat::Block> merged(const Concat::Block& a, const Concat::Block& b,
                                      Along along) const {
    const bool same_in = a.in_start == b.in_start && a.in_size == b.in_size,
               same_out = a.out_start == b.out_start && a.out_size == b.out_size,
               next_in = b.in_start == a.in_start + a.in_size,
               next_out = b.out_start == a.out_start + a.out_size;
    if (along == Along::input    ? !(next_in && same_out)
        : along == Along::output ? !(next_out && same_in)
                                 : !(next_in && next_out))
      return {};
    const bool out = along == Along::output;
    const auto op =
        together(a.a, b.a, out ? *tiles_.odim : *tiles_.idim, out ? a.out_size : a.in_size,
                 out ? b.out_size : b.in_size, along == Along::both);
    if (!op) return {};
    Concat::Block both{*op, a.in_start, a.in_size, a.out_start, a.out_size};
    if (along != Along::output) both.in_size += b.in_size;
    if (along != Along::input) both.out_size += b.out_size;
    return as_direct(both, a) ? std::optional(both) : std::nullopt;
  }

  // The joined product needs no copies that a tile did not need.
  bool as_direct(const Concat::Block& both, const Concat::Block& tile) const {
    const Dense *whole = both.a.as<Dense>(), *part = tile.a.as<Dense>();
    if (!whole || !x_) return true;
    const auto [x, y] = tiles_.views_of(both, *x_, *y_);
    const auto [in, out] = tiles_.views_of(tile, *x_, *y_);
    return whole->direct(x.layout, y.layout) || !part->direct(in.layout, out.layout);
  }

  const Concat& tiles_;
  const View *x_, *y_;
  std::vector<Run> runs_;
  bool changed_ = false;
};

bool wanted() { return config().rewrite && config().rewrite_tiles; }

}  // namespace

std::optional<NamedLinop> joined(const Concat& tiles, const View& x, const View& y) {
  return wanted() ? Joiner(tiles, &x, &y).result() : std::nullopt;
}

std::optional<NamedLinop> joined(const Concat& tiles) {
  if (!wanted()) return std::nullopt;
  const std::optional<NamedLinop> whole = Joiner(tiles, nullptr, nullptr).result();
  return whole && !whole->as<Concat>() ? whole : std::nullopt;
}

std::optional<NamedLinop> joined(const Stack& tiles, const View& x, const View& y) {
  const i64 n = static_cast<i64>(tiles.blocks.size());
  const bool both = tiles.idim && tiles.odim;
  if (!wanted() || n < 2 || (both && tiles.idim != tiles.odim) ||
      n != (tiles.idim ? tiles.isize : tiles.osize))
    return {};
  const Dense* first = tiles.blocks.front().a.as<Dense>();
  i64 step = 0;
  for (i64 i = 0; i < n; ++i) {
    const Stack::Block& b = tiles.blocks[static_cast<std::size_t>(i)];
    const Dense* d = b.a.as<Dense>();
    if (!first || !d || (tiles.idim && b.in != i) || (tiles.odim && b.out != i) ||
        !(d->weightshape == first->weightshape) || !same_names(d->names, first->names) ||
        !(d->broadcast_dims == first->broadcast_dims) || d->conjugated != first->conjugated ||
        !(d->weight.storage() == first->weight.storage()) ||
        d->weight.dtype() != first->weight.dtype() || d->weight.shape() != first->weight.shape() ||
        d->weight.layout().strides != first->weight.layout().strides)
      return {};
    const i64 away = d->weight.layout().offset - first->weight.layout().offset;
    if (i == 1) step = away;
    if (away != i * step || (i > 0 && step == 0)) return {};
  }
  Layout l = first->weight.layout().insert_axis(0);
  l.shape[0] = n;
  l.strides[0] = step;
  Dims named{tiles.idim ? *tiles.idim : *tiles.odim};
  named.append(first->weightshape);
  const Dense whole(first->weight.view(l), named, tiles.names.ishape, tiles.names.oshape,
                    first->broadcast_dims, first->conjugated);
  const auto [in, out] = tiles.views_of(tiles.blocks.front(), x, y);
  if (!whole.direct(x.layout, y.layout) && first->direct(in.layout, out.layout)) return {};
  return NamedLinop(whole).noted(
      {cat(n, " tiles of Dense joined: their weights lie at equal distances")});
}

}  // namespace tessera
