// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/linalg/device_blocks.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/eager.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/gather/gather.hpp"
#include "tessera/kernels/linalg/linalg.hpp"
#include "tessera/kernels/matmul/matmul.hpp"
#include "tessera/kernels/reduce/reduce.hpp"

namespace tessera::streaming {
namespace {

i64 workspace_there(const DenseSpec& spec, Device device) {
  const Kernel<DenseSpec>& kernel = kernels_of(device).dense;
  require<NotAvailable>(kernel.prepare != nullptr, no_kernel_text("linalg", device));
  return kernel.prepare(spec, device).workspace;
}

DenseSpec lu_there(DType dtype, i64 rows, i64 columns) {
  return {.op = DenseOp::lu, .dtype = dtype, .m = columns, .n = rows};
}
DenseSpec solve_there(DType dtype, i64 n, i64 columns) {
  return {.op = DenseOp::triangular_solve, .dtype = dtype, .m = n, .n = n, .columns = columns};
}

// Where each place of n comes from after the exchanges, for take().
Array order_of(const Array& pivots, i64 n, bool backwards) {
  const Array here = pivots.to(cpu), order = Array::empty({n}, DType::i64);
  auto* places = static_cast<i64*>(order.data());
  std::iota(places, places + n, i64{0});
  const auto* p = here.host<std::int32_t>();
  for (i64 k = 0; k < here.size(); ++k) {
    const i64 i = backwards ? here.size() - 1 - k : k;
    std::swap(places[i], places[p[i] - 1]);
  }
  return order.to(pivots.device());
}

}  // namespace

i64 bytes_beside(Device device, DType dtype, i64 rows, i64 n) {
  if (device == cpu) return 0;
  const i64 e = size_of(dtype), block = rows * n * e, places = 32 * (rows + n) + 4096;
  const i64 lu = block + workspace_there(lu_there(dtype, rows, n), device);
  // A strip of unknowns is at most as long as the block has rows, for as many right sides.
  const i64 solving = 3 * rows * rows * e + workspace_there(solve_there(dtype, rows, rows), device);
  const auto by_rows = [&](i64 columns) {
    return Operand{Layout::contiguous({rows, columns}), dtype};
  };
  const MatmulSpec product{by_rows(rows), by_rows(n), by_rows(n)};
  const i64 multiplying = kernels_of(device).matmul.prepare(product, device).workspace;
  return std::max({lu, block, solving, multiplying}) + places;
}

void subtract_there(const Array& c, const Array& a, const Array& b) {
  if (c.size() == 0 || a.size() == 0) return;
  MatmulSpec spec{operand_of(a), operand_of(b), operand_of(c)};
  spec.alpha = {-1, 0};
  spec.beta = {1, 0};
  launch_now(&KernelTable::matmul, "matmul", spec, c.device(), {&a, &b, &c});
}

void solve_left_there(const Array& t, bool lower, bool unit, const Array& x) {
  if (x.size() == 0) return;
  x.copy_from(linalg::solve_triangular(t, x, {lower, Turn::none, unit}));
}

void solve_right_there(const Array& t, bool lower, bool unit, const Array& x) {
  solve_left_there(t.transpose(), !lower, unit, x.transpose());
}

i64 factorise_there(const Array& block, const Array& pivots) {
  const Device device = block.device();
  const i64 rows = block.shape(0), columns = block.shape(1);
  const Array places = Array::empty({rows}, DType::i64, device),
              order = Array::empty({columns}, DType::i64, device),
              info = Array::empty({1}, DType::i64, device);
  {
    const Array a = block.copy();  // by columns: the transpose
    launch_now(&KernelTable::dense, "linalg", lu_there(block.dtype(), rows, columns), device,
               {&a, &places, &order, &info});
    block.copy_from(a);
  }
  pivots.copy_from(places);
  const i64 zero = info.item().as<i64>();
  // Some call a matrix that holds a NaN singular: then the pivot is one, as the answers are.
  const auto holds_nan = [&] { return reduce(ReduceOp::any, ops::isnan(block)).item().as<bool>(); };
  return zero != 0 && holds_nan() ? 0 : zero;
}

void exchange_columns_there(const Array& x, const Array& pivots) {
  x.copy_from(take(x, order_of(pivots, x.shape(1), false), 1));
}
void exchange_rows_back_there(const Array& x, const Array& pivots) {
  x.copy_from(take(x, order_of(pivots, x.shape(0), true), 0));
}

}  // namespace tessera::streaming
