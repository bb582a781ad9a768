// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/scan/scan.hpp"

#include "tessera/kernels/eager.hpp"

namespace tessera {

Array scan(ScanOp op, const Array& x, std::optional<i64> axis, std::optional<DType> dtype) {
  const std::string_view who = op == ScanOp::sum ? "cumsum" : "cumprod";
  if (!axis) return scan(op, x.reshape({-1}), 0, dtype);
  const ReduceOp total = op == ScanOp::sum ? ReduceOp::sum : ReduceOp::prod;
  const i64 a = normalize_axis(*axis, x.ndim(), who);
  Array y = Array::empty(x.shape(), dtype ? *dtype : reduce_dtype(total, x.dtype()), x.device());
  if (x.size() == 0) return y;
  const ScanSpec spec{.op = op, .in = operand_of(x), .out = operand_of(y), .axis = a};
  launch_now(&KernelTable::scan, who, spec, x.device(), {&x, &y});
  return y;
}

}  // namespace tessera
