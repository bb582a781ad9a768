// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names meet sizes: which axis of an array is which dim. "..." takes the axes that are left over.
//   Binding b = bind_dims("FFT", dims("...NxNy"), {8, 64, 48});   b.size(ND("Nx")) == 64;   b.rest
//   == {8}

#include <functional>
#include <optional>
#include <string_view>

#include "tessera/base/shape.hpp"
#include "tessera/names/named_shape.hpp"

namespace tessera {

struct TESSERA_API Binding {
  Dims dims;    // without "..."
  Shape sizes;  // of those
  Shape rest;   // what "..." stands for
  std::optional<i64> size(NamedDimension d) const;
};

// DimError when the rank does not fit, naming `who`, the dims and the shape.
TESSERA_API Binding bind_dims(std::string_view who, const Dims& dims, const Shape& shape);
// Sizes of `dims`: "..." from the binding's rest, a name from the binding, else from size_of;
// DimError when nobody knows.
TESSERA_API Shape sizes_of(std::string_view who, const Dims& dims, const Binding& binding,
                           const std::function<std::optional<i64>(NamedDimension)>& size_of);
// The axis of a dim in an array of `ndim` axes named by `dims` (which may hold one "...").
TESSERA_API std::optional<i64> axis_of(const Dims& dims, NamedDimension d, i64 ndim);

// The dim of the other side in the same place, counted from the last dim to "...", when its name is
// another.
TESSERA_API std::optional<NamedDimension> across(const NamedShape& names, NamedDimension d);

}  // namespace tessera
