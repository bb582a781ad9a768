// SPDX-License-Identifier: Apache-2.0
#pragma once
// The steps of tall_qr: how many rows pass at a time, what stays, and the two passes. Private to the
// library.

#include <algorithm>
#include <optional>

#include "tessera/streaming/linalg/strip_cut.hpp"
#include "tessera/streaming/linalg/tall_work.hpp"

namespace tessera::streaming {

// What a run ends with: R; Q times a matrix in a store; or R beside Q^H B.
enum class TallOutput : std::uint8_t { triangle, product, system };

struct TriangleUse {
  i64 squares = 1;  // as many n x n numbers does `of` take, its answer included
  bool has_factor = false;
  std::function<TriangleAnswer(const Array& r)> of;
};

struct SideStore {
  i64 store = 0, axes = 2;
};

class TallSteps {
 public:
  // OutOfMemory where the budget has no room for what stays and a row of each panel.
  TallSteps(StreamPlan& plan, std::string_view who, const store::TileGrid& a, TallOutput output,
            i64 sides, i64 squares, const Options& options);

  // Pass one alone, for R or a system.
  void reduce(i64 from, const std::optional<SideStore>& sides);
  // Both, into the store `to`, where reflections wait as far as they do not stay.
  void reduce_and_expand(i64 from, i64 to, const TriangleUse& use, const MakeScratch& scratch);

 private:
  // Panels of `rows` rows in `slots` buffers, in turn.
  struct Cut {
    i64 rows = 1, slots = 1;
  };
  i64 held(const Cut& cut) const;
  void choose(std::string_view who, const Options& options);
  void add_buffers();

  i64 panels() const { return (m_ - n_ + cut_.rows - 1) / cut_.rows; }
  bool stays(i64 panel) const { return panel + cut_.slots >= panels(); }
  std::size_t slot(i64 panel) const { return static_cast<std::size_t>(panel % cut_.slots); }
  Range rows_of(i64 panel) const {
    const i64 begin = n_ + panel * cut_.rows;
    return {begin, std::min(m_, begin + cut_.rows)};
  }
  // Whole rows, by columns in the buffer.
  Move rows_move(i64 store, const Range& rows, i64 buffer) const;
  Move sides_move(const SideStore& sides, const Range& rows, i64 buffer) const;
  Move factors_move(i64 panel) const;

  void add_top(i64 from, const std::optional<SideStore>& sides);
  void add_panel(i64 panel, i64 from, const std::optional<SideStore>& sides,
                 std::vector<Move> aside);
  void add_expanded_panel(i64 panel, i64 to, bool is_triangle);

  StreamPlan& plan_;
  i64 m_, n_, sides_, squares_;
  TallOutput output_;
  TallWork work_;
  Cut cut_;
  i64 factors_store_ = 0;
  std::vector<i64> panels_, factors_, side_panels_, outs_;
};

}  // namespace tessera::streaming
