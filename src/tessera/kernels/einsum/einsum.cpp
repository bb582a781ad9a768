// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/einsum/einsum.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "tessera/kernels/eager.hpp"
#include "tessera/kernels/einsum/row_dots.hpp"
#include "tessera/kernels/einsum/subscripts.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/reduce/reduce.hpp"

namespace tessera {
namespace {

struct Term {
  Array array;
  Labels labels;  // one per axis, all different
};
using Sizes = std::map<int, i64>;

bool contains(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}
i64 axis_of(const Term& t, int label) {
  return std::find(t.labels.begin(), t.labels.end(), label) - t.labels.begin();
}

void note_size(Sizes& sizes, int label, i64 n, i64 operand) {
  auto [it, fresh] = sizes.try_emplace(label, n);
  if (fresh || n == 1 || it->second == n) return;
  require<ShapeError>(it->second == 1, "einsum: operand ", operand, " has size ", n, " along ",
                      label_text(label), ", another operand has size ", it->second);
  it->second = n;
}

// Axes that share a label become one that walks the diagonal.
Term diagonal(const Array& x, const Labels& labels, i64 operand) {
  Layout l;
  l.offset = x.layout().offset;
  Labels kept;
  for (i64 i = 0; i < labels.size(); ++i) {
    const i64 n = x.shape(i), step = n == 1 ? 0 : x.layout().strides[i];
    const auto it = std::find(kept.begin(), kept.end(), labels[i]);
    if (it == kept.end()) {
      kept.push_back(labels[i]);
      l.shape.push_back(n);
      l.strides.push_back(step);
      continue;
    }
    const i64 at = it - kept.begin();
    require<ShapeError>(n == l.shape[at] || n == 1 || l.shape[at] == 1, "einsum: dimensions in ",
                        "operand ", operand, " for collapsing index ", label_text(labels[i]),
                        " don't match (", l.shape[at], " != ", n, ")");
    l.shape[at] = std::max(l.shape[at], n);
    l.strides[at] += step;
  }
  if (x.size() == 0) return {Array::empty(l.shape, x.dtype(), x.device()), kept};
  return {x.view(std::move(l)), kept};
}

// An axis of size 1 under a label that is longer elsewhere says nothing: it goes.
void drop_broadcast(Term& t, const Sizes& sizes) {
  for (i64 i = t.labels.size() - 1; i >= 0; --i)
    if (t.array.shape(i) == 1 && sizes.at(t.labels[i]) != 1) {
      t.array = t.array.squeeze(i);
      t.labels.erase(i);
    }
}

// Sums over every label that is not in `keep`.
void sum_out(Term& t, const Labels& keep) {
  Axes axes;
  Labels rest;
  for (i64 i = 0; i < t.labels.size(); ++i) {
    if (contains(keep, t.labels[i]))
      rest.push_back(t.labels[i]);
    else
      axes.push_back(i);
  }
  if (axes.empty()) return;
  const bool logical = t.array.dtype() == DType::b1;
  t.array = logical ? reduce(ReduceOp::any, t.array, axes)
                    : reduce(ReduceOp::sum, t.array, axes, false, t.array.dtype());
  t.labels = rest;
}

// Axes in the order of `labels`; a label that the term lacks becomes an axis of size 1.
Array arranged(const Term& t, const Labels& labels) {
  Layout l;
  l.offset = t.array.layout().offset;
  for (int label : labels) {
    const i64 at = axis_of(t, label);
    const bool here = at < t.labels.size();
    l.shape.push_back(here ? t.array.shape(at) : 1);
    l.strides.push_back(here ? t.array.layout().strides[at] : 0);
  }
  return t.array.view(std::move(l));
}

// Which axes of two terms play which part in their product.
struct Roles {
  Labels batch, left, right, summed;
};
Roles roles_of(const Term& a, const Term& b, const Labels& keep) {
  Roles r;
  for (int l : a.labels)
    (!contains(b.labels, l) ? r.left : contains(keep, l) ? r.batch : r.summed).push_back(l);
  for (int l : b.labels)
    if (!contains(a.labels, l)) r.right.push_back(l);
  // Summed axes in the order in which they lie in a: then a needs no copy to merge them.
  const Strides& steps = a.array.layout().strides;
  std::stable_sort(r.summed.begin(), r.summed.end(), [&](int x, int y) {
    return std::abs(steps[axis_of(a, x)]) > std::abs(steps[axis_of(a, y)]);
  });
  return r;
}

Labels joined(std::initializer_list<const Labels*> parts) {
  Labels all;
  for (const Labels* p : parts) all.append(*p);
  return all;
}

i64 count_of(const Labels& labels, const Sizes& sizes) {
  i64 n = 1;
  for (int l : labels) n *= sizes.at(l);
  return n;
}

// Axes `first`..: merged into two at the end, those before stay as they are.
Array as_matrices(const Array& x, i64 batch, i64 rows, i64 columns) {
  Shape s(x.shape().begin(), x.shape().begin() + batch);
  s.push_back(rows);
  s.push_back(columns);
  return x.reshape(s);
}

Term product(const Term& a, const Term& b, const Labels& keep, const Labels& output,
             const Sizes& sizes) {
  const Roles r = roles_of(a, b, keep);
  if (r.summed.empty()) {
    Labels order;  // as the output has them, where it does
    for (int l : output)
      if (contains(a.labels, l) || contains(b.labels, l)) order.push_back(l);
    for (const Term* t : {&a, &b})
      for (int l : t->labels)
        if (!contains(order, l)) order.push_back(l);
    return {ops::multiply(arranged(a, order), arranged(b, order)), order};
  }
  const i64 m = count_of(r.left, sizes), n = count_of(r.right, sizes),
            k = count_of(r.summed, sizes), batch = r.batch.size();
  const Array x = as_matrices(arranged(a, joined({&r.batch, &r.left, &r.summed})), batch, m, k);
  const Array y = as_matrices(arranged(b, joined({&r.batch, &r.summed, &r.right})), batch, k, n);
  Shape full(x.shape().begin(), x.shape().begin() + batch);
  Shape split = full;
  full.push_back(m);
  full.push_back(n);
  const Array out = Array::empty(full, x.dtype(), x.device());
  const MatmulSpec spec{operand_of(x), operand_of(y), operand_of(out), false,
                        false,         {1, 0},        {0, 0}};
  if (out.size() > 0)
    launch_now(&KernelTable::matmul, "einsum", spec, out.device(), {&x, &y, &out});
  const Labels labels = joined({&r.batch, &r.left, &r.right});
  for (i64 i = batch; i < labels.size(); ++i) split.push_back(sizes.at(labels[i]));
  return {out.reshape(split), labels};
}

// Labels that a product of terms i and j must keep: those of the output and of the others.
Labels needed(const std::vector<Term>& terms, std::size_t i, std::size_t j, const Labels& output) {
  Labels keep = output;
  for (std::size_t t = 0; t < terms.size(); ++t)
    if (t != i && t != j)
      for (int l : terms[t].labels)
        if (!contains(keep, l)) keep.push_back(l);
  return keep;
}

// Greedy: the pair whose product shrinks the operands most; of equals, the cheapest.
std::pair<std::size_t, std::size_t> best_pair(const std::vector<Term>& terms, const Labels& output,
                                              const Sizes& sizes) {
  auto elements = [&](const Labels& labels) {
    double n = 1;
    for (int l : labels) n *= static_cast<double>(sizes.at(l));
    return n;
  };
  std::pair<std::size_t, std::size_t> best{0, 1};
  std::pair<double, double> lowest{0, 0};
  bool first = true;
  for (std::size_t i = 0; i < terms.size(); ++i)
    for (std::size_t j = i + 1; j < terms.size(); ++j) {
      const Roles r = roles_of(terms[i], terms[j], needed(terms, i, j, output));
      const double result = elements(joined({&r.batch, &r.left, &r.right}));
      const std::pair<double, double> cost{
          result - elements(terms[i].labels) - elements(terms[j].labels),
          result * elements(r.summed)};
      if (first || cost < lowest) {
        lowest = cost;
        best = {i, j};
        first = false;
      }
    }
  return best;
}

// The operand whose own axes the output names first goes left: its rows are the outer ones.
bool swap_operands(const Term& a, const Term& b, const Labels& output) {
  for (int l : output) {
    const bool in_a = contains(a.labels, l), in_b = contains(b.labels, l);
    if (in_a != in_b) return in_b;
  }
  return false;
}

}  // namespace

Array einsum(std::string_view subscripts, std::span<const Array> operands) {
  require<ArgumentError>(!operands.empty(), "einsum: no operands given for '", subscripts, "'");
  if (Array rows = row_dots(subscripts, operands)) return rows;
  std::vector<const Array*> arrays;
  std::vector<i64> ranks;
  std::vector<DType> dtypes;
  for (const Array& x : operands) {
    arrays.push_back(&x);
    ranks.push_back(x.ndim());
    dtypes.push_back(x.dtype());
  }
  const DType dtype = promote(dtypes);
  common_device("einsum", arrays);
  const Subscripts s = parse_subscripts(subscripts, ranks);
  Sizes sizes;
  std::vector<Term> terms;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    terms.push_back(diagonal(operands[i].astype(dtype), s.inputs[i], static_cast<i64>(i)));
    for (i64 d = 0; d < terms[i].labels.size(); ++d)
      note_size(sizes, terms[i].labels[d], terms[i].array.shape(d), static_cast<i64>(i));
  }
  for (Term& t : terms) drop_broadcast(t, sizes);
  for (std::size_t i = 0; i < terms.size(); ++i) sum_out(terms[i], needed(terms, i, i, s.output));
  while (terms.size() > 1) {
    auto [i, j] = best_pair(terms, s.output, sizes);
    const Labels keep = needed(terms, i, j, s.output);
    const bool swap = swap_operands(terms[i], terms[j], s.output);
    Term t = product(terms[swap ? j : i], terms[swap ? i : j], keep, s.output, sizes);
    sum_out(t, keep);
    terms[i] = std::move(t);
    terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(j));
  }
  return arranged(terms[0], s.output);
}

}  // namespace tessera
