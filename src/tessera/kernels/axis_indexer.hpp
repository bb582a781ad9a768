// SPDX-License-Identifier: Apache-2.0
#pragma once
// Some axes of a layout as one: a row-major position among them becomes an element offset. Axes
// that follow each other evenly are merged, so that mostly one multiplication is left.
//   AxisIndexer rows(layout, 1, 3);   y[rows.at(k)]

#include <vector>

#include "tessera/base/shape.hpp"

namespace tessera {

struct AxisIndexer {
  Shape size;
  Strides stride;

  AxisIndexer() = default;
  // Axes first to last - 1.
  AxisIndexer(const Layout& l, i64 first, i64 last) {
    for (i64 a = first; a < last; ++a) {
      if (l.shape[a] == 1) continue;
      if (!size.empty() && stride.back() == l.strides[a] * l.shape[a]) {
        size.back() *= l.shape[a];
        stride.back() = l.strides[a];
      } else {
        size.push_back(l.shape[a]);
        stride.push_back(l.strides[a]);
      }
    }
  }
  i64 at(i64 k) const {
    i64 offset = 0;
    for (i64 a = size.size() - 1; a > 0; --a) {
      offset += k % size[a] * stride[a];
      k /= size[a];
    }
    return size.empty() ? 0 : offset + k * stride[0];
  }
  // Every position at once.
  static std::vector<i64> offsets(const Layout& l, i64 first, i64 last) {
    const AxisIndexer places(l, first, last);
    std::vector<i64> all(
        static_cast<std::size_t>(count_of(Shape(l.shape.begin() + first, l.shape.begin() + last))));
    for (std::size_t k = 0; k < all.size(); ++k) all[k] = places.at(static_cast<i64>(k));
    return all;
  }
};

}  // namespace tessera
