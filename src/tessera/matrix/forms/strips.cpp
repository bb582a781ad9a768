// SPDX-License-Identifier: Apache-2.0
#include "tessera/matrix/forms/strips.hpp"

#include <algorithm>

#include "tessera/kernels/bitmatmul/bitmatmul.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"

namespace tessera {
namespace {

constexpr i64 strips_aimed_at = 32;  // of large matrices: the wasted corners are 1/32 of the half

i64 rounded_up(i64 n, i64 to) { return (n + to - 1) / to * to; }

// Whether (i, j) belongs to the upper triangle of an h x h corner.
Array corner_mask(i64 h, bool strict, Device device) {
  const Array k = arange(Value(0), Value(h), Value(1), DType::i32, device);
  const Array i = k.expand_dims(1), j = k.expand_dims(0);
  return strict ? ops::less(i, j) : ops::less_equal(i, j);
}

}  // namespace

Strips::Strips(i64 n, bool bits, i64 height) : n_(n), height_(height), bits_(bits) {
  require<ShapeError>(n >= 0, "a packed matrix of ", n, " rows; expected zero or more");
  // Half of n² elements are counted, in bytes, by numbers of 64 bits: no machine has a tenth of
  // that.
  require<OutOfMemory>(n <= i64{1} << 29, "a packed matrix of ", n,
                       " rows has more elements than can be counted; at most ", i64{1} << 29);
  const i64 unit = bits ? 512 : 32;
  if (height_ <= 0) height_ = std::max(unit, rounded_up(n / strips_aimed_at, unit));
  if (bits) height_ = rounded_up(height_, unit);
  for (i64 begin = 0; begin < n; begin += height_) {
    const i64 end = std::min(n, begin + height_), width = bits ? bit_words(n - begin) : n - begin;
    list_.push_back({begin, end, elements_, width});
    elements_ += (end - begin) * width;
  }
}

Array Strips::part(const Array& data, const Strip& strip) const {
  const i64 height = strip.end - strip.begin;
  return data.slice(0, strip.offset, strip.offset + height * strip.width)
      .reshape({height, strip.width});
}

i64 Strips::place(i64 i, i64 j) const {
  const Strip& s = list_[static_cast<std::size_t>(i / height_)];
  return s.offset + (i - s.begin) * s.width + (bits_ ? (j - s.begin) / 64 : j - s.begin);
}

Array Strips::pack(const Array& full, bool strict) const {
  const Array data = empty_dense({elements_}, full.dtype(), full.device());
  if (list_.empty()) return data;
  const Array mask = corner_mask(std::min(n_, height_), strict, full.device());
  const Array bit_mask = bits_ ? bit_pack(mask).words : Array();
  for (const Strip& s : list_) {
    const i64 h = s.end - s.begin, wide = bits_ ? bit_words(h) : h,
              first = s.begin / (bits_ ? 64 : 1);
    const Array from = full.slice(0, s.begin, s.end).slice(1, first, first + s.width);
    const Array to = part(data, s);
    const Array corner = from.slice(1, 0, wide), kept = to.slice(1, 0, wide);
    if (bits_) {
      const Array m = bit_mask.slice(0, 0, h).slice(1, 0, wide);
      elementwise(ElementOp::bitwise_and, std::array<ArrayOrValue, 2>{corner, m}, kept);
    } else {
      const Array m = mask.slice(0, 0, h).slice(1, 0, h);
      elementwise(ElementOp::where, std::array<ArrayOrValue, 3>{m, corner, Value(false)}, kept);
    }
    if (wide < s.width) to.slice(1, wide, s.width).copy_from(from.slice(1, wide, s.width));
  }
  return data;
}

void Strips::clear_corners(const Array& data, bool strict) const {
  if (list_.empty()) return;
  const Array mask = corner_mask(std::min(n_, height_), strict, data.device());
  for (const Strip& s : list_) {
    const i64 h = s.end - s.begin;
    const Array m = mask.slice(0, 0, h).slice(1, 0, h), corner = part(data, s).slice(1, 0, h);
    elementwise(ElementOp::where, std::array<ArrayOrValue, 3>{m, corner, Value(false)}, corner);
  }
}

Array Strips::unpack(const Array& data, Below below) const {
  const i64 per_word = bits_ ? 64 : 1;
  const Array full = empty_dense({n_, bits_ ? bit_words(n_) : n_}, data.dtype(), data.device());
  const Array mask = below == Below::zero || list_.empty()
                         ? Array()
                         : corner_mask(std::min(n_, height_), false, data.device());
  for (const Strip& s : list_) {
    const i64 h = s.end - s.begin, first = s.begin / per_word;
    const Array rows = full.slice(0, s.begin, s.end), from = part(data, s);
    rows.slice(1, first, first + s.width).copy_from(from);
    if (below == Below::zero) {
      rows.slice(1, 0, first).fill(Value(false));
      continue;
    }
    const Array corner = from.slice(1, 0, h), beyond = from.slice(1, h, s.width).transpose();
    const Array under = full.slice(0, s.end, n_).slice(1, s.begin, s.end);
    const bool negative = below == Below::negative;
    const Array turned = negative ? ops::negative(corner.transpose()) : corner.transpose();
    elementwise(ElementOp::where,
                std::array<ArrayOrValue, 3>{mask.slice(0, 0, h).slice(1, 0, h), corner, turned},
                rows.slice(1, s.begin, s.end));
    elementwise(negative ? ElementOp::negative : ElementOp::copy,
                std::array<ArrayOrValue, 1>{beyond}, under);
  }
  return full;
}

}  // namespace tessera
