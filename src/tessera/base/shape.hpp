// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shapes, strides and layouts: which elements of a storage an array or a view means. Pure
// arithmetic; no memory is touched. Strides and offsets count elements, may be negative or zero,
// and are 64-bit; sizes are checked against overflow where a layout is born.
//   Layout l = Layout::contiguous({3, 4}).slice(1, 3, -1, -1);   // reversed columns

#include <optional>
#include <span>
#include <string>

#include "tessera/base/error.hpp"
#include "tessera/base/small_vec.hpp"

namespace tessera {

using Shape = SmallVec<i64, 6>;
using Strides = SmallVec<i64, 6>;
inline constexpr int max_rank = 64;

// "(3, 4)", "(3,)", "()": as Python prints tuples.
TESSERA_API std::string to_text(const Shape& s);
// Product of the sizes; ShapeError for negative sizes or a product beyond 63 bits.
TESSERA_API i64 count_of(const Shape& s);
// NumPy broadcasting of two shapes; ShapeError "operands could not be broadcast together with
// shapes …".
TESSERA_API Shape broadcast_shapes(const Shape& a, const Shape& b);
// -1 -> ndim-1; IndexError "axis 3 is out of bounds for array of dimension 2".
TESSERA_API i64 normalize_axis(i64 axis, i64 ndim, std::string_view who);

struct TESSERA_API Layout {
  Shape shape;
  Strides strides;
  i64 offset = 0;

  static Layout contiguous(const Shape& shape);
  i64 ndim() const { return shape.size(); }
  i64 size() const;
  // Row-major without gaps (offset may be anything; axes of size 1 and empty arrays do not count).
  bool dense() const;
  // Lowest and highest element touched, relative to the storage start; {0, -1} when empty.
  std::pair<i64, i64> span() const;
  // Two different index tuples may mean the same element.
  bool self_overlaps() const;
  // The element ranges intersect (conservative: strided interleaving counts as overlap).
  bool overlaps(const Layout& o) const;

  // Elements start, start+step, … `length` of them along `axis`. Bounds are the caller's concern.
  Layout slice(i64 axis, i64 start, i64 length, i64 step = 1) const;
  Layout select(i64 axis, i64 index) const;  // drops the axis
  Layout insert_axis(i64 axis) const;        // new axis of size 1, stride 0
  Layout permute(std::span<const i64> axes) const;
  Layout broadcast_to(const Shape& to) const;            // ShapeError
  std::optional<Layout> reshape(const Shape& to) const;  // nullopt when it needs a copy
  friend bool operator==(const Layout&, const Layout&) = default;
};

// "(3, 4) strides (4, 1) offset 0": for errors and explain().
TESSERA_API std::string to_text(const Layout& l);

}  // namespace tessera
