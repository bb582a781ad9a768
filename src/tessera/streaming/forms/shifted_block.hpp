// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a square of a strictly upper C does to rows of K in the recursion (aI + C) K = C: a square on
// the diagonal solves, any other one selects and subtracts. Bits stay bits: sums of the rows that
// they select. Waits. Private to the room.
//   ShiftedBlock{words, 512, true}.solve(2.0, rows);

#include "tessera/array/array.hpp"

namespace tessera::streaming {

struct ShiftedBlock {
  Array stored;     // numbers, or words of bits
  i64 columns = 0;  // of elements
  bool words = false;

  // As float64 numbers; on the diagonal nothing but what is strictly above it.
  void copy_to(const Array& numbers, bool diagonal) const;
  // rest -= C k.
  void subtract_product(const Array& k, const Array& rest) const;
  // rows = (aI + C)⁻¹ rows; `upper`: these are zero below the diagonal.
  void solve(double a, const Array& rows, bool upper) const;

 private:
  ShiftedBlock part(i64 top, i64 bottom, i64 left, i64 right) const;
};

// Bytes of temporary arrays for squares of a side.
i64 shifted_temporary_bytes(DType dtype, bool words, i64 side);

}  // namespace tessera::streaming
