// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the steps of tall_qr compute, on the buffers of a run: all blocks lie by columns. Private to
// the library.

#include "tessera/streaming/plan/stream_plan.hpp"

namespace tessera::streaming {

// What becomes of R between the passes: Q times `factor` is written (without one Q itself), and
// `result` is what the run gives.
struct TriangleAnswer {
  Array factor, result;
};

struct TallWork {
  i64 n = 0, sides = 0, block = 1;
  DType dtype = DType::f32;
  // Buffers: the square with R above the reflections of the first n rows, n rows of the result of
  // pass two, Q^H B so far, and the squares of what remains of B.
  i64 square = 0, square_factors = 0, work = 0, start = 0, side_top = 0, rest = 0;

  // Pass one: the first rows, and a panel below the triangle.
  void reduce_top(const Buffers& b) const;
  void reduce_panel(const Buffers& b, i64 rows, i64 panel, i64 factors) const;
  // The same for right sides, by the reflections that these left.
  void reduce_top_sides(const Buffers& b) const;
  void reduce_panel_sides(const Buffers& b, i64 rows, i64 panel, i64 factors, i64 side) const;

  // R; with right sides what plan_qr_system gives.
  Array triangle(const Buffers& b) const;
  Array system(const Buffers& b) const;

  // Pass two, from the last panel to the first rows. Without a factor `start` stays a triangle.
  void begin_product(const Buffers& b, const Array& factor) const;
  void expand_panel(const Buffers& b, i64 rows, i64 panel, i64 factors, i64 out,
                    bool is_triangle) const;
  void expand_top(const Buffers& b) const;
};

}  // namespace tessera::streaming
