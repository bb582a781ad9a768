// SPDX-License-Identifier: Apache-2.0
#pragma once
// NumPy keys as values, and what they mean on a layout: `resolve` turns a key into a view, or into
// a view plus integer arrays that say what to gather. Pure: no element of the indexed array is
// touched. Reading and writing through a plan is kernels/gather; integers beyond 64 bits are
// clipped or refused by the caller.
//   Array y = x[{1, Slice{0, 5, 2}, ellipsis}];   Array z = x[{Array::of<i64>({0, 2}), new_axis}];
//   x.assign(parse_index("::-1, ..., [0, 2, 1]"), value);

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/array/array.hpp"

namespace tessera {

// start:stop:step as in Python; what is absent takes Python's default.
struct Slice {
  std::optional<i64> start = {}, stop = {}, step = {};
};
struct NewAxis {};
struct Ellipsis {};
inline constexpr NewAxis new_axis{};
inline constexpr Ellipsis ellipsis{};

class TESSERA_API Index {
 public:
  // integer_array and mask refer to arrays(); boolean is True or False (a mask of rank 0).
  enum class Kind : std::uint8_t {
    integer,
    slice,
    new_axis,
    ellipsis,
    boolean,
    integer_array,
    mask
  };
  struct Item {
    Kind kind = Kind::integer;
    i64 value = 0;  // the integer, the truth value, or the position in arrays()
    Slice slice = {};
  };

  Index() = default;  // x[()]
  template <class... Items>
  requires(sizeof...(Items) > 0 && !(std::same_as<std::remove_cvref_t<Items>, Index> || ...))
      Index(const Items&... items) {
    (add(items), ...);
  }

  template <std::integral T>
  requires(!std::same_as<T, bool>) void add(T i) { items_.push_back({Kind::integer, i}); }
  void add(bool b) {
    items_.push_back({Kind::boolean, b});
    advanced_ = true;
  }
  void add(const Slice& s) { items_.push_back({Kind::slice, 0, s}); }
  void add(NewAxis) { items_.push_back({Kind::new_axis}); }
  void add(Ellipsis) { items_.push_back({Kind::ellipsis}); }
  // Integer or bool dtype, else IndexError with NumPy's text. Of rank 0 and readable by the host:
  // the number itself, as NumPy has it, and the result is a copy.
  void add(const Array& a);

  std::span<const Item> items() const { return items_; }
  const std::vector<Array>& arrays() const { return arrays_; }
  bool advanced() const { return advanced_; }  // holds arrays or truth values: the result is a copy
  bool force_copy() const { return copy_; }    // an integer came as an array of rank 0
  std::string str() const;                     // as Python writes it; parse_index reads it back

 private:
  SmallVec<Item, 4> items_;
  std::vector<Array> arrays_;
  bool advanced_ = false;
  bool copy_ = false;
};

// "1:5:-1, ..., None, [0, 2, 1], True", with or without surrounding parentheses; lists become cpu
// arrays. IndexError with NumPy's text for what is no key (1.5, names), ArgumentError for text that
// is not Python.
TESSERA_API Index parse_index(std::string_view text);

// What a key means on one layout.
struct TESSERA_API IndexPlan {
  enum class Kind : std::uint8_t {
    element,  // one integer per axis: a snapshot of rank 0
    view,     // `view` is the answer
    advanced  // gather or scatter
  };
  Kind kind = Kind::view;
  bool copy = false;          // a view that NumPy copies
  Layout view;                // advanced: the axes that arrays index come first, then the rest
  std::vector<Array> arrays;  // one int64 array per indexed axis; shapes broadcast to `lead`
  Shape axes;                 // which axes of the source they index, for texts
  Shape lead;                 // broadcast shape of the arrays and truth values
  i64 position = 0;           // where `lead` stands in the result
  Shape shape;                // of the result

  i64 indexed() const { return axes.size(); }
  // A layout of the result's shape, permuted so that the `lead` axes come first, as kernels want
  // it.
  Layout lead_first(const Layout& result) const;
  std::string str() const;  // "view (3, 4)…", "gather 2 arrays over axes (0, 2) …"
};

// The positions of the true elements of a mask, one int64 array per axis (kernels/nonzero).
using ExpandMask = std::vector<Array> (*)(const Array& mask);
// NumPy's errors, in NumPy's order. `expand` is called for masks only; it may be null when there
// are none. Integer arrays are passed on as they came (any integer dtype); values are not checked
// against bounds.
TESSERA_API IndexPlan resolve(const Index& index, const Layout& source,
                              ExpandMask expand = nullptr);

// Python's slice.indices: first position, number of positions, step. ArgumentError "slice step
// cannot be zero".
struct SliceRange {
  i64 start, length, step;
};
TESSERA_API SliceRange resolve_slice(const Slice& s, i64 size);
// The fast lanes of x[i], x[i, j] and x[a:b] need no Index. IndexError with NumPy's text.
[[noreturn]] TESSERA_API void throw_out_of_bounds(i64 index, i64 axis, i64 size);
[[noreturn]] TESSERA_API void throw_too_many(i64 ndim, i64 given);
[[noreturn]] TESSERA_API void throw_not_a_key();  // "only integers, slices (`:`), …"
inline i64 resolve_integer(i64 i, i64 axis, i64 size) {
  if (i < -size || i >= size) [[unlikely]]
    throw_out_of_bounds(i, axis, size);
  return i < 0 ? i + size : i;
}
// Element number of x[at...] in the storage; `at` has one integer per axis.
inline i64 element_offset(const Layout& l, std::span<const i64> at) {
  i64 offset = l.offset;
  const i64 *shape = l.shape.data(), *strides = l.strides.data();
  for (std::size_t k = 0; k < at.size(); ++k) {
    const i64 axis = static_cast<i64>(k);
    offset += resolve_integer(at[k], axis, shape[k]) * strides[k];
  }
  return offset;
}
// x[a:b:c] on one axis, the others whole.
TESSERA_API Layout slice_layout(const Layout& l, i64 axis, const Slice& s);

// "(3,4)", "(3,)", "()": shapes as NumPy's own error texts write them.
TESSERA_API std::string tight_text(const Shape& s);

}  // namespace tessera
