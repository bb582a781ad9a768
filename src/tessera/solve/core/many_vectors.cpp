// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/core/many_vectors.hpp"

#include <algorithm>

#include "tessera/linop/ops/basic/simple_linop.hpp"

namespace tessera {
namespace {

bool leads(const Dims& dims) { return !dims.empty() && dims[0].is_ellipses(); }

bool calls_a_function_without_names(const NamedLinop& a) {
  if (const SimpleLinop* f = a.as<SimpleLinop>()) return f->names.ishape.size() == 1;
  const std::vector<NamedLinop> parts = a.parts();
  return std::any_of(parts.begin(), parts.end(), calls_a_function_without_names);
}

std::optional<NamedLinop> with_leading_axis(const NamedLinop& a) {
  const Dims in = a.ishape(), out = a.oshape();
  if (leads(in) && leads(out))
    return calls_a_function_without_names(a) ? std::nullopt : std::optional(a);
  if (has_ellipses(in) || has_ellipses(out)) return std::nullopt;
  return a.offers().opened();
}

}  // namespace

std::optional<NamedLinop> over_many(const NamedLinop& a, const Shape& shape) {
  const std::optional<NamedLinop> many = with_leading_axis(a);
  Shape two{2};
  for (const i64 n : shape) two.push_back(n);
  return many && many->output_shape(two) == two ? many : std::nullopt;
}

}  // namespace tessera
