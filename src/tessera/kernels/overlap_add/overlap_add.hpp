// SPDX-License-Identifier: Apache-2.0
#pragma once
// Overlapping blocks of an array: counting them, reading them (a strided view whose blocks overlap)
// and summing them back into the array. The sum is driven by the output: every element is written
// once, by one thread, in a fixed order; elements that no block covers become zero.
//   Layout blocks = unfold_layout(x.layout(), {8, 8}, {4, 4});   launch overlap_add: blocks -> array

#include "tessera/array/array.hpp"
#include "tessera/kernels/kernel.hpp"

namespace tessera {

// out[b, g] = sum over blocks k and places j with k * stride + j == g of in[b, k, j].
// in: batch..., blocks (D axes), block (D axes); with places: batch..., blocks, points (1 axis).
// out: batch..., grid (D axes); one dtype: integers, floats, complex. Half precision adds in float.
// Operands of a launch: in, out. They do not share memory.
struct OverlapAddSpec {
  Operand in, out;
  Shape block, stride;      // D >= 1 each, positive
  bool masked = false;      // in's last axis counts `places` instead of all places of a block
  std::vector<i64> places;  // masked: row-major positions in a block, ascending
};

// (grid - block) / stride + 1 per axis. ShapeError with `who` unless the ranks agree, blocks and
// strides are positive and every block fits its axis.
TESSERA_API Shape block_counts(std::string_view who, const Shape& grid, const Shape& block,
                               const Shape& stride);
// The view batch..., blocks, block of an array batch..., grid: it overlaps itself, for reading
// only.
TESSERA_API Layout unfold_layout(const Layout& array, const Shape& block, const Shape& stride);

}  // namespace tessera
