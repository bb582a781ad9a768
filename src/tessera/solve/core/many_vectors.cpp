// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/core/many_vectors.hpp"

#include <algorithm>

#include "tessera/linop/containers/chain.hpp"
#include "tessera/linop/ops/basic/dense.hpp"
#include "tessera/linop/ops/basic/matrix.hpp"
#include "tessera/linop/ops/basic/scalar.hpp"
#include "tessera/linop/ops/basic/simple_linop.hpp"
#include "tessera/matrix/forms/bit_dense.hpp"
#include "tessera/matrix/forms/packed.hpp"
#include "tessera/matrix/functions/diagonal_map.hpp"

namespace tessera {
namespace {

bool leads(const Dims& dims) { return !dims.empty() && dims[0].is_ellipses(); }

Dims led(const Dims& dims) {
  Dims all{NamedDimension::ellipses()};
  for (const NamedDimension d : dims) all.push_back(d);
  return all;
}

bool calls_a_function_without_names(const NamedLinop& a) {
  if (const SimpleLinop* f = a.as<SimpleLinop>()) return f->names.ishape.size() == 1;
  const std::vector<NamedLinop> parts = a.parts();
  return std::any_of(parts.begin(), parts.end(), calls_a_function_without_names);
}

// A matrix between two dims, with what passes through in front of both.
template <class T>
std::optional<NamedLinop> led_matrix(const NamedLinop& a) {
  const T* given = a.as<T>();
  if (!given) return std::nullopt;
  T many = *given;
  many.sides = MatrixSides(led(given->sides.names.ishape), led(given->sides.names.oshape));
  return NamedLinop(std::move(many));
}

std::optional<NamedLinop> with_leading_axis(const NamedLinop& a) {
  const Dims in = a.ishape(), out = a.oshape();
  if (leads(in) && leads(out))
    return calls_a_function_without_names(a) ? std::nullopt : std::optional(a);
  if (has_ellipses(in) || has_ellipses(out)) return std::nullopt;
  if (const Dense* d = a.as<Dense>())
    return Dense(d->weight, d->weightshape, led(in), led(out), d->broadcast_dims, d->conjugated);
  if (const Matrix* m = a.as<Matrix>()) {
    const auto inner = with_leading_axis(m->inner);
    return inner ? std::optional<NamedLinop>(Matrix(*inner, m->facts)) : std::nullopt;
  }
  if (const Scalar* s = a.as<Scalar>()) return Scalar(s->weight, led(in));
  if (const Chain* c = a.as<Chain>()) {
    std::vector<NamedLinop> parts;
    for (const NamedLinop& part : c->operators) {
      const auto many = with_leading_axis(part);
      if (!many) return std::nullopt;
      parts.push_back(*many);
    }
    return chain(std::move(parts));
  }
  if (auto many = led_matrix<BitDense>(a)) return many;
  if (auto many = led_matrix<Packed>(a)) return many;
  return led_matrix<DiagonalMap>(a);
}

}  // namespace

std::optional<NamedLinop> over_many(const NamedLinop& a, const Shape& shape) {
  const std::optional<NamedLinop> many = with_leading_axis(a);
  Shape two{2};
  for (const i64 n : shape) two.push_back(n);
  return many && many->output_shape(two) == two ? many : std::nullopt;
}

}  // namespace tessera
