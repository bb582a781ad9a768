// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/ops/basic/kronecker.hpp"

#include <algorithm>

#include "tessera/linop/core/algebra.hpp"
#include "tessera/linop/core/dim_sizes.hpp"

namespace tessera {
namespace {

Dims without_rest(const Dims& dims) {
  Dims d;
  for (NamedDimension n : dims)
    if (!n.is_ellipses()) d.push_back(n);
  return d;
}

// Sizes of a factor's own axes: input and output.
struct Sides {
  Shape in, out;
};

Sides sides_of(const NamedLinop& factor, const Shape& in) { return {in, factor.output_shape(in)}; }

// A view with the axes [first, first + count) where `names` wants its dims and all others at "...".
Layout gathered(const Layout& l, i64 first, const Dims& names) {
  Shape order;
  i64 own = first;
  const i64 count = without_rest(names).size();
  for (NamedDimension d : names) {
    if (!d.is_ellipses()) {
      order.push_back(own++);
      continue;
    }
    for (i64 a = 0; a < l.ndim(); ++a)
      if (a < first || a >= first + count) order.push_back(a);
  }
  return l.permute(order);
}

// Every position along the other axes in turn.
void record_each(Recorder& r, const NamedLinop& a, const View& x, const View& y, i64 first, i64 in,
                 i64 out) {
  if (x.layout.ndim() == in) return a.record(r, x, y);
  const i64 x_axis = first > 0 ? 0 : in, y_axis = first > 0 ? 0 : out;
  for (i64 k = 0; k < x.shape()[x_axis]; ++k)
    record_each(r, a, sub_view(x, x.layout.select(x_axis, k)),
                sub_view(y, y.layout.select(y_axis, k)), first > 0 ? first - 1 : 0, in, out);
}

void record_factor(Recorder& r, const NamedLinop& a, const View& x, const View& y, i64 first) {
  const std::optional<NamedLinop> open =
      has_ellipses(a.ishape()) ? std::optional(a) : a.offers().opened();
  if (open) {
    const NamedShape s = open->shape();
    return open->record(r, sub_view(x, gathered(x.layout, first, s.ishape)),
                        sub_view(y, gathered(y.layout, first, s.oshape)));
  }
  record_each(r, a, x, y, first, a.ishape().size(), a.oshape().size());
}

}  // namespace

Kronecker::Kronecker(std::vector<NamedLinop> given) {
  require<ArgumentError>(!given.empty(), "Kronecker: no factors given");
  for (NamedLinop& f : given) {
    if (const Kronecker* inner = f.as<Kronecker>())
      factors.insert(factors.end(), inner->factors.begin(), inner->factors.end());
    else
      factors.push_back(std::move(f));
  }
  for (const NamedLinop& f : factors)
    require<DimError>(!without_rest(dims_of(f.shape())).empty(), "Kronecker: ", f,
                      " has no dim of its own to act on; give it a name");
  for (std::size_t i = 0; i < factors.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      for (NamedDimension d : factors[i].dims())
        require<DimError>(d.is_ellipses() || !contains(factors[j].dims(), d),
                          "Kronecker: ", factors[j], " and ", factors[i], " share the dim '", d,
                          "'; rename it in one of them");
}

NamedShape Kronecker::shape() const {
  NamedShape s{Dims{}, Dims{}};
  for (const NamedLinop& f : factors)
    s = s + NamedShape(without_rest(f.ishape()), without_rest(f.oshape()));
  return s;
}

std::optional<i64> Kronecker::size(NamedDimension d) const {
  for (const NamedLinop& f : factors)
    if (contains(f.dims(), d)) return f.size(d);
  return std::nullopt;
}

std::optional<Device> Kronecker::device() const {
  for (const NamedLinop& f : factors)
    if (const auto d = f.device()) return d;
  return std::nullopt;
}

Shape Kronecker::output_shape(const Shape& input) const {
  Shape out;
  i64 at = 0;
  for (const NamedLinop& f : factors) {
    const i64 n = without_rest(f.ishape()).size();
    out.append(f.output_shape(Shape(input.begin() + at, input.begin() + at + n)));
    at += n;
  }
  return out;
}

DType Kronecker::output_dtype(DType t) const {
  for (const NamedLinop& f : factors) t = f.output_dtype(t);
  return t;
}

void Kronecker::apply(Recorder& r, const View& x, const View& y) const {
  std::vector<Sides> sides;
  std::vector<bool> done(factors.size(), false);
  i64 at = 0;
  for (const NamedLinop& f : factors) {
    const i64 n = without_rest(f.ishape()).size();
    sides.push_back(sides_of(f, Shape(x.shape().begin() + at, x.shape().begin() + at + n)));
    at += n;
  }
  auto growth = [&](std::size_t i) {
    return static_cast<double>(count_of(sides[i].out)) /
           static_cast<double>(std::max<i64>(1, count_of(sides[i].in)));
  };
  View from = x;
  for (std::size_t step = 0; step < factors.size(); ++step) {
    std::size_t next = factors.size();
    for (std::size_t i = 0; i < factors.size(); ++i)
      if (!done[i] && (next == factors.size() || growth(i) < growth(next))) next = i;
    done[next] = true;
    Shape shape;
    i64 first = 0;
    for (std::size_t i = 0; i < factors.size(); ++i) {
      if (i == next) first = shape.size();
      shape.append(done[i] ? sides[i].out : sides[i].in);
    }
    const bool last = step + 1 == factors.size();
    const View to =
        last ? y : r.temporary(shape, factors[next].output_dtype(from.dtype), r.device(x));
    record_factor(r, factors[next], from, to, first);
    from = to;
  }
}

Kronecker Kronecker::adjoint() const {
  std::vector<NamedLinop> h;
  for (const NamedLinop& f : factors) h.push_back(f.H());
  return Kronecker(std::move(h));
}

NamedLinop Kronecker::normal() const {
  // Each factor's normal; what their fresh names would share is renamed.
  const NamedShape whole = shape().N();
  std::vector<NamedLinop> normals;
  i64 at = 0;
  for (const NamedLinop& f : factors) {
    NamedLinop n = f.N();
    // A factor without inputs (a vector): its normal is a number, which no product has as a factor.
    // One after the other, as operators that no rule takes for a pair and asks for this again.
    if (without_rest(dims_of(n.shape())).empty())
      return chain({NamedLinop(*this), NamedLinop(adjoint())});
    const Dims out = without_rest(n.oshape());
    Renames r;
    for (i64 i = 0; i < out.size(); ++i, ++at)
      if (!contains(n.ishape(), out[i]) && !(out[i] == whole.oshape[at]))
        r.emplace_back(out[i], whole.oshape[at]);
    normals.push_back(r.empty() ? n : n.rename(r));
  }
  return Kronecker(std::move(normals));
}

bool Kronecker::isometry() const {
  return std::all_of(factors.begin(), factors.end(),
                     [](const NamedLinop& f) { return f.isometry(); });
}

Kronecker Kronecker::renamed(const Renames& r) const {
  std::vector<NamedLinop> all;
  for (const NamedLinop& f : factors) all.push_back(f.rename(r));
  return Kronecker(std::move(all));
}

NamedLinop Kronecker::split(const Tile& tile) const {
  std::vector<NamedLinop> all;
  for (const NamedLinop& f : factors) all.push_back(f.split(tile.only(f.dims())));
  return Kronecker(std::move(all));
}

}  // namespace tessera
