// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/functions/scan.hpp"

#include "tessera/distributed/exchange/over_ranks.hpp"
#include "tessera/distributed/functions/reduce.hpp"
#include "tessera/distributed/functions/reshape.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"

namespace tessera::dist {
namespace {

// Row k of the answer: the rows before k, joined in their order.
Array of_rows_before(ScanOp op, const Array& stacked) {
  const Array before =
      tessera::full(stacked.shape(), Value(op == ScanOp::sum ? 0 : 1), stacked.dtype());
  const i64 n = stacked.shape(0);
  if (n > 1)
    before.slice(0, 1, n).copy_from(
        tessera::scan(op, stacked.slice(0, 0, n - 1), 0, stacked.dtype()));
  return before;
}

// The scan of this rank's block becomes that of the whole axis.
void continue_from_others(ScanOp op, const DNDarray& x, i64 axis, const Array& block) {
  const std::vector<int> ranks = ranks_with_entries(x);
  if (ranks.size() < 2) return;
  Shape one = block.shape();
  one[axis] = 1;
  const i64 count = block.shape(axis);
  const Array total = count > 0 ? block.slice(axis, count - 1, count)
                                : Array::empty(one, block.dtype(), block.device());
  if (total.size() == 0) return;
  const Arrays before = scan_ranks(x.comm(), {total}, ranks, [op](const Arrays& all) {
    return Arrays{of_rows_before(op, all[0])};
  });
  if (count == 0 || x.comm().rank() == ranks.front()) return;
  const ArrayOrValue both[] = {before[0], block};
  tessera::elementwise(op == ScanOp::sum ? ElementOp::add : ElementOp::multiply, both, block);
}

}  // namespace

DNDarray scan(ScanOp op, const DNDarray& x, std::optional<i64> axis, std::optional<DType> dtype) {
  if (!axis) return scan(op, ravel(x), 0, dtype);
  const i64 a = normalize_axis(*axis, x.ndim(), op == ScanOp::sum ? "cumsum" : "cumprod");
  const ReduceOp total = op == ScanOp::sum ? ReduceOp::sum : ReduceOp::prod;
  const DType result = dtype ? *dtype : reduce_dtype(total, x.dtype());
  const bool joins = x.split() == a && !x.comm().alone();
  const bool half = result == DType::f16 || result == DType::bf16;
  // Half precision is rounded once, after the blocks are joined.
  const Array block = tessera::scan(op, x.local(), a, joins && half ? DType::f32 : result);
  if (joins) continue_from_others(op, x, a, block);
  return DNDarray(block.astype(result), x.shape(), x.distribution(), x.comm());
}

}  // namespace tessera::dist
