// SPDX-License-Identifier: Apache-2.0
#pragma once
// Transforms of lines whose length is a product of small primes: passes of 2 to 13 points, and of
// larger primes one at a time, in registers, between buffers that stay in the first cache. A dense line fills
// registers with neighbours of its own where its length allows it, or lines fill a lane each;
// neighbouring columns fill them with one element of each, and go into the buffers and out of them
// without a transposition.
//   SmoothLines<float> line(240);   line.lines(4, x, 240, y, 240, -1, 1.0f, scratch);

#include <algorithm>
#include <memory>
#include <vector>

#include "tessera/base/api.hpp"
#include "tessera/base/real_of.hpp"

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
  static bool has(i64 points) { return !radices_of(points).empty(); }
  // Lengths that are one pass have no columns.
  static bool has_columns(i64 points) { return radices_of(points).size() > 1; }
  explicit SmoothLines(i64 points);

  // Elements of scratch memory, which starts on a boundary of 16 bytes, for lines, and for any of
  // the calls.
  i64 line_scratch() const { return radices_.size() < 2 ? 0 : 2 * 2 * points_ * most_lines(); }
  i64 scratch() const { return std::max(line_scratch(), 2 * 2 * points_ * most_columns()); }
  // Columns are taken in groups of `column_step`, at most `most_columns()` at once.
  static constexpr i64 column_step = 16 / static_cast<i64>(sizeof(R));
  i64 most_columns() const {
    return has_columns(points_) ? column_step * (points_ <= 128 ? 4 : points_ <= 4096 ? 2 : 1) : 0;
  }
  // Dense lines at once: the turns of a pass serve all of them.
  i64 most_lines() const { return dense_ ? std::clamp<i64>(1024 / points_, 1, 16) : column_step; }

  // to = scale * DFT(from), sign -1 forward, +1 backward. `from` may be `to`.
  void lines(i64 count, const C* from, i64 from_distance, C* to, i64 to_distance, int sign, R scale,
             R* scratch) const;
  void columns(i64 count, const C* from, i64 from_step, C* to, i64 to_step, int sign, R scale,
               R* scratch) const;
  // to = scale * DFT^-1(weight * DFT(from)), the inverse without a scale of its own.
  void filter_columns(i64 count, const C* from, i64 from_step, const ColumnWeight<R>& weight, C* to,
                      i64 to_step, int sign, R scale, R* scratch) const;

 private:
  template <class In, class Out>
  R* run_columns(i64 registers, const In& in, const Out& out, R* a, R* b) const;
  template <class Out>
  R* rest(i64 step, i64 registers, const Out& out, R* a, R* b) const;
  template <bool Swap>
  void run_filter(i64 registers, const C* from, i64 from_step, const ColumnWeight<R>& weight, C* to,
                  i64 to_step, R scale, R* scratch) const;

  // Of the passes, in their order: 240 is 4 * 4 * 3 * 5. Empty where there are larger factors.
  static std::vector<int> radices_of(i64 points);
  template <bool Swap>
  void run_lines(i64 count, const C* from, i64 from_distance, C* to, i64 to_distance, R scale,
                 R* scratch) const;

  i64 points_;
  std::vector<int> radices_;
  std::vector<std::vector<R>> roots_;  // for each pass, where it is one of a larger prime
  bool dense_ = false;                 // registers hold neighbours of a dense line
  std::vector<R> line_turns_;          // of the first pass over a dense line, blocked
  std::vector<std::vector<R>> turns_;  // of every pass but the last, re and im
};

// Whether the cpu's transforms of so many points use them, and then read the weights of filters
// across lines instead of along them.
TESSERA_API bool uses_smooth_lines(i64 points);
// One for all transforms of a length.
template <class R>
std::shared_ptr<const SmoothLines<R>> smooth_lines(i64 points);

}  // namespace tessera
