// SPDX-License-Identifier: Apache-2.0
// Bits times numbers on CUDA: panels of bits become zeros and ones of the numbers' type, and the
// matrix product of that type adds panel after panel to the result.
#include "tessera/kernels/bitmatmul/bits.cuh"
#include "tessera/kernels/bitmatmul/parts.hpp"
#include "tessera/kernels/cuda/compose.hpp"
#include "tessera/kernels/cuda/grid.cuh"
#include "tessera/kernels/cuda/loops.cuh"
#include "tessera/kernels/matmul/matmul.hpp"

namespace tessera {

Prepared prepare_matmul_cuda(const MatmulSpec& spec, Device device);
Prepared prepare_matmul_integer_cuda(const MatmulSpec& spec, Device device);

namespace cuda {
namespace {

constexpr i64 panel_elements = i64{1} << 26;
constexpr i64 most_rows = i64{1} << 16, least_columns = 512;

struct Step {
  i64 bits_at = 0, in_at = 0, out_at = 0;  // bytes from the first element of an item
  Pass unpack;
  Task product;
};

struct DenseState {
  std::vector<Step> steps;
  std::vector<std::array<i64, loop_operands>> items;  // bytes of bits, in, out
  i64 product_at = 0;                                 // workspace of the product
};

void run_dense(const void* state, const Launch& launch) {
  const auto& s = *static_cast<const DenseState*>(state);
  for (const auto& item : s.items)
    for (const Step& step : s.steps) {
      step.unpack.run(launch,
                      {at_bytes(launch.operand[0], item[0] + step.bits_at), launch.workspace});
      Launch l = launch;
      l.operand[0] = launch.workspace;
      l.operand[1] = at_bytes(launch.operand[1], item[1] + step.in_at);
      l.operand[2] = at_bytes(launch.operand[2], item[2] + step.out_at);
      l.workspace = at_bytes(launch.workspace, s.product_at);
      step.product.run(step.product.state.get(), l);
    }
}

Layout matrix(const Layout& l, i64 rows, i64 columns) {
  const i64 last = l.ndim() - 1;
  return {{rows, columns}, {l.strides[last - 1], l.strides[last]}, 0};
}

// Rows [i, i + m) and terms [k, k + terms).
Step step_of(const BitDenseSpec& spec, i64 i, i64 m, i64 k, i64 terms, Device device,
             i64* workspace) {
  const Layout &bits = spec.bits.layout, &in = spec.in.layout, &out = spec.out.layout;
  const i64 row = out.ndim() - 2, n = out.shape.back();
  const bool integers = is_integer(spec.in.dtype);
  const Operand ones = dense_operand({m, terms}, integers ? DType::i8 : spec.in.dtype);
  Step s;
  s.bits_at = (i * bits.strides[row] + k / 64) * 8;
  s.in_at = k * in.strides[row] * size_of(spec.in.dtype);
  s.out_at = i * out.strides[row] * size_of(spec.out.dtype);
  s.unpack.task =
      prepare_bit_move(
          {BitMove::unpack, {matrix(bits, m, bit_words(terms)), DType::u64}, ones, terms}, false)
          .task;
  MatmulSpec product;
  product.a = ones;
  product.b = {matrix(in, terms, n), spec.in.dtype};
  product.out = {matrix(out, m, n), spec.out.dtype};
  product.beta = k > 0 ? c128(1, 0) : c128(0, 0);
  const Prepared p = integers ? prepare_matmul_integer_cuda(product, device)
                              : prepare_matmul_cuda(product, device);
  s.product = p.task;
  *workspace = std::max(*workspace, p.workspace);
  return s;
}

}  // namespace
}  // namespace cuda

Prepared prepare_bitdense_cuda(const BitDenseSpec& spec, Device device) {
  using namespace cuda;
  check_bitdense(spec);
  dispatch<std::int8_t, std::int16_t, std::int32_t, std::int64_t, float, double, c64, c128>(
      spec.in.dtype, "bit_dense", []<class T>() {});
  const Layout& out = spec.out.layout;
  if (out.size() == 0) return {{&run_nothing, nullptr}};
  const i64 rows = out.shape[out.ndim() - 2], height = std::min(rows, most_rows);
  const i64 width =
      std::min(std::max<i64>(spec.inner, 1),
               std::max(least_columns, panel_elements / height / least_columns * least_columns));
  auto s = std::make_shared<DenseState>();
  const std::array<Strides, 3> strides = {batch_layout(spec.bits.layout).strides,
                                          batch_layout(spec.in.layout).strides,
                                          batch_layout(out).strides};
  s->items = outer_slices(merge_loops(batch_layout(out).shape, strides, 2), 0);
  for (auto& at : s->items) {
    at[0] *= 8;
    at[1] *= size_of(spec.in.dtype);
    at[2] *= size_of(spec.out.dtype);
  }
  WorkspacePlan ws;
  ws.take(height * width * size_of(spec.in.dtype));
  i64 product = 0;
  for (i64 i = 0; i < rows; i += height)
    for (i64 k = 0; k == 0 || k < spec.inner; k += width)
      s->steps.push_back(step_of(spec, i, std::min(height, rows - i), k,
                                 std::min(width, spec.inner - k), device, &product));
  s->product_at = ws.take(product);
  Prepared p;
  p.workspace = ws.total();
  p.flops = 2.0 * static_cast<double>(out.size()) * static_cast<double>(spec.inner);
  p.task = {&run_dense, s};
  return p;
}

}  // namespace tessera
