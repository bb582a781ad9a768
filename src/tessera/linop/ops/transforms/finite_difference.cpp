// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/ops/transforms/finite_difference.hpp"

#include <algorithm>

#include "tessera/linop/core/dim_sizes.hpp"

namespace tessera {
namespace {

// y[i] = scale (x[i + plus] - x[i + minus]).
struct Stencil {
  i64 plus, minus;
  double scale;
};

Stencil stencil_of(Difference d) {
  switch (d) {
    case Difference::forward: return {1, 0, 1};
    case Difference::backward: return {0, -1, 1};
    default: return {1, -1, 0.5};
  }
}

struct Term {
  i64 at;
  double factor;
  friend bool operator==(const Term&, const Term&) = default;
};
using Terms = std::vector<Term>;

void add_term(Terms& terms, i64 at, double factor) {
  const auto it =
      std::find_if(terms.begin(), terms.end(), [&](const Term& t) { return t.at == at; });
  if (it == terms.end())
    terms.push_back({at, factor});
  else if ((it->factor += factor) == 0)
    terms.erase(it);
}

// Where element i of the continued input comes from; nothing for zeros.
std::optional<i64> source(i64 i, i64 n, Edge edge) {
  if (i >= 0 && i < n) return i;
  if (edge == Edge::circular) return ((i % n) + n) % n;
  if (edge == Edge::replicate) return std::clamp<i64>(i, 0, n - 1);
  return std::nullopt;
}

// Row i of the matrix.
Terms row(i64 i, i64 n, const Stencil& s, Edge edge) {
  Terms terms;
  if (const auto at = source(i + s.plus, n, edge)) add_term(terms, *at, s.scale);
  if (const auto at = source(i + s.minus, n, edge)) add_term(terms, *at, -s.scale);
  return terms;
}

// Row j of its transpose: the rows that can hold column j are its neighbours and the ends.
Terms column(i64 j, i64 n, const Stencil& s, Edge edge) {
  Terms terms;
  std::vector<i64> rows;
  for (i64 i : {j - s.plus, j - s.minus, i64{0}, n - 1}) {
    const i64 near = ((i % n) + n) % n;
    if (std::find(rows.begin(), rows.end(), near) == rows.end()) rows.push_back(near);
  }
  for (i64 i : rows)
    for (const Term& t : row(i, n, s, edge))
      if (t.at == j) add_term(terms, i, t.factor);
  return terms;
}

View slice(const View& v, i64 axis, i64 start, i64 length) {
  return sub_view(v, v.layout.slice(axis, start, length));
}

void record_row(Recorder& r, const View& x, const View& y, i64 axis, const Terms& terms) {
  if (terms.empty()) return record::fill(r, Value(0), y);
  record::scale(r, Value(terms[0].factor), slice(x, axis, terms[0].at, 1), y);
  for (std::size_t k = 1; k < terms.size(); ++k)
    record::multiply_add(r, Value(terms[k].factor), slice(x, axis, terms[k].at, 1), y, y);
}

}  // namespace

void record_difference(Recorder& r, const View& x, const View& y, i64 axis, Difference mode,
                       Edge edge, bool transposed) {
  const i64 n = x.shape()[axis];
  const Stencil s = stencil_of(mode);
  const i64 plus = transposed ? -s.plus : s.plus, minus = transposed ? -s.minus : s.minus;
  auto terms = [&](i64 i) { return transposed ? column(i, n, s, edge) : row(i, n, s, edge); };
  auto regular = [&](i64 i) {
    const Terms t = terms(i);
    return t.size() == 2 && std::find(t.begin(), t.end(), Term{i + plus, s.scale}) != t.end() &&
           std::find(t.begin(), t.end(), Term{i + minus, -s.scale}) != t.end();
  };
  i64 first = 0, last = n;
  for (; first < last && !regular(first); ++first)
    record_row(r, x, slice(y, axis, first, 1), axis, terms(first));
  for (; first < last && !regular(last - 1); --last)
    record_row(r, x, slice(y, axis, last - 1, 1), axis, terms(last - 1));
  if (first == last) return;
  const View inside = slice(y, axis, first, last - first);
  record::subtract(r, slice(x, axis, first + plus, last - first),
                   slice(x, axis, first + minus, last - first), inside);
  if (s.scale != 1) record::scale(r, Value(s.scale), inside, inside);
}

std::string_view name(Difference d) {
  constexpr std::string_view names[] = {"forward", "backward", "central"};
  return names[static_cast<int>(d)];
}

std::string_view name(Edge e) {
  constexpr std::string_view names[] = {"zero", "circular", "replicate"};
  return names[static_cast<int>(e)];
}

Difference parse_difference(std::string_view who, std::string_view text) {
  for (Difference d : {Difference::forward, Difference::backward, Difference::central})
    if (name(d) == text) return d;
  throw ArgumentError(cat(who, ": mode is 'forward', 'backward' or 'central', got '", text, "'"));
}

Edge parse_edge(std::string_view who, std::string_view text) {
  for (Edge e : {Edge::zero, Edge::circular, Edge::replicate})
    if (name(e) == text) return e;
  throw ArgumentError(cat(who, ": edge is 'zero', 'circular' or 'replicate', got '", text, "'"));
}

FiniteDifference::FiniteDifference(NamedDimension d, Dims ishape, Dims oshape, Difference m, Edge e)
    : dim(d), mode(m), edge(e) {
  names = NamedShape(ishape, mixed_output("FiniteDifference", ishape, oshape, {d}));
}

void FiniteDifference::apply(Recorder& r, const View& x, const View& y) const {
  record_difference(r, x, y, *axis_of(names.ishape, dim, x.layout.ndim()), mode, edge, transposed);
}

FiniteDifference FiniteDifference::adjoint() const {
  FiniteDifference a = *this;
  a.dim = names.oshape[*axis_of(names.ishape, dim, names.ishape.size())];
  a.names = names.H();
  a.transposed = !transposed;
  return a;
}

FiniteDifference FiniteDifference::renamed(const Renames& r) const {
  FiniteDifference a = *this;
  a.dim = rename({dim}, r)[0];
  a.names = names.renamed(r);
  return a;
}

std::string FiniteDifference::details() const {
  return cat(name(mode), ", edge ", name(edge), transposed ? ", transposed" : "");
}

}  // namespace tessera
