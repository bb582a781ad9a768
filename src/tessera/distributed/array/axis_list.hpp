// SPDX-License-Identifier: Apache-2.0
#pragma once
// Axes that a function was given, counted from zero: whether one of them is meant.
//   if (x.split() && contains(axes, *x.split())) ...

#include <algorithm>

#include "tessera/base/shape.hpp"

namespace tessera::dist {

inline bool contains(const Shape& axes, i64 axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

}  // namespace tessera::dist
