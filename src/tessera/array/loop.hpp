// SPDX-License-Identifier: Apache-2.0
#pragma once
// The one engine for strided loops: given the layouts of several operands over one shape, it drops
// axes of size 1, turns and sorts the others so that the first operand (the output) is walked in
// memory order, and merges axes that step evenly for all. What remains is a short list of axes,
// outermost first; a Cursor walks any part of it in runs along the innermost axis. Strides are
// bytes. It touches no memory itself.
//   Loop loop({&out, &x}, {4, 8});
//   for (Cursor c(loop, begin); c.position() < end; c.advance(n)) { n = std::min(c.run(), end -
//   c.position()); ... }

#include <array>
#include <initializer_list>
#include <span>

#include "tessera/base/shape.hpp"
#include "tessera/device/compute_device.hpp"

namespace tessera {

class TESSERA_API Loop {
 public:
  // free: axes may be turned and exchanged, every element is visited once in some order. row_major:
  // positions count in row-major order of the shape.
  enum class Order : std::uint8_t { free, row_major };

  Loop() = default;  // one element, no operand
  // All layouts have one shape; at most max_operands of them. Offsets of the layouts do not count:
  // a kernel's pointers stand at the first element.
  Loop(std::span<const Layout* const> layouts, std::span<const i64> element_sizes,
       Order order = Order::free);
  Loop(std::initializer_list<const Layout*> layouts, std::initializer_list<i64> element_sizes,
       Order order = Order::free)
      : Loop(std::span(layouts.begin(), layouts.size()),
             std::span(element_sizes.begin(), element_sizes.size()), order) {}

  i64 size() const { return size_; }          // elements in all
  i64 axes() const { return sizes_.size(); }  // at least 1
  int operands() const { return operands_; }
  i64 axis_size(i64 axis) const { return sizes_[axis]; }
  i64 stride(i64 axis, int operand) const { return strides_[axis * operands_ + operand]; }
  i64 inner_size() const { return sizes_.back(); }
  i64 inner_stride(int operand) const { return stride(axes() - 1, operand); }
  // Bytes from an operand's pointer to the element at position 0: not zero when an axis was turned.
  i64 start(int operand) const { return start_[operand]; }
  bool is_scalar(int operand) const;  // every stride is zero: one element serves all

  // The same walk seen by one operand: fewer axes, because only it must step evenly.
  Loop only(int operand) const;
  // The rows: the same walk without its innermost axis; one row when there is no other.
  Loop rows() const;

 private:
  void merge();

  SmallVec<i64, 6> sizes_{1};
  SmallVec<i64, 18> strides_;  // by axis, then operand
  SmallVec<i64, 4> start_;
  i64 size_ = 1;
  int operands_ = 0;
};

// A place in a Loop. Moving by at most run() elements is cheap.
class Cursor {
 public:
  Cursor(const Loop& loop, i64 position) : loop_(loop), position_(position) {
    const int n = loop.operands();
    for (int k = 0; k < n; ++k) offset_[k] = loop.start(k);
    index_.resize(loop.axes());
    for (i64 a = loop.axes() - 1; a >= 0; --a) {
      const i64 size = loop.axis_size(a), i = a > 0 ? position % size : position;
      index_[a] = i;
      if (a > 0) position /= size;
      for (int k = 0; k < n; ++k) offset_[k] += i * loop.stride(a, k);
    }
  }
  i64 position() const { return position_; }
  i64 offset(int operand) const { return offset_[operand]; }  // bytes from the operand's pointer
  i64 run() const { return loop_.inner_size() - index_.back(); }  // elements to the end of the row
  void advance(i64 n) {
    position_ += n;
    i64 a = loop_.axes() - 1;
    move(a, n);
    while (a > 0 && index_[a] == loop_.axis_size(a)) {
      move(a, -index_[a]);
      move(--a, 1);
    }
  }

 private:
  void move(i64 axis, i64 n) {
    index_[axis] += n;
    for (int k = 0; k < loop_.operands(); ++k) offset_[k] += n * loop_.stride(axis, k);
  }

  const Loop& loop_;
  i64 position_;
  SmallVec<i64, 6> index_;
  std::array<i64, max_operands> offset_;
};

}  // namespace tessera
