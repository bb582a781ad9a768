// SPDX-License-Identifier: Apache-2.0
#pragma once
// Transforms of lines whose length is a product of small primes: passes of 2 to 13 points, and of
// larger primes one at a time, in registers, between buffers that stay in the first cache. A dense
// line fills registers with neighbours of its own where its length allows it, or lines fill a lane
// each; neighbouring columns fill them with one element of each, and go into the buffers and out of
// them without a transposition. Registers are the widest that the host has and that are filled, of
// 16 or 32 bytes (register_lines.hpp).
//   SmoothLines<float> line(240);   line.lines(4, x, 240, y, 240, -1, 1.0f, scratch);

#include <algorithm>
#include <memory>
#include <vector>

#include "tessera/base/api.hpp"
#include "tessera/kernels/fft/line_tables.hpp"

namespace tessera {

// Where a filter's weight lies for the first of some columns: real, or complex where `real` is
// null. Columns are neighbours in it as well (`inner` 1), or all have the same (0).
template <class R>
struct ColumnWeight {
  const R* real = nullptr;
  const Complex<R>* complex = nullptr;
  i64 step = 0, inner = 0;  // along the columns, from one to the next
};

template <class R>
class TESSERA_API SmoothLines {
 public:
  using C = Complex<R>;
  static bool has(i64 points) { return !radices_of(points, 16).empty(); }
  // Lengths that are one pass have no columns.
  static bool has_columns(i64 points) { return radices_of(points, 16).size() > 1; }
  explicit SmoothLines(i64 points);

  // Elements of scratch memory, which starts on a boundary of 16 bytes: for dense lines, and for any
  // of the calls, where no more than `count` lines or columns are at hand.
  i64 line_scratch(i64 count) const;
  i64 scratch(i64 count) const;
  // Columns are taken in groups of `column_step`, at most `most_columns()` at once.
  static constexpr i64 column_step = 16 / static_cast<i64>(sizeof(R));
  i64 most_columns() const;
  // Dense lines at once: the turns of a pass serve all of them.
  i64 most_lines() const {
    return dense_bytes_ > 0 ? std::clamp<i64>(1024 / tables_.points, 1, 16) : lanes();
  }

  // to = scale * DFT(from), sign -1 forward, +1 backward. `from` may be `to`.
  void lines(i64 count, const C* from, i64 from_distance, C* to, i64 to_distance, int sign, R scale,
             R* scratch) const;
  void columns(i64 count, const C* from, i64 from_step, C* to, i64 to_step, int sign, R scale,
               R* scratch) const;
  // to = scale * DFT^-1(weight * DFT(from)), the inverse without a scale of its own.
  void filter_columns(i64 count, const C* from, i64 from_step, const ColumnWeight<R>& weight, C* to,
                      i64 to_step, int sign, R scale, R* scratch) const;

 private:
  // Empty where there are larger factors.
  static std::vector<int> radices_of(i64 points, int bytes);
  i64 lanes() const { return bytes_ / static_cast<int>(sizeof(R)); }

  int bytes_;            // of the widest registers
  int dense_bytes_ = 0;  // of those that hold neighbours of a dense line; 0: none do
  LineTables<R> tables_;
};

// Whether the cpu's transforms of so many points use them, and then read the weights of filters
// across lines instead of along them.
TESSERA_API bool uses_smooth_lines(i64 points);
// One for all transforms of a length.
template <class R>
std::shared_ptr<const SmoothLines<R>> smooth_lines(i64 points);

}  // namespace tessera
