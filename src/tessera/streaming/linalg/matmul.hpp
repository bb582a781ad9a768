// SPDX-License-Identifier: Apache-2.0
#pragma once
// The product of two matrices in stores: C = alpha op(A) op(B) + beta C. Blocks are chosen from the
// budget so that few bytes move: a block of C stays while strips of A and B pass by, as many bytes
// as 2 m n k / sqrt(budget / 3) says or fewer; where all of A or B fits, it stays and everything is
// read once. On a device with a budget of its own blocks are multiplied there, by its kernel; while a
// block of C is on its way back the next one is computed. One dtype for all three; integers wrap as
// in memory, and what gives float16 or bfloat16 takes factors in float32, in which it is summed.
//   matmul(a, b, c, {.alpha = {2, 0}}, {.budget = 1 << 30});

#include "tessera/kernels/linalg/dense.hpp"
#include "tessera/streaming/plan/stream_plan.hpp"

namespace tessera::streaming {

struct MatmulOptions {
  c128 alpha{1, 0}, beta{0, 0};  // beta 0: C is not read
  Turn turn_a = Turn::none, turn_b = Turn::none;
  Device device = cpu;  // where blocks are multiplied, and whose memory the budget is of
};

// The dtype of both factors of a product of that dtype.
TESSERA_API DType sums_of_product(DType product);
TESSERA_API StreamPlan plan_matmul(const StorePtr& a, const StorePtr& b, const StorePtr& c,
                                   const MatmulOptions& what = {}, const Options& options = {});
inline void matmul(const StorePtr& a, const StorePtr& b, const StorePtr& c,
                   const MatmulOptions& what = {}, const Options& options = {}) {
  plan_matmul(a, b, c, what, options).run();
}

}  // namespace tessera::streaming
