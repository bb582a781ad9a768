// SPDX-License-Identifier: Apache-2.0
#pragma once
// Passes over dense vectors of one length, done number by number in one launch: element-wise
// operations with factors, sums of products, and a program of scalars once the sums are known. What
// an iteration of a solver does between two applications of its operator. One operation alone is
// elementwise or reduce.
//   spec.steps = {{.kind = SweepKind::multiply_add, .a = 0, .b = 1, .to = 1, .factor = 40},
//                 {.kind = SweepKind::norm2, .a = 1, .sum = 41}};   // x += f p; cell 41 = |x|^2

#include <vector>

#include "tessera/kernels/scalars/scalars.hpp"

namespace tessera {

// y = a, y = f, y = f a, y = a + b, y = a - b, y = a f + b, y = f ? a : b; the sums of a b and of
// a a, to a cell.
enum class SweepKind : std::uint8_t {
  copy,
  fill,
  scale,
  add,
  subtract,
  multiply_add,
  select,
  dot,
  norm2
};
TESSERA_HOST_DEVICE inline bool is_sum(SweepKind k) {
  return k == SweepKind::dot || k == SweepKind::norm2;
}
inline bool has_factor(SweepKind k) {
  return k == SweepKind::fill || k == SweepKind::scale || k == SweepKind::multiply_add ||
         k == SweepKind::select;
}

// Vectors by their position among the operands, cells by their number; -1: none.
struct SweepStep {
  SweepKind kind = SweepKind::copy;
  int a = -1, b = -1, to = -1;
  int factor = -1;   // a cell; where it is none `value` is the factor
  int sum = -1;      // the cell of a sum
  double value = 0;  // rounded to the dtype
};

inline constexpr int max_sweep_steps = 6, max_sweep_vectors = 10;

// Operands of a launch: the vectors, no two of which share memory, then the cells
// where there are any: as scalars.hpp has them with their mirror, and behind it a counter of 32 bits
// that is 0 between launches. Each step sees what those before it wrote; no factor is a cell that a
// sum of the same pass writes. `after.code` runs on the cells once the sums are there.
struct SweepSpec {
  DType dtype = DType::f32;  // float32 or float64: of the vectors, and in which steps compute
  i64 count = 0;
  int vectors = 0;
  bool cells = false;
  std::vector<SweepStep> steps;
  ScalarsSpec after;
};

inline constexpr i64 mirror_offset = static_cast<i64>(sizeof(double)) * max_cells,
                     counter_offset = mirror_offset + static_cast<i64>(sizeof(float)) * max_cells,
                     cell_memory_bytes = counter_offset + static_cast<i64>(sizeof(double));
// Where a factor of that dtype is read from a cell, in bytes.
inline i64 factor_offset(DType dtype, int cell) {
  return dtype == DType::f64 ? static_cast<i64>(sizeof(double)) * cell
                             : mirror_offset + static_cast<i64>(sizeof(float)) * cell;
}

// ArgumentError, DTypeError for what no kernel can run.
TESSERA_API void check_sweep(const SweepSpec& spec);

}  // namespace tessera
