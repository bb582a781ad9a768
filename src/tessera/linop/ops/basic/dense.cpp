// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/ops/basic/dense.hpp"

#include "tessera/base/config.hpp"
#include "tessera/linop/core/dim_sizes.hpp"
#include "tessera/linop/core/side_by_side.hpp"
#include "tessera/linop/ops/basic/diagonal.hpp"
#include "tessera/plan/record_sums.hpp"

namespace tessera {
namespace {

// Axis positions of one class of dims in weight, input and output; -1 where absent.
struct Axis {
  i64 w = -1, x = -1, y = -1;
};
struct Classes {
  std::vector<Axis> batch, out, contract, free;
};

Classes classify(const Dense& d, i64 x_rank, i64 y_rank) {
  Classes c;
  auto at = [](const Dims& dims, NamedDimension n, i64 rank) {
    return axis_of(dims, n, rank).value_or(-1);
  };
  for (NamedDimension n : d.names.oshape) {
    if (n.is_ellipses()) continue;
    const Axis a{at(d.weightshape, n, d.weight.ndim()), at(d.names.ishape, n, x_rank),
                 at(d.names.oshape, n, y_rank)};
    (a.w < 0 ? c.free : a.x < 0 ? c.out : c.batch).push_back(a);
  }
  for (NamedDimension n : d.names.ishape)
    if (!n.is_ellipses() && !contains(d.names.oshape, n))
      c.contract.push_back(
          {at(d.weightshape, n, d.weight.ndim()), at(d.names.ishape, n, x_rank), -1});
  // The axes of "..." pass through, in order.
  const auto first_x = axis_of(d.names.ishape, NamedDimension::ellipses(), x_rank);
  const auto first_y = axis_of(d.names.oshape, NamedDimension::ellipses(), y_rank);
  if (first_x)
    for (i64 k = 0; k < x_rank - (d.names.ishape.size() - 1); ++k)
      c.free.push_back({-1, *first_x + k, *first_y + k});
  return c;
}

// The axes of an operand in the order of the groups, each group merged to one axis when `merge`.
Layout arrange(const Layout& l, const std::vector<const std::vector<Axis>*>& groups,
               i64 Axis::*side, const Layout& sizes) {
  Layout r;
  r.offset = l.offset;
  for (const auto* group : groups)
    for (const Axis& a : *group) {
      const i64 axis = a.*side;
      r.shape.push_back(axis >= 0 ? l.shape[axis] : sizes.shape[r.ndim()]);
      r.strides.push_back(axis >= 0 ? l.strides[axis] : 0);
    }
  return r;
}

i64 group_size(const std::vector<Axis>& group, const Shape& x, const Shape& y) {
  i64 n = 1;
  for (const Axis& a : group) n *= a.x >= 0 ? x[a.x] : y[a.y];
  return n;
}

}  // namespace

Dense::Dense(Array w, Dims wshape, Dims ishape, Dims oshape, Dims broadcast, bool conj)
    : weight(std::move(w)),
      weightshape(std::move(wshape)),
      names(std::move(ishape), std::move(oshape)),
      broadcast_dims(std::move(broadcast)),
      conjugated(conj) {
  const std::string who = cat("Dense ", names.str(), " with weight ", to_text(weightshape));
  require<DimError>(weightshape.size() == weight.ndim() && !has_ellipses(weightshape), who,
                    ": the weight has shape ", weight.shape());
  for (const Dims* list : {&weightshape, &names.ishape, &names.oshape, &broadcast_dims})
    check_distinct(who, *list);
  for (NamedDimension d : weightshape)
    require<DimError>(contains(names.ishape, d) || contains(names.oshape, d), who, ": dim '", d,
                      "' of the weight is in neither the input nor the output");
  for (const Dims* side : {&names.ishape, &names.oshape})
    for (NamedDimension d : *side) {
      const Dims& other = side == &names.ishape ? names.oshape : names.ishape;
      require<DimError>(contains(weightshape, d) || contains(other, d), who, ": dim '", d,
                        "' is in neither the weight nor the other side");
    }
  for (NamedDimension d : broadcast_dims)
    require<DimError>(contains(weightshape, d), who, ": broadcast dim '", d,
                      "' is not a dim of the weight");
}

Dense::Dense(Array w) : weight(std::move(w)) {
  require<DimError>(weight.ndim() >= 2,
                    "Dense: without names the weight needs two axes or more, got shape ",
                    weight.shape());
  const i64 n = weight.ndim();
  for (i64 i = 0; i < n - 2; ++i) weightshape.push_back(NamedDimension("()", i + 2));
  Dims in = weightshape, out = weightshape;
  out.push_back(NamedDimension("()"));
  in.push_back(NamedDimension("()", 1));
  weightshape.push_back(out.back());
  weightshape.push_back(in.back());
  names = NamedShape(in, out);
}

std::optional<i64> Dense::size(NamedDimension d) const {
  if (contains(broadcast_dims, d)) return std::nullopt;
  for (i64 i = 0; i < weightshape.size(); ++i)
    if (weightshape[i] == d) return weight.shape(i);
  return std::nullopt;
}

std::string Dense::details() const {
  return cat("weight ", to_text(weightshape), " ", weight.shape(), " ", weight.dtype(),
             conjugated ? " conjugated" : "");
}

Dense Dense::adjoint() const {
  return Dense(weight, weightshape, names.oshape, names.ishape, broadcast_dims,
               !conjugated && is_complex(weight.dtype()));
}

Dense Dense::renamed(const Renames& r) const {
  return Dense(weight, rename(weightshape, r), rename(names.ishape, r), rename(names.oshape, r),
               rename(broadcast_dims, r), conjugated);
}

Dense Dense::split(const Tile& tile) const {
  Array part = weight;
  for (const Cut& c : tile.cuts) {
    const auto axis = axis_of(weightshape, c.dim, weight.ndim());
    if (axis && !contains(broadcast_dims, c.dim)) part = part.slice(*axis, c.start, c.stop);
  }
  return Dense(part, weightshape, names.ishape, names.oshape, broadcast_dims, conjugated);
}

std::optional<NamedLinop> Dense::normal() const {
  for (NamedDimension d : names.ishape)
    if (!contains(names.oshape, d)) return gram_pays() ? gram(nullptr) : std::nullopt;
  if (!broadcast_dims.empty() || !config().rewrite_coil_maps) return std::nullopt;
  for (NamedDimension d : names.ishape)
    if (!contains(weightshape, d)) return std::nullopt;
  Axes summed, order;
  Dims kept;
  for (i64 i = 0; i < weightshape.size(); ++i) {
    if (contains(names.ishape, weightshape[i]))
      kept.push_back(weightshape[i]);
    else
      summed.push_back(i);
  }
  for (NamedDimension d : names.ishape) order.push_back(*axis_of(kept, d, kept.size()));
  const Array w = summed.empty() ? ops::abs2(weight) : reduce(ReduceOp::sum_abs2, weight, summed);
  return Diagonal(w.permute(order), names.ishape);
}

// The matrices of a product: arranged axes of weight, input and output, and the shapes that merge
// each to batch + rows + columns.
struct Dense::Matrices {
  Layout a, b, y;
  Shape a_shape, b_shape, y_shape;
};

Dense::Matrices Dense::matrices(const Layout& w, const Layout& x, const Layout& y) const {
  const Classes c = classify(*this, x.ndim(), y.ndim());
  Shape batch;
  for (const Axis& axis : c.batch) batch.push_back(y.shape[axis.y]);
  const i64 m = group_size(c.out, x.shape, y.shape), k = group_size(c.contract, x.shape, y.shape),
            n = group_size(c.free, x.shape, y.shape);
  auto matrix = [&](i64 rows, i64 columns) {
    Shape s = batch;
    s.push_back(rows);
    s.push_back(columns);
    return s;
  };
  return {arrange(w, {&c.batch, &c.out, &c.contract}, &Axis::w, {}),
          arrange(x, {&c.batch, &c.contract, &c.free}, &Axis::x, {}),
          arrange(y, {&c.batch, &c.out, &c.free}, &Axis::y, {}),
          matrix(m, k),
          matrix(k, n),
          matrix(m, n)};
}

bool Dense::needs_copies(const Layout& x, const Layout& y) const {
  if (!broadcast_dims.empty()) return true;
  if (classify(*this, x.ndim(), y.ndim()).contract.empty()) return false;
  const Matrices m = matrices(weight.layout(), x, y);
  return !(m.a.reshape(m.a_shape) && m.b.reshape(m.b_shape) && m.y.reshape(m.y_shape));
}

void Dense::apply(Recorder& r, const View& x, const View& y) const {
  record_product(r, x, y, false);
}

bool Dense::apply_add(Recorder& r, const View& x, const View& y) const {
  return record_product(r, x, y, true);
}

void Dense::record_matrices(Recorder& r, const View& w, const View& x, const View& y,
                            bool adds) const {
  const Matrices m = matrices(w.layout, x.layout, y.layout);
  // A layout that cannot be merged to a matrix in place goes through a dense copy.
  auto merged = [&](const View& v, const Layout& arranged, const Shape& to) {
    if (const auto l = arranged.reshape(to)) return sub_view(v, *l);
    const View dense = r.temporary(arranged.shape, v.dtype, r.device(v));
    record::copy(r, sub_view(v, arranged), dense);
    return sub_view(dense, Layout::contiguous(to));
  };
  const View a = merged(w, m.a, m.a_shape), b = merged(x, m.b, m.b_shape);
  if (const auto l = m.y.reshape(m.y_shape))
    return adds ? record::add_matmul(r, a, b, sub_view(y, *l), conjugated)
                : record::matmul(r, a, b, sub_view(y, *l), conjugated, false);
  const View dense = r.temporary(m.y.shape, y.dtype, r.device(y));
  record::matmul(r, a, b, sub_view(dense, Layout::contiguous(m.y_shape)), conjugated, false);
  record::copy(r, dense, sub_view(y, m.y));
}

// y = W x, or y += W x where that takes no temporary of y's size: false, with nothing recorded,
// where it does.
bool Dense::record_product(Recorder& r, const View& x_given, const View& y, bool adds) const {
  const Classes c = classify(*this, x_given.layout.ndim(), y.layout.ndim());
  const bool inner = c.out.empty() && c.free.empty() && !c.batch.empty() && !c.contract.empty() &&
                     (conjugated || !is_complex(y.dtype));
  if (adds) {
    if (inner || (c.contract.empty() && conjugated)) return false;
    if (!c.contract.empty()) {
      const Matrices m = matrices(weight.layout(), x_given.layout, y.layout);
      if (!m.y.reshape(m.y_shape)) return false;
    }
  }
  View x = x_given;
  if (x.dtype != y.dtype) {
    x = r.temporary(x.shape(), y.dtype, r.device(x));
    record::copy(r, x_given, x);
  }
  View w = r.constant(weight.dtype() == y.dtype ? weight : weight.astype(y.dtype));
  // A broadcast axis of size 1 takes the size of its partner, with stride 0.
  for (const auto* group : {&c.batch, &c.out, &c.contract})
    for (const Axis& a : *group) {
      const i64 n = a.x >= 0 ? x.shape()[a.x] : y.shape()[a.y];
      if (w.layout.shape[a.w] == n) continue;
      require<DimError>(w.layout.shape[a.w] == 1, "Dense ", names.str(), ": dim '",
                        weightshape[a.w], "' has size ", w.layout.shape[a.w], " in the weight and ",
                        n, " in the array");
      w.layout.shape[a.w] = n;
      w.layout.strides[a.w] = 0;
    }
  if (c.contract.empty()) {
    const Layout full = arrange(y.layout, {&c.batch, &c.out, &c.free}, &Axis::y, {});
    const View target = sub_view(y, full);
    const View a = sub_view(w, arrange(w.layout, {&c.batch, &c.out, &c.free}, &Axis::w, full));
    const View b = sub_view(x, arrange(x.layout, {&c.batch, &c.out, &c.free}, &Axis::x, full));
    adds         ? record::add_product(r, a, b, target)
    : conjugated ? record::conj_multiply(r, a, b, target)
                 : record::multiply(r, a, b, target);
    return true;
  }
  if (inner) {
    Layout target = arrange(y.layout, {&c.batch}, &Axis::y, {});
    for (std::size_t i = 0; i < c.contract.size(); ++i) target = target.insert_axis(target.ndim());
    record::vdot(r, sub_view(w, arrange(w.layout, {&c.batch, &c.contract}, &Axis::w, {})),
                 sub_view(x, arrange(x.layout, {&c.batch, &c.contract}, &Axis::x, {})),
                 sub_view(y, target));
    return true;
  }
  record_matrices(r, w, x, y, adds);
  return true;
}

namespace {
std::optional<NamedLinop> weight_of_smaller(const NamedLinop& w, const Dims& small,
                                            const Dims& large) {
  if (small.size() >= large.size() || has_ellipses(large) ||
      !std::equal(small.begin(), small.end(), large.end() - small.size()))
    return std::nullopt;
  return w.offers().weight_on(small, {});
}
}  // namespace

std::optional<NamedLinop> Dense::weight_before(const NamedLinop& w) const {
  return weight_of_smaller(w, names.ishape, names.oshape);
}
std::optional<NamedLinop> Dense::weight_after(const NamedLinop& w) const {
  return weight_of_smaller(w, names.oshape, names.ishape);
}

Dense Dense::opened() const {
  return Dense(weight, weightshape, behind_ellipses(names.ishape), behind_ellipses(names.oshape),
               broadcast_dims, conjugated);
}

bool Dense::ignores_axis(i64 axis) const {
  const Dims &in = names.ishape, &out = names.oshape;
  for (i64 b = 1; b <= axis; ++b) {
    if (b > in.size() || b > out.size()) return false;
    const NamedDimension from = in[in.size() - b], to = out[out.size() - b];
    if (from.is_ellipses() && to.is_ellipses()) return true;
    if (from.is_wildcard() || !(from == to)) return false;
  }
  const NamedDimension name = in[in.size() - axis];
  return !contains(weightshape, name) || contains(broadcast_dims, name);
}

bool Dense::is_like(const Dense& b) const {
  return weightshape == b.weightshape && same_names(names, b.names) &&
         broadcast_dims == b.broadcast_dims && conjugated == b.conjugated;
}

std::optional<NamedLinop> Dense::joined_with(const NamedLinop& next, const Seam& seam) const {
  const Dense* b = next.as<Dense>();
  if (!b || !is_like(*b)) return {};
  Dense both = *this;
  const auto axis = axis_of(weightshape, seam.dim, weight.ndim());
  if (!axis) return same_view(weight, b->weight) ? std::optional<NamedLinop>(both) : std::nullopt;
  if (weight.shape(*axis) != seam.first || b->weight.shape(*axis) != seam.second) return {};
  const auto wide = side_by_side(weight, b->weight, *axis);
  if (!wide) return {};
  both.weight = *wide;
  return both;
}

// Their weights lie at equal distances in one storage.
std::optional<NamedLinop> Dense::joined_stack(const std::vector<NamedLinop>& tiles,
                                              NamedDimension dim, const NamedShape& whole) const {
  const i64 n = std::ssize(tiles);
  i64 step = 0;
  for (i64 i = 0; i < n; ++i) {
    const Dense* d = tiles[static_cast<std::size_t>(i)].as<Dense>();
    if (!d || !is_like(*d) || !(d->weight.storage() == weight.storage()) ||
        d->weight.dtype() != weight.dtype() || d->weight.shape() != weight.shape() ||
        d->weight.layout().strides != weight.layout().strides)
      return {};
    const i64 away = d->weight.layout().offset - weight.layout().offset;
    if (i == 1) step = away;
    if (away != i * step || (i > 0 && step == 0)) return {};
  }
  Layout l = weight.layout().insert_axis(0);
  l.shape[0] = n;
  l.strides[0] = step;
  Dims named{dim};
  named.append(weightshape);
  return Dense(weight.view(l), named, whole.ishape, whole.oshape, broadcast_dims, conjugated);
}

}  // namespace tessera
