// SPDX-License-Identifier: Apache-2.0
#pragma once
// A short program over a row of float64 cells, run where the cells are: the few numbers between the
// vector passes of an iteration (step sizes, rotations, stopping tests) in one launch, so that the
// host need not read them. Not for arrays: those are elementwise and reduce.
//   spec.code = {{ScalarOp::divide, 2, 0, 1}};   // cell 2 = cell 0 / cell 1

#include <math.h>

#include <vector>

#include "tessera/base/dtype.hpp"
#include "tessera/kernels/kernel.hpp"

namespace tessera {

// SCALAR(name): `to` gets the value of a function of cells a, b, c. Comparisons give 1 or 0, and 0
// when a NaN takes part. `put` is the one with a computed target: cell to + (int)a gets b.
#define TESSERA_SCALAR_OPS(SCALAR)                  \
  SCALAR(copy)                                      \
  SCALAR(add)                                       \
  SCALAR(subtract)                                  \
  SCALAR(multiply)                                  \
  SCALAR(divide)                                    \
  SCALAR(sqrt)                                      \
  SCALAR(hypot)                                     \
  SCALAR(absolute)                                  \
  SCALAR(maximum) /* of the two that is a number */ \
  SCALAR(minimum)                                   \
  SCALAR(copysign)                                  \
  SCALAR(less)                                      \
  SCALAR(less_equal)                                \
  SCALAR(finite)                                    \
  SCALAR(where) /* a != 0 ? b : c */                \
  SCALAR(put)

enum class ScalarOp : std::uint8_t {
#define SCALAR(name) name,
  TESSERA_SCALAR_OPS(SCALAR)
#undef SCALAR
};

inline constexpr int max_cells = 256;
inline constexpr int max_scalar_code = 384;

struct ScalarStep {
  ScalarOp op = ScalarOp::copy;
  std::uint8_t to = 0, a = 0, b = 0, c = 0;
};

// Operands of a launch: the cells, float64, updated in place. `mirror` float32: behind the
// max_cells doubles lie as many float32 numbers, and each cell that the program writes (not by
// `put`) is also written there, rounded: for kernels that compute in that type.
struct ScalarsSpec {
  std::vector<ScalarStep> code;  // at most max_scalar_code
  DType mirror = DType::f64;
};

// ArgumentError for a program that no kernel can run.
TESSERA_API void check_scalars(const ScalarsSpec& spec);

// One step on cells in memory that the caller can reach.
TESSERA_HOST_DEVICE inline void scalar_step(const ScalarStep& s, double* cell) {
  const double a = cell[s.a], b = cell[s.b];
  switch (s.op) {
    case ScalarOp::copy: cell[s.to] = a; break;
    case ScalarOp::add: cell[s.to] = a + b; break;
    case ScalarOp::subtract: cell[s.to] = a - b; break;
    case ScalarOp::multiply: cell[s.to] = a * b; break;
    case ScalarOp::divide: cell[s.to] = a / b; break;
    case ScalarOp::sqrt: cell[s.to] = ::sqrt(a); break;
    case ScalarOp::hypot: cell[s.to] = ::hypot(a, b); break;
    case ScalarOp::absolute: cell[s.to] = ::fabs(a); break;
    case ScalarOp::maximum: cell[s.to] = ::fmax(a, b); break;
    case ScalarOp::minimum: cell[s.to] = ::fmin(a, b); break;
    case ScalarOp::copysign: cell[s.to] = ::copysign(a, b); break;
    case ScalarOp::less: cell[s.to] = a < b ? 1.0 : 0.0; break;
    case ScalarOp::less_equal: cell[s.to] = a <= b ? 1.0 : 0.0; break;
    case ScalarOp::finite: cell[s.to] = a - a == 0 ? 1.0 : 0.0; break;
    case ScalarOp::where: cell[s.to] = a != 0 ? b : cell[s.c]; break;
    case ScalarOp::put: cell[(s.to + static_cast<int>(a)) % max_cells] = b; break;
  }
}

}  // namespace tessera
