// SPDX-License-Identifier: Apache-2.0
#pragma once
// Steps that solve with a stored triangle: right sides stay in memory with all of their rows, and
// the triangle passes by once, a strip of unknowns after another, in chunks. Private to the
// library; people call solve_triangular, cholesky_solve and solve.
// On a device the triangle is not turned.
//   Sweep{.store = 0, .dtype = t, .n = n, .strip = 512, .chunk = 512, .slots = slots}.add(plan, sides);

#include "tessera/streaming/linalg/blocks.hpp"
#include "tessera/streaming/linalg/strip_cut.hpp"

namespace tessera::streaming {

// Some columns of the right sides, by rows in a buffer of their own; solved in place.
struct RightSide {
  i64 buffer = 0;
  Range columns;
  Move read, write;
};

// Some of its rows.
BufferView rows_of_side(const RightSide& side, const Range& rows, DType dtype);

inline constexpr i64 chunk_slots = 3;

struct Sweep {
  std::string_view who;  // in errors: a string that stays
  Device device = cpu;   // where the buffers are
  i64 store = 0;
  DType dtype = DType::f32;
  i64 n = 0, strip = 1, chunk = 1;  // unknowns, and columns of the triangle, at a time
  std::vector<i64> slots = {};      // buffers of strip x max(strip, chunk) numbers
  bool lower = true, unit = false;
  Turn turn = Turn::none;
  i64 from = 0;  // unknowns before this one are zero, where the sweep goes upwards
  // After the unknowns of a strip are known, on every right side.
  std::function<void(const Buffers&, const RightSide&, const Range& strip)> after = {};

  // The first step also makes `before`'s reads and computation, the last one the writes.
  void add(StreamPlan& plan, const std::vector<RightSide>& sides, Step before,
           const std::vector<Move>& writes) const;

 private:
  bool ascends() const { return lower == (turn == Turn::none); }
  Move chunk_of(const Range& rows, const Range& columns, i64 buffer) const;
  void solve_there(const Buffers& b, const std::vector<RightSide>& sides, const Move& square,
                   const Range& rows) const;
};

// A store of right sides (n) or (n, m).
i64 columns_of_sides(const StorePtr& sides);
RightSide right_side(i64 read_from, i64 write_to, const StorePtr& like, const Range& columns,
                     i64 buffer);

}  // namespace tessera::streaming
