// SPDX-License-Identifier: Apache-2.0
// W^H W of a Dense as one weight.
#include "tessera/base/config.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/matmul/matmul.hpp"
#include "tessera/linop/core/dim_sizes.hpp"
#include "tessera/linop/ops/basic/dense.hpp"
#include "tessera/linop/rewrite/grid_names.hpp"

namespace tessera {
namespace {

// Dims of a weight by what becomes of them.
struct GramGroups {
  Dims batch, born, dead;

  GramGroups(const Dims& dims, const NamedShape& names) {
    for (NamedDimension d : dims) {
      const bool in = contains(names.ishape, d), out = contains(names.oshape, d);
      (in && out ? batch : in ? dead : born).push_back(d);
    }
  }
};

struct NamedArray {
  Array array;
  Dims dims;
  Shape sizes(const Dims& of) const {
    Shape s;
    for (NamedDimension d : of) s.push_back(array.shape(*axis_of(dims, d, array.ndim())));
    return s;
  }
  // With these dims in front, of size 1.
  NamedArray with(const Dims& more) const {
    Layout l = array.layout();
    for (i64 i = 0; i < more.size(); ++i) l = l.insert_axis(0);
    return {array.view(l), joined(more, dims)};
  }
  // (…, outputs, inputs)
  Array as_matrices(const GramGroups& g) const {
    Shape shape = sizes(g.batch);
    shape.push_back(count_of(sizes(g.born)));
    shape.push_back(count_of(sizes(g.dead)));
    return array.view(aligned(array.layout(), dims, joined(joined(g.batch, g.born), g.dead)))
        .reshape(shape);
  }
};

// What a weight of arrays with these dims multiplies by, point by point, without the axes along
// which it does not vary; no where others have no name or may have any size.
std::optional<NamedArray> named_product(const NamedLinop& weight, const Dims& of,
                                        const Dims& any_size, DType dtype) {
  const std::optional<Shape> shape = weight.offers().weight_shape();
  if (!shape || shape->size() > of.size()) return std::nullopt;
  Dims varies;
  Shape kept;
  for (i64 i = 0; i < shape->size(); ++i) {
    const NamedDimension d = of[of.size() - shape->size() + i];
    if (d.is_ellipses()) return std::nullopt;
    if ((*shape)[i] == 1) continue;
    if (contains(any_size, d)) return std::nullopt;
    varies.push_back(d);
    kept.push_back((*shape)[i]);
  }
  return NamedArray{weight.offers().product(dtype).reshape(kept), varies};
}

Axes last_two_swapped(i64 rank) {
  Axes order;
  for (i64 i = 0; i < rank - 2; ++i) order.push_back(i);
  order.push_back(rank - 1);
  order.push_back(rank - 2);
  return order;
}

}  // namespace

bool Dense::gram_pays() const {
  return config().rewrite_gram && !GramGroups(weightshape, names).born.empty();
}

std::optional<NamedLinop> Dense::gram(const NamedLinop* between) const {
  const DType given = weight.dtype();
  if (given == DType::f16 || given == DType::bf16) return std::nullopt;
  // Nor could short integers, whatever x is.
  const DType wide = is_inexact(given) || given == DType::u64 ? given : DType::i64;
  NamedArray w{conjugated ? ops::conj(weight.astype(wide)) : weight.astype(wide), weightshape};
  Array weighed = w.array;
  if (between) {
    const auto v = named_product(*between, names.oshape, broadcast_dims, wide);
    if (!v) return std::nullopt;
    Dims more;
    for (NamedDimension d : v->dims)
      if (!contains(weightshape, d)) more.push_back(d);
    w = w.with(more);
    weighed = ops::multiply(w.array, v->array.view(aligned(v->array.layout(), v->dims, w.dims)));
  }
  const GramGroups groups(w.dims, names);
  // More inputs than twice the outputs: W and then W^H is less than a matrix between inputs.
  if (groups.dead.empty() || count_of(w.sizes(groups.dead)) > 2 * count_of(w.sizes(groups.born)))
    return std::nullopt;
  const Array rows = w.as_matrices(groups),
              g = matmul(ops::conj(rows).permute(last_two_swapped(rows.ndim())),
                         NamedArray{weighed, w.dims}.as_matrices(groups));
  Dims fresh, taken = dims_of(names);
  Renames to_fresh;
  for (NamedDimension d : groups.dead) {
    fresh.push_back(d.next_unused(taken));
    taken.push_back(fresh.back());
    to_fresh.emplace_back(d, fresh.back());
  }
  Shape full(g.shape().begin(), g.shape().end() - 2);
  for (int side = 0; side < 2; ++side) full.append(w.sizes(groups.dead));
  return Dense(g.reshape(full), joined(joined(groups.batch, fresh), groups.dead), names.ishape,
               rename(names.ishape, to_fresh), broadcast_dims);
}

}  // namespace tessera
