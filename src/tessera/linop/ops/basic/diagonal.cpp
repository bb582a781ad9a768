// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/ops/basic/diagonal.hpp"

#include <array>

#include "tessera/linop/core/dim_sizes.hpp"
#include "tessera/linop/core/side_by_side.hpp"
#include "tessera/plan/record_sums.hpp"

namespace tessera {
namespace {

// The result's dtype of a factor times t.
DType result_dtype(const Diagonal::Factor& f, DType t) {
  const DType w = f.squared ? real_of(f.weight.dtype()) : f.weight.dtype();
  if (!f.follows) return promote(t, w);
  if (is_complex(w)) return complex_of(t);
  return is_inexact(t) ? t : DType::f64;
}

// The dtype in which a factor meets data of dtype `data`.
DType weight_dtype(const Diagonal::Factor& f, DType data) {
  const DType w = f.weight.dtype();
  if (!f.follows) return promote(w, real_of(data));
  return is_complex(w) ? complex_of(data) : real_of(data);
}

bool is_one(const Value& v) {
  const c128 c = v.as<c128>();
  return v.kind() != Value::Kind::complex && c.re == 1;
}

// The part of an array that is aligned to the right of `dims`; axes of size 1 stay whole.
Array part_of_weight(const Array& w, const Dims& dims, const Tile& tile) {
  Array part = w;
  for (i64 back = 1; back <= std::min<i64>(dims.size(), w.ndim()); ++back) {
    const NamedDimension d = dims[dims.size() - back];
    if (d.is_ellipses()) break;
    const i64 axis = w.ndim() - back;
    if (const Cut* c = tile.find(d); c && w.shape(axis) != 1)
      part = part.slice(axis, c->start, c->stop);
  }
  return part;
}

// An axis of the weight means the same dim for inputs of any rank.
bool fixed_alignment(const Shape& weight, const Dims& names) {
  i64 named = 0;  // dims to the right of "..."
  while (named < names.size() && !names[names.size() - 1 - named].is_ellipses()) ++named;
  if (named + 1 >= names.size()) return true;  // no "...", or it comes first
  i64 axes = weight.size();
  while (axes > 0 && weight[weight.size() - axes] == 1) --axes;
  return axes <= named;
}

}  // namespace

Diagonal::Diagonal(Array w, Dims ioshape, Dims broadcast)
    : factors{{std::move(w)}}, names(std::move(ioshape)), broadcast_dims(std::move(broadcast)) {
  const Array& weight = factors.front().weight;
  require<DimError>(has_ellipses(names.ishape) || weight.ndim() <= names.ishape.size(), "Diagonal ",
                    to_text(names.ishape), ": the weight has shape ", weight.shape(),
                    ", more axes than there are dims");
  require<DimError>(fixed_alignment(weight.shape(), names.ishape), "Diagonal ",
                    to_text(names.ishape), ": the weight of shape ", weight.shape(),
                    " reaches '...' from the right, so that it would weigh another axis for each "
                    "rank of the input; name the dims, or put '...' first");
  check_distinct(cat("Diagonal ", to_text(names.ishape)), names.ishape);
  check_distinct(cat("Diagonal ", to_text(names.ishape), " broadcast"), broadcast_dims);
  for (NamedDimension d : broadcast_dims)
    require<DimError>(contains(names.ishape, d), "Diagonal ", to_text(names.ishape),
                      ": broadcast dim '", d, "' is not one of its dims");
}

Shape Diagonal::weight_shape() const {
  Shape s = factors.front().weight.shape();
  for (const Factor& f : factors) s = broadcast_shapes(s, f.weight.shape());
  return s;
}

Diagonal Diagonal::from_weight(const Array& weight, const Dims& weight_shape, Dims ioshape,
                               const DimSizes& sizes) {
  const std::string who = cat("Diagonal.from_weight ", to_text(ioshape));
  require<DimError>(weight_shape.size() == weight.ndim() && !has_ellipses(weight_shape), who,
                    ": the weight of shape ", weight.shape(), " has the names ",
                    to_text(weight_shape));
  check_distinct(who, weight_shape);
  check_distinct(who, ioshape);
  check_sizes(who, sizes, ioshape);
  Dims target;
  for (i64 i = 0; i < ioshape.size(); ++i) {
    require<DimError>(!ioshape[i].is_ellipses() || i == 0, who, ": '...' must come first");
    if (!ioshape[i].is_ellipses()) target.push_back(ioshape[i]);
  }
  for (NamedDimension d : weight_shape)
    require<DimError>(contains(target, d), who, ": dim '", d, "' of the weight is not among them");
  Layout l = aligned(weight.layout(), weight_shape, target);
  for (i64 i = 0; i < target.size(); ++i) {
    const i64 n = size_in(sizes, target[i]).value_or(l.shape[i]);
    require<DimError>(n == l.shape[i] || l.shape[i] == 1, who, ": dim '", target[i], "' has ",
                      l.shape[i], " elements in the weight, the size given is ", n);
    if (l.shape[i] == 1) l.strides[i] = 0;
    l.shape[i] = n;
  }
  return Diagonal(weight.view(l), std::move(ioshape));
}

std::optional<i64> Diagonal::size(NamedDimension d) const {
  if (contains(broadcast_dims, d)) return std::nullopt;
  const Shape weight = weight_shape();
  for (i64 back = 1; back <= std::min<i64>(names.ishape.size(), weight.size()); ++back) {
    const NamedDimension name = names.ishape[names.ishape.size() - back];
    if (name.is_ellipses()) break;  // left of it the weight's axes are not named
    const i64 n = weight[weight.size() - back];
    if (name == d) return n == 1 ? std::nullopt : std::optional(n);
  }
  return std::nullopt;
}

Shape Diagonal::output_shape(const Shape& input) const {
  const Shape weight = weight_shape();
  require<DimError>(weight.size() <= input.size(), "Diagonal ", to_text(names.ishape),
                    ": the weight of shape ", weight, " has more axes than the input of shape ",
                    input);
  for (i64 back = 1; back <= weight.size(); ++back) {
    const i64 w = weight[weight.size() - back], n = input[input.size() - back];
    require<DimError>(w == n || w == 1, "Diagonal ", to_text(names.ishape),
                      ": the weight has shape ", weight, ", the input ", input, "; axis ",
                      input.size() - back, " is ", n, ", expected ", w);
  }
  return input;
}

DType Diagonal::output_dtype(DType t) const {
  for (const Factor& f : factors) t = result_dtype(f, t);
  if (is_one(scale)) return t;
  if (scale.kind() == Value::Kind::complex) return complex_of(t);
  return is_inexact(t) ? t : DType::f64;
}

// Beside the product little more than one array of its size is held while it is formed: a plan is
// made within the memory of its runs.
Array Diagonal::product(DType data) const {
  const auto formed = [&](const Factor& f) {
    Array w = f.weight.astype(weight_dtype(f, data));
    return f.squared ? ops::abs2(w) : f.conjugated ? ops::conj(w) : w;
  };
  if (factors.size() == 1) {
    const Array w = formed(factors.front());
    return is_one(scale) ? w : ops::multiply(w, scale);
  }
  DType t = DType::b1;
  for (const Factor& f : factors) {
    const DType w = weight_dtype(f, data);
    t = promote(t, f.squared ? real_of(w) : w);
  }
  if (scale.kind() == Value::Kind::complex) t = complex_of(t);
  if (!is_one(scale) && !is_inexact(t)) t = DType::f64;
  // Factors along few axes meet first, the scale among them: one pass writes the whole.
  const Shape whole = weight_shape();
  std::size_t i = 0;
  Array few = formed(factors.front());
  const bool scales_few = !is_one(scale) && few.shape() != whole;
  if (scales_few) few = ops::multiply(few.astype(t), scale);
  const auto with_next = [&] {
    return broadcast_shapes(few.shape(), factors[i + 1].weight.shape());
  };
  while (i + 2 < factors.size() && with_next() != whole)
    few = ops::multiply(few, formed(factors[++i]));
  const Array all = Array::empty(whole, t, factors.front().weight.device());
  if (few.shape() == whole)
    elementwise(ElementOp::copy, std::array<ArrayOrValue, 1>{few}, all);
  else
    elementwise(ElementOp::multiply, std::array<ArrayOrValue, 2>{few, formed(factors[++i])}, all);
  for (++i; i < factors.size(); ++i)
    elementwise(ElementOp::multiply, std::array<ArrayOrValue, 2>{all, formed(factors[i])}, all);
  if (!is_one(scale) && !scales_few)
    elementwise(ElementOp::multiply, std::array<ArrayOrValue, 2>{all, scale}, all);
  return all;
}

// One factor as it is: its array is read, and nothing is formed when a plan is made.
bool Diagonal::plain() const {
  return factors.size() == 1 && !factors.front().squared && is_one(scale);
}

View Diagonal::constant(Recorder& r, DType data) const {
  const Factor& first = factors.front();
  if (!plain()) return r.constant(product(data));
  return r.constant(first.follows ? first.weight.astype(weight_dtype(first, data)) : first.weight);
}

void Diagonal::apply(Recorder& r, const View& x, const View& y) const {
  const View w = constant(r, y.dtype);
  plain() && factors.front().conjugated ? record::conj_multiply(r, w, x, y)
                                        : record::multiply(r, w, x, y);
}

bool Diagonal::apply_add(Recorder& r, const View& x, const View& y) const {
  if (plain() && factors.front().conjugated) return false;
  record::add_product(r, constant(r, y.dtype), x, y);
  return true;
}

Diagonal Diagonal::adjoint() const {
  Diagonal a = *this;
  for (Factor& f : a.factors)
    f.conjugated = !f.squared && !f.conjugated && is_complex(f.weight.dtype());
  if (scale.kind() == Value::Kind::complex) a.scale = Value(conj(scale.as<c128>()));
  return a;
}

Diagonal Diagonal::following() const {
  Diagonal a = *this;
  for (Factor& f : a.factors) f.follows = true;
  return a;
}

// w and conj(w) meet in |w|^2, which is real.
void Diagonal::include(const Factor& f) {
  for (Factor& mine : factors)
    if (same_view(mine.weight, f.weight) && mine.follows == f.follows && !mine.squared &&
        !f.squared && (mine.conjugated != f.conjugated || !is_complex(f.weight.dtype()))) {
      mine.squared = true;
      mine.conjugated = false;
      return;
    }
  factors.push_back(f);
}

std::optional<NamedLinop> Diagonal::merged_with(const NamedLinop& other) const {
  const Diagonal* next = other.as<Diagonal>();
  if (!next) return std::nullopt;
  const Shape a = weight_shape(), b = next->weight_shape(), both = broadcast_shapes(a, b);
  if (count_of(both) > std::max(count_of(a), count_of(b))) return std::nullopt;
  Diagonal p = with_names(resolve_wildcards(names.ishape, next->names.ishape));
  for (const Factor& f : next->factors) p.include(f);
  p.scale = factor_product(scale, next->scale);
  p.broadcast_dims = {};
  for (NamedDimension d : broadcast_dims)
    if (contains(next->broadcast_dims, d)) p.broadcast_dims.push_back(d);
  return p;
}

Diagonal Diagonal::scaled(const Value& by) const {
  Diagonal d = *this;
  d.scale = factor_product(scale, by);
  return d;
}

Diagonal Diagonal::with_names(const Dims& ioshape) const {
  Diagonal d = *this;
  d.names = NamedShape(ioshape);
  return d;
}

std::optional<NamedLinop> Diagonal::settled(const NamedShape& n) const {
  if (!(n.ishape == n.oshape)) return std::nullopt;
  return with_names(n.ishape);
}

Diagonal Diagonal::opened() const { return with_names(behind_ellipses(names.ishape)); }

std::optional<NamedLinop> Diagonal::weight_on(const Dims& ioshape, const AxisRanges& kept) const {
  Diagonal d = with_names(ioshape);
  d.broadcast_dims = {};
  for (Factor& f : d.factors) {
    for (i64 back = 1; back <= std::min(std::ssize(kept), f.weight.ndim()); ++back) {
      const i64 axis = f.weight.ndim() - back;
      const AxisRange& range = kept[kept.size() - static_cast<std::size_t>(back)];
      if (f.weight.shape(axis) != 1) f.weight = f.weight.slice(axis, range.start, range.stop);
    }
    const i64 left = has_ellipses(ioshape) ? 0 : f.weight.ndim() - ioshape.size();
    for (i64 i = 0; i < left; ++i)
      if (f.weight.shape(i) != 1) return std::nullopt;
    if (left > 0)
      f.weight = f.weight.reshape(Shape(f.weight.shape().begin() + left, f.weight.shape().end()));
  }
  return d;
}

bool Diagonal::ignores_axis(i64 axis) const {
  for (const Factor& factor : factors) {
    const Layout& w = factor.weight.layout();
    const i64 own = w.ndim() - axis;
    if (own >= 0 && w.shape[own] != 1 && w.strides[own] != 0) return false;
  }
  return true;
}

std::optional<NamedLinop> Diagonal::joined_with(const NamedLinop& next, const Seam& seam) const {
  const Diagonal* b = seam.both_sides ? next.as<Diagonal>() : nullptr;
  if (!b || !same_names(names, b->names) || !(broadcast_dims == b->broadcast_dims) ||
      factors.size() != b->factors.size() || !same_value(scale, b->scale))
    return {};
  const Dims& own = names.ishape;
  i64 back = 0;  // from the right, where weights are aligned
  for (i64 i = own.size(); i-- > 0 && !own[i].is_ellipses();)
    if (own[i] == seam.dim) back = own.size() - i;
  if (back == 0) return {};
  Diagonal both = *this;
  for (std::size_t k = 0; k < factors.size(); ++k) {
    const Factor &f = factors[k], &g = b->factors[k];
    if (f.conjugated != g.conjugated || f.squared != g.squared || f.follows != g.follows) return {};
    const i64 axis = f.weight.ndim() - back;
    // What applies to any size along the dim is the same for both.
    if (same_view(f.weight, g.weight) && (axis < 0 || f.weight.shape(axis) == 1)) continue;
    if (axis < 0 || f.weight.shape(axis) != seam.first || g.weight.shape(axis) != seam.second)
      return {};
    const auto weight = side_by_side(f.weight, g.weight, axis);
    if (!weight) return {};
    both.factors[k].weight = *weight;
  }
  return both;
}

NamedLinop Diagonal::normal() const {
  Diagonal n = *this;
  for (const Factor& f : adjoint().factors) n.include(f);
  const c128 c = scale.as<c128>();
  n.scale = Value(c.re * c.re + c.im * c.im);
  return n;
}

Diagonal Diagonal::from_state(std::vector<Factor> f, Value s, const Dims& ioshape,
                              const Dims& broadcast) {
  require<ArgumentError>(!f.empty(), "Diagonal ", to_text(ioshape), ": no weight");
  for (const Factor& one : f) (void)Diagonal(one.weight, ioshape, broadcast);
  Diagonal a(f.front().weight, ioshape, broadcast);
  a.factors = std::move(f);
  a.scale = s;
  (void)a.weight_shape();
  return a;
}

Diagonal Diagonal::renamed(const Renames& r) const {
  Diagonal a = *this;
  a.names = NamedShape(rename(names.ishape, r));
  a.broadcast_dims = rename(broadcast_dims, r);
  return a;
}

Diagonal Diagonal::split(const Tile& tile) const {
  Diagonal part = *this;
  for (Factor& f : part.factors) f.weight = part_of_weight(f.weight, names.ishape, tile);
  return part;
}

Diagonal Diagonal::power(const Value& exponent) const {
  const Array w = product(factors.front().weight.dtype());
  return Diagonal(ops::power(w, exponent), names.ishape, broadcast_dims);
}

std::string Diagonal::details() const {
  std::string text = "weight";
  for (const Factor& f : factors)
    text += cat(&f == factors.data() ? " " : " · ", f.weight.shape(), " ", f.weight.dtype(),
                f.squared      ? " squared"
                : f.conjugated ? " conjugated"
                               : "");
  return is_one(scale) ? text : cat(text, " · ", scale);
}

}  // namespace tessera
