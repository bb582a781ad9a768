// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/core/binding.hpp"

#include <algorithm>

namespace tessera {
namespace {

i64 ellipses_count(const Dims& dims) {
  return std::count_if(dims.begin(), dims.end(), [](NamedDimension d) { return d.is_ellipses(); });
}

}  // namespace

std::optional<i64> Binding::size(NamedDimension d) const {
  for (i64 i = 0; i < dims.size(); ++i)
    if (dims[i] == d) return sizes[i];
  return std::nullopt;
}

Binding bind_dims(std::string_view who, const Dims& dims, const Shape& shape) {
  const i64 open = ellipses_count(dims), named = dims.size() - open, rest = shape.size() - named;
  if (open > 1 || (open == 1 ? rest < 0 : rest != 0)) {  // texts take longer than all the rest
    require<DimError>(open <= 1, who, ": dims ", to_text(dims), " hold more than one '...'");
    throw DimError(cat(who, ": expected an array with dims ", to_text(dims), ", got shape ", shape,
                       " with ", shape.size(), " axes"));
  }
  Binding b;
  i64 axis = 0;
  for (NamedDimension d : dims) {
    if (d.is_ellipses()) {
      for (i64 k = 0; k < rest; ++k) b.rest.push_back(shape[axis++]);
      continue;
    }
    const std::optional<i64> known = b.size(d);
    require<DimError>(!known || *known == shape[axis] || d == NamedDimension("()"), who, ": dim '",
                      d, "' appears with sizes ", known.value_or(0), " and ", shape[axis],
                      " in shape ", shape);
    b.dims.push_back(d);
    b.sizes.push_back(shape[axis++]);
  }
  return b;
}

Shape sizes_of(std::string_view who, const Dims& dims, const Binding& binding,
               const std::function<std::optional<i64>(NamedDimension)>& size_of) {
  Shape shape;
  for (NamedDimension d : dims) {
    if (d.is_ellipses()) {
      shape.append(binding.rest);
      continue;
    }
    std::optional<i64> n = binding.size(d);
    if (!n) n = size_of(d);
    require<DimError>(n.has_value(), who, ": the size of dim '", d,
                      "' is not known from the input");
    shape.push_back(*n);
  }
  return shape;
}

std::optional<i64> axis_of(const Dims& dims, NamedDimension d, i64 ndim) {
  const i64 rest = ndim - (dims.size() - ellipses_count(dims));
  i64 axis = 0;
  for (NamedDimension name : dims) {
    if (name == d) return axis;
    axis += name.is_ellipses() ? rest : 1;
  }
  return std::nullopt;
}

std::optional<NamedDimension> across(const NamedShape& names, NamedDimension d) {
  const Dims &in = names.ishape, &out = names.oshape;
  for (i64 back = 1; back <= std::min(in.size(), out.size()); ++back) {
    const NamedDimension a = in[in.size() - back], b = out[out.size() - back];
    if (a.is_ellipses() || b.is_ellipses()) break;
    if (a == b || a.is_wildcard() || b.is_wildcard()) continue;
    if (a == d) return b;
    if (b == d) return a;
  }
  return std::nullopt;
}

}  // namespace tessera
