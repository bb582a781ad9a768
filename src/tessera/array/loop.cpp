// SPDX-License-Identifier: Apache-2.0
#include "tessera/array/loop.hpp"

#include <algorithm>

namespace tessera {
namespace {

i64 magnitude(i64 v) { return v < 0 ? -v : v; }

// The operand that decides about an axis: the first that moves along it.
i64 leading_stride(std::span<const Layout* const> layouts, i64 axis) {
  for (const Layout* l : layouts)
    if (l->strides[axis] != 0) return l->strides[axis];
  return 0;
}

// True when axis a belongs outside axis b.
bool outside(std::span<const Layout* const> layouts, i64 a, i64 b) {
  for (const Layout* l : layouts) {
    const i64 x = magnitude(l->strides[a]), y = magnitude(l->strides[b]);
    if (x != y && x != 0 && y != 0) return x > y;
  }
  return false;
}

}  // namespace

Loop::Loop(std::span<const Layout* const> layouts, std::span<const i64> element_sizes, Order order)
    : operands_(static_cast<int>(layouts.size())) {
  const Shape& shape = layouts[0]->shape;
  SmallVec<i64, 6> kept;
  for (i64 a = 0; a < shape.size(); ++a) {
    size_ *= shape[a];
    if (shape[a] != 1) kept.push_back(a);
  }
  start_.resize(operands_, 0);
  if (size_ == 0 || kept.empty()) {  // a single element counts as contiguous
    sizes_[0] = size_;
    for (i64 bytes : element_sizes) strides_.push_back(bytes);
    return;
  }
  if (order == Order::free)
    // Insertion sort: `outside` is not transitive where operands disagree, which std::sort forbids.
    for (i64 i = 1; i < kept.size(); ++i)
      for (i64 j = i; j > 0 && outside(layouts, kept[j], kept[j - 1]); --j)
        std::swap(kept[j], kept[j - 1]);
  sizes_.clear();
  for (i64 a : kept) {
    const bool turn = order == Order::free && leading_stride(layouts, a) < 0;
    sizes_.push_back(shape[a]);
    for (int k = 0; k < operands_; ++k) {
      const i64 step = layouts[static_cast<std::size_t>(k)]->strides[a] *
                       element_sizes[static_cast<std::size_t>(k)];
      if (turn) start_[k] += (shape[a] - 1) * step;
      strides_.push_back(turn ? -step : step);
    }
  }
  merge();
}

// Joins an axis with the one inside it when for every operand one step outside equals a whole pass
// inside.
void Loop::merge() {
  i64 last = 0;
  const i64 count = sizes_.size();
  for (i64 a = 1; a < count; ++a) {
    bool even = true;
    for (int k = 0; k < operands_ && even; ++k) even = stride(last, k) == stride(a, k) * sizes_[a];
    if (even)
      sizes_[last] *= sizes_[a];
    else
      sizes_[++last] = sizes_[a];
    for (int k = 0; k < operands_; ++k) strides_[last * operands_ + k] = stride(a, k);
  }
  sizes_.resize(last + 1);
  strides_.resize((last + 1) * operands_);
}

bool Loop::is_scalar(int operand) const {
  for (i64 a = 0; a < axes(); ++a)
    if (stride(a, operand) != 0) return false;
  return true;
}

Loop Loop::only(int operand) const {
  Loop l;
  l.operands_ = 1;
  l.size_ = size_;
  l.sizes_ = sizes_;
  l.start_.push_back(start_[operand]);
  for (i64 a = 0; a < axes(); ++a) l.strides_.push_back(stride(a, operand));
  l.merge();
  return l;
}

Loop Loop::rows() const {
  Loop l = *this;
  l.size_ = inner_size() > 0 ? size_ / inner_size() : 0;
  if (axes() == 1) {
    l.sizes_[0] = l.size_;
    return l;
  }
  l.sizes_.resize(axes() - 1);
  l.strides_.resize((axes() - 1) * operands_);
  return l;
}

}  // namespace tessera
